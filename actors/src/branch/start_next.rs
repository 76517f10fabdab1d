//! Starting the next queued message.

use super::{BranchFacts, BranchState, BranchStatus, new_turn};
use crate::{Branch, Decision, Refusal};

/// Nothing to do while a turn is running, while the branch is paused, or without a queue.
pub(super) fn decide(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    match state.status() {
        BranchStatus::Idle => start(state, facts),
        BranchStatus::Running | BranchStatus::Paused { .. } => Ok(Decision::nothing()),
    }
}

/// Starts the first of the queue, whatever the turn before came to. A connection that can't be
/// used makes the new turn fail at once, so that the branch says why it stands still.
pub(super) fn start(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let (Some(chat), Some(endpoint)) = (facts.chat.as_deref(), &facts.endpoint) else {
        return Err(Refusal::NotFound { what: "chat", id: state.chat.0 });
    };
    let Some(message) = state.queue.front() else {
        return Ok(Decision::nothing());
    };
    Ok(new_turn(chat, state.id, message.clone(), endpoint, &mut facts.ids).begin())
}
