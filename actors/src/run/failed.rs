//! The run can't go on.

use scripta_events::domain::TurnOutcome;

use super::{RunFacts, RunState, abort, with_branch};
use crate::{Decision, Partial, Run};

pub(super) fn decide(
    state: &RunState,
    reason: &str,
    partial: Option<&Partial>,
    facts: &mut RunFacts,
) -> Decision<Run> {
    let outcome = TurnOutcome::Failed { reason: reason.to_owned() };
    let over = abort(state, outcome, partial, facts.now, &mut facts.ids);
    with_branch(state, over.run, over.branch)
}
