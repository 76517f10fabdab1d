//! Giving a queued message another text.

use scripta_events::domain::{MessageId, QueuedMessageChanged};

use super::submit::{check_room, check_text};
use super::{BranchState, remove_queued};
use crate::{Branch, Decision, Refusal};

/// What is attached to the message stays.
pub(super) fn decide(
    state: &BranchState,
    id: MessageId,
    text: &str,
) -> Result<Decision<Branch>, Refusal> {
    let queued = remove_queued::find(state, id)?;
    check_text(text)?;
    if queued.message.texts().eq([text]) {
        return Ok(Decision::nothing());
    }
    check_room(state, text.len(), Some(id))?;
    let changed = QueuedMessageChanged { message: id, text: text.to_owned() };
    Ok(Decision::events(vec![changed.into()]))
}
