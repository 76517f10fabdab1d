//! The run can't go on.

use scripta_events::domain::TurnOutcome;

use super::{RunFacts, RunState, abort, with_branch};
use crate::{BranchKey, Decision, Effect, Partial, Run};

pub(super) fn decide(
    state: &RunState,
    reason: &str,
    partial: Option<&Partial>,
    facts: &mut RunFacts,
) -> Decision<Run> {
    let outcome = TurnOutcome::Failed { reason: reason.to_owned() };
    let over = abort(state, outcome, partial, facts.now, &mut facts.ids);
    let mut decision = with_branch(state, over.run, over.branch);
    // It pauses what is queued; asides that came in are appended all the same.
    let key = BranchKey { chat: state.chat, branch: state.branch };
    decision.effects.push(Effect::StartNext(key));
    decision
}
