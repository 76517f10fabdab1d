//! Starting the next queued message.

use scripta_events::domain::RebaseNeeded;

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

/// Starts the first of the queue, whatever the turn before came to, unless it was meant for
/// another head.
pub(super) fn start(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    match state.queue.front() {
        Some(next) if !state.accepts(next.only_if_head) => {
            let needed = RebaseNeeded { message: next.message.id, head: state.head() };
            Ok(Decision::events(vec![needed.into()]))
        }
        _ => start_anywhere(state, facts),
    }
}

/// Starts the first of the queue after whatever is there. A connection that can't be used makes
/// the new turn fail at once, so that the branch says why it stands still.
pub(super) fn start_anywhere(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let (Some(chat), Some(endpoint)) = (facts.chat.as_deref(), &facts.endpoint) else {
        return Err(Refusal::NotFound { what: "chat", id: state.chat.0 });
    };
    let Some(next) = state.queue.front() else {
        return Ok(Decision::nothing());
    };
    let start = (next.message.clone(), next.interactive);
    Ok(new_turn(chat, state.id, start, endpoint, &mut facts.ids).begin())
}
