//! Stopping a branch's turn.

use scripta_actors::BranchStatus;
use scripta_events::domain::RUN;

use super::{RunsArguments, branch_of, stream_of, wait};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!("Stop", required: ["branchId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let stopped = call.app.handle.stop_turn(key, meta).await;
    let done = stopped.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let run = stream_of(&done.receipt, RUN).map(Id);
    let stopped = run.is_some();
    let mut phrase =
        if stopped { "Stopped the turn" } else { "There was no turn to stop" }.to_owned();
    let waiting = done.state.queue.len();
    let mut run_now = stopped.then(|| RunProgress::of(RunStatusView::Stopped));
    if let BranchStatus::Paused { reason } = done.state.status() {
        let messages = if waiting == 1 { "message waits" } else { "messages wait" };
        phrase.push_str(&format!("; {waiting} queued {messages}{}", wait::paused(&reason)));
        run_now = RunProgress::of_branch(&done.state);
    }
    let document = TurnView { run_id: run, run: run_now, ..TurnView::of(key) };
    Ok(Applied::new(&done.receipt, phrase, document))
}
