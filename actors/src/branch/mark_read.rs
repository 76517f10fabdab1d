//! Marking a branch as read.

use scripta_events::domain::{MessageId, MessagesRead};

use super::{BranchFacts, BranchState};
use crate::chat::fork_point;
use crate::{Branch, Decision, Refusal};

/// Up to and including a message of its history, or all of it. An earlier message than before
/// makes what comes after it unread again.
pub(super) fn decide(
    state: &BranchState,
    wanted: Option<MessageId>,
    facts: &BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let Some(message) = wanted.or_else(|| state.head()) else {
        return Ok(Decision::nothing());
    };
    if !is_own(state, message) && state.head() != Some(message) {
        fork_point(&facts.chain, message)?;
    }
    if state.read == Some(message) {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![MessagesRead { message }.into()]))
}

/// Whether the branch wrote the message itself.
pub(super) fn is_own(state: &BranchState, message: MessageId) -> bool {
    state.messages.iter().any(|own| own.id == message)
}
