//! Going on with the queue of a branch that a stopped or failed turn paused.

use scripta_actors::{Branch, BranchCommand, BranchState};
use scripta_events::domain::{RUN, RunId, TurnOutcome};

use super::{RunsArguments, branch_of, stream_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!("SkipFailed", required: ["branchId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let skipped = call.app.handle.execute::<Branch>(key, BranchCommand::SkipFailed, meta).await;
    let done = skipped.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let run = stream_of(&done.receipt, RUN).map(RunId);
    let (progress, phrase) = started(&done.state);
    let message = run.and_then(|run| done.state.runs.iter().find(|(_, taken)| **taken == run));
    let document = TurnView {
        message_id: message.map(|(message, _)| Id(message.0)),
        run_id: run.map(|run| Id(run.0)),
        run: Some(progress),
        ..TurnView::of(key)
    };
    Ok(Applied::new(&done.receipt, phrase, document))
}

/// How the turn stood that this started, as of its commit.
fn started(branch: &BranchState) -> (RunProgress, String) {
    let left = branch.queue.len();
    match &branch.last {
        Some(TurnOutcome::Failed { reason }) => (
            RunProgress::failed(reason.clone()),
            format!("Started the next turn, which failed at once ({reason}); {left} more wait"),
        ),
        _ => (
            RunProgress::of(RunStatusView::Running),
            format!("Started the next turn; {left} more wait"),
        ),
    }
}
