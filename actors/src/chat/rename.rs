//! Giving a chat another title.

use scripta_events::domain::ChatRenamed;

use super::ChatState;
use crate::names::{self, MAX_TITLE_CHARS};
use crate::{Chat, Decision, Refusal};

/// The title that it has already is nothing to change.
pub(super) fn decide(state: &ChatState, title: &str) -> Result<Decision<Chat>, Refusal> {
    names::check("title", title, MAX_TITLE_CHARS)?;
    if state.title == title {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![ChatRenamed { title: title.to_owned() }.into()]))
}
