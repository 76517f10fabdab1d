//! Stopping the running turn.

use scripta_events::domain::TurnOutcome;
use scripta_events::log::Expectation;

use super::{BranchFacts, BranchState, Turn, aside};
use crate::run::abort;
use crate::{Branch, Decision, Effect, Refusal, RunKey, Write};

pub(super) fn decide(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    match state.turn {
        Some(turn) => stop(state, turn, facts),
        None => Ok(Decision::nothing()),
    }
}

/// Ends the turn: what it produced is kept, and the asides that it did not read come after it.
pub(super) fn stop(
    state: &BranchState,
    turn: Turn,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    // A turn always has its run: both are written in one commit.
    let Some((run, revision)) = facts.run.as_ref().filter(|(run, _)| run.id == turn.run) else {
        return Err(Refusal::NotFound { what: "run", id: turn.run.0 });
    };
    let partial = facts.partial.as_ref();
    let over = abort(run, TurnOutcome::Stopped, partial, facts.now, &mut facts.ids);
    let key = RunKey { chat: state.chat, run: turn.run };
    let mut events = over.branch;
    events.extend(aside::appended(state));
    Ok(Decision {
        events,
        others: vec![Write::Run {
            key,
            expected: Expectation::Exactly(*revision),
            events: over.run,
        }],
        checks: vec![],
        effects: vec![Effect::Cancel(key)],
    })
}
