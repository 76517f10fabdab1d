//! A message that stops the running turn and goes before what is queued.

use scripta_events::domain::RebaseNeeded;

use super::submit::{Submission, check_room, queued};
use super::{BranchFacts, BranchState, new_turn, stop};
use crate::{Branch, Decision, Refusal};

/// One commit: what the stopped turn leaves, then the new turn. The head that the message is
/// meant for is compared as it was before the stop, since what a stop leaves can't have been seen.
pub(super) fn decide(
    state: &BranchState,
    wanted: Submission<'_>,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let (Some(chat), Some(endpoint)) = (facts.chat.clone(), facts.endpoint.clone()) else {
        return Err(Refusal::NotFound { what: "chat", id: state.chat.0 });
    };
    let mut decision = match state.turn {
        Some(turn) => stop::stop(state, turn, facts)?,
        None => Decision::nothing(),
    };
    if !state.accepts(wanted.only_if_head) {
        check_room(state, wanted.message.text.len(), None)?;
        let (message, head) = (wanted.message.id, state.head());
        decision.events.push(queued(wanted, facts, true).into());
        decision.events.push(RebaseNeeded { message, head }.into());
        return Ok(decision);
    }
    let start = (wanted.message.at(facts.now), wanted.message.interactive);
    let turn = new_turn(&chat, state.id, start, &endpoint, &mut facts.ids);
    decision.events.extend(turn.branch);
    decision.others.push(turn.run);
    decision.effects.extend(turn.effect);
    Ok(decision)
}
