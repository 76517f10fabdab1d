//! Stopping the running turn.

use scripta_events::domain::TurnOutcome;
use scripta_events::log::Expectation;

use super::{BranchFacts, BranchState};
use crate::run::abort;
use crate::{Branch, Decision, Effect, Refusal, RunKey, Write};

pub(super) fn decide(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let Some(turn) = state.turn else {
        return Ok(Decision::nothing());
    };
    // A turn always has its run: both are written in one commit.
    let Some((run, revision)) = facts.run.as_ref().filter(|(run, _)| run.id == turn.run) else {
        return Err(Refusal::NotFound { what: "run", id: turn.run.0 });
    };
    let partial = facts.partial.as_ref();
    let over = abort(run, TurnOutcome::Stopped, partial, facts.now, &mut facts.ids);
    let key = RunKey { chat: state.chat, run: turn.run };
    Ok(Decision {
        events: over.branch,
        others: vec![Write::Run {
            key,
            expected: Expectation::Exactly(*revision),
            events: over.run,
        }],
        checks: vec![],
        effects: vec![Effect::Cancel(key)],
    })
}
