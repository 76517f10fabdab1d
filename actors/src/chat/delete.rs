//! Deleting a chat.

use scripta_events::domain::{BranchId, ChatDeleted, ChatId, TurnOutcome};
use scripta_events::log::{Check, Expectation};

use super::{ChatFacts, ChatState, OpenBranch};
use crate::run::abort;
use crate::{BranchKey, Chat, Decision, Effect, Ids, Refusal, RunKey, Write};

/// The most turns that are stopped by one deletion (inclusive): each takes two streams of a
/// commit's 4,096, and events for its open tool calls.
const MAX_STOPPED: usize = 1_000;

/// What was deleted on purpose goes whatever it is doing: its turns are stopped in the same
/// commit, so that nothing runs on in what nobody sees any more.
pub(super) fn decide(state: &ChatState, facts: &mut ChatFacts) -> Result<Decision<Chat>, Refusal> {
    let ChatFacts { open, ids, now, .. } = facts;
    let running = open.iter().filter(|branch| branch.state.turn.is_some()).count();
    if running > MAX_STOPPED {
        let reason = format!(
            "{running} turns are running in this chat, and {MAX_STOPPED} are the most that are \
             stopped with it; stop or delete some of its branches first"
        );
        return Err(Refusal::Refused { reason });
    }
    let mut decision = Decision::events(vec![ChatDeleted {}.into()]);
    for branch in open {
        close(&mut decision, (state.id, branch.state.id), branch, *now, ids)?;
    }
    Ok(decision)
}

/// Stops what a branch is doing, in the same commit; what does nothing has to stay so until then.
pub(super) fn close(
    decision: &mut Decision<Chat>,
    (chat, branch): (ChatId, BranchId),
    open: &OpenBranch,
    now: scripta_events::Timestamp,
    ids: &mut Ids,
) -> Result<(), Refusal> {
    let expected = Expectation::Exactly(open.revision);
    let Some(turn) = open.state.turn else {
        decision.checks.push(Check { stream: branch.stream(chat), expected });
        return Ok(());
    };
    // A turn always has its run: both are written in one commit.
    let Some((run, revision)) = open.run.as_ref().filter(|(run, _)| run.id == turn.run) else {
        return Err(Refusal::NotFound { what: "run", id: turn.run.0 });
    };
    let over = abort(run, TurnOutcome::Stopped, None, now, ids);
    let key = RunKey { chat, run: turn.run };
    let branch = BranchKey { chat, branch };
    decision.others.push(Write::Branch { key: branch, expected, events: over.branch });
    let expected = Expectation::Exactly(*revision);
    decision.others.push(Write::Run { key, expected, events: over.run });
    decision.effects.push(Effect::Cancel(key));
    Ok(())
}
