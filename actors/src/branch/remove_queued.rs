//! Taking a message out of the queue.

use scripta_events::domain::{MessageId, QueuedMessageRemoved};

use super::{BranchState, Queued, start_later};
use crate::{Branch, Decision, Refusal};

/// Where it was what paused the branch, the next message starts.
pub(super) fn decide(state: &BranchState, id: MessageId) -> Result<Decision<Branch>, Refusal> {
    let queued = find(state, id)?;
    let removed = QueuedMessageRemoved { message: queued.message.id };
    Ok(Decision { effects: start_later(state), ..Decision::events(vec![removed.into()]) })
}

/// The message, if it waits; what has started is told from what never was here.
pub(super) fn find(state: &BranchState, id: MessageId) -> Result<&Queued, Refusal> {
    let mut waiting = state.queue.iter();
    if let Some(queued) = waiting.find(|queued| queued.message.id == id) {
        return Ok(queued);
    }
    if state.messages.iter().any(|message| message.id == id) {
        let reason = format!(
            "message {id} is no longer queued: it is part of the history, which doesn't change; \
             only what still waits can be changed or removed"
        );
        return Err(Refusal::Refused { reason });
    }
    Err(Refusal::NotFound { what: "queued message", id: id.0 })
}
