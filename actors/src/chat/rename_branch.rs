//! Giving a branch another title.

use scripta_events::domain::{BranchId, BranchRenamed};

use super::ChatState;
use crate::names::{self, MAX_TITLE_CHARS};
use crate::{Chat, Decision, Refusal};

/// The title that it has already is nothing to change.
pub(super) fn decide(
    state: &ChatState,
    branch: BranchId,
    title: &str,
) -> Result<Decision<Chat>, Refusal> {
    let info = state.branch(branch)?;
    names::check("title", title, MAX_TITLE_CHARS)?;
    if info.title.as_deref() == Some(title) {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![BranchRenamed { branch, title: title.to_owned() }.into()]))
}
