//! Going on with a turn that was stopped or failed.

use scripta_events::domain::TurnResumed;
use scripta_events::log::Expectation;

use super::{BranchFacts, BranchState};
use crate::run::resume;
use crate::{Branch, Decision, Effect, Refusal, RunKey, Write};

/// The turn goes on in the same run, from the step where it was, with the connection that the
/// chat has now: one that failed since its connection is gone may have another by then.
pub(super) fn decide(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let refused = |reason: &str| Err(Refusal::Refused { reason: reason.to_owned() });
    if state.turn.is_some() {
        return refused("a turn is running in this branch; only a stopped or failed one resumes");
    }
    let Some(turn) = state.resumable else {
        return refused(
            "this branch doesn't end with a stopped or failed turn, so that there is nothing to go \
             on with; submit a message instead",
        );
    };
    let (Some(_), Some(endpoint)) = (&facts.chat, &facts.endpoint) else {
        return Err(Refusal::NotFound { what: "chat", id: state.chat.0 });
    };
    if let Some(problem) = &endpoint.problem {
        return refused(problem);
    }
    let Some((run, revision)) = facts.run.as_ref().filter(|(run, _)| run.id == turn.run) else {
        return Err(Refusal::NotFound { what: "run", id: turn.run.0 });
    };
    let key = RunKey { chat: state.chat, run: turn.run };
    let resumed = TurnResumed { run: turn.run, message: turn.message };
    Ok(Decision {
        events: vec![resumed.into()],
        others: vec![Write::Run {
            key,
            expected: Expectation::Exactly(*revision),
            events: resume(run, endpoint),
        }],
        checks: vec![],
        effects: vec![Effect::Drive(key)],
    })
}
