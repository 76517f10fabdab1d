//! Going on with the queue of a branch that a stopped or failed turn paused.

use scripta_actors::{
    Branch, BranchCommand, BranchKey, BranchState, BranchStatus, Done, PauseReason,
};
use scripta_events::domain::{RUN, RunId, TurnOutcome};

use super::{RunsArguments, branch_of, stream_of, wait};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, TurnView};

const SHAPE: Shape = operation!("SkipFailed", required: ["branchId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let skipped = call.app.handle.execute::<Branch>(key, BranchCommand::SkipFailed, meta).await;
    let done = skipped.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let (progress, phrase) = started(&done.state);
    let document = TurnView { run: progress, ..turn_of(key, &done) };
    Ok(Applied::new(&done.receipt, phrase, document))
}

/// The branch, with the run that the operation wrote to and the message that it answers.
pub(super) fn turn_of(key: BranchKey, done: &Done<Branch>) -> TurnView {
    let run = stream_of(&done.receipt, RUN).map(RunId);
    let message = run.and_then(|run| done.state.runs.iter().find(|(_, taken)| **taken == run));
    TurnView {
        message_id: message.map(|(message, _)| Id(message.0)),
        run_id: run.map(|run| Id(run.0)),
        ..TurnView::of(key)
    }
}

/// How the turn stood that this started, as of its commit.
pub(super) fn started(branch: &BranchState) -> (Option<RunProgress>, String) {
    let left = branch.queue.len();
    let phrase = match (&branch.last, branch.status()) {
        (_, BranchStatus::Paused { reason: PauseReason::NeedsRebase }) => {
            format!("Left the last turn as it is{}", wait::paused(&PauseReason::NeedsRebase))
        }
        (Some(TurnOutcome::Failed { reason }), _) => {
            format!("Started the next turn, which failed at once ({reason}); {left} more wait")
        }
        _ => format!("Started the next turn; {left} more wait"),
    };
    (RunProgress::of_branch(branch), phrase)
}
