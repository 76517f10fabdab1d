//! A message that starts no turn.

use scripta_events::domain::{AsideReceived, BranchEvent, MessageAppended};

use super::submit::check_room;
use super::{BranchFacts, BranchState, NewMessage};
use crate::{Branch, Decision, Refusal};

/// A branch without a turn records it at once. A running one keeps it until no tool call stands
/// open, which is before its next model step or after its end.
pub(super) fn decide(
    state: &BranchState,
    message: &NewMessage,
    facts: &BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let message = message.at(facts.now);
    let mut events = vec![];
    if state.turn.is_some() {
        let bytes = message.texts().map(str::len).sum();
        check_room(state, bytes, None)?;
    } else {
        events.push(MessageAppended { message: message.clone() }.into());
    }
    events.insert(0, AsideReceived { message }.into());
    Ok(Decision::events(events))
}

/// What a running turn does before it asks its model.
pub(super) fn append(state: &BranchState) -> Decision<Branch> {
    // Without a turn they are appended whatever the command is.
    let now = state.turn.is_some() && state.is_whole();
    Decision::events(if now { appended(state) } else { vec![] })
}

/// Appends all that came in.
pub(super) fn appended(state: &BranchState) -> Vec<BranchEvent> {
    let asides = state.asides.iter().cloned();
    asides.map(|message| MessageAppended { message }.into()).collect()
}
