//! Opening a branch of an imported conversation.

use scripta_events::domain::{BranchId, ForkPoint, Message, MessageAppended};

use super::fork::{Place, open, point};
use super::{ChatFacts, ChatState};
use crate::branch::check_imported;
use crate::{Chat, Decision, Refusal};

/// A branch that is here already stays as it is: its new messages come by
/// [`AppendImported`](crate::BranchCommand::AppendImported).
pub(super) fn decide(
    state: &ChatState,
    branch: BranchId,
    place: Place<'_>,
    messages: &[Message],
    facts: &ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    if state.branches.contains_key(&branch) {
        return Ok(Decision::nothing());
    }
    check_imported(messages)?;
    state.branch(place.branch)?;
    if facts.chain.is_empty() {
        return Err(Refusal::NotFound { what: "branch", id: place.branch.0 });
    }
    let point = match place.from {
        // Other products fork anywhere, also between a tool call and its result.
        Some(after) => point(&facts.chain, after)?,
        // A second root: it shares nothing, not even what the parent shares with its own.
        None => ForkPoint { parent: state.id.first_branch(), own_messages: 0, after: None },
    };
    let messages = messages.iter().cloned();
    let own = messages.map(|message| MessageAppended { message }.into()).collect();
    open(state, branch, point, place.title, own)
}
