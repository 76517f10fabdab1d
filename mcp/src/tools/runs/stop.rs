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
    let stopped = done.receipt.events > 0;
    let mut phrase =
        if stopped { "Stopped the turn" } else { "There was no turn to stop" }.to_owned();
    let waiting = done.state.queue.len();
    if waiting > 0 && matches!(done.state.status(), BranchStatus::Paused { .. }) {
        let messages = if waiting == 1 { "message waits" } else { "messages wait" };
        phrase.push_str(&format!("; {waiting} queued {messages}{}", wait::PAUSED));
    }
    let document = TurnView {
        run_id: stream_of(&done.receipt, RUN).map(Id),
        run: stopped.then(|| RunProgress::of(RunStatusView::Stopped)),
        ..TurnView::of(key)
    };
    Ok(Applied::new(&done.receipt, phrase, document))
}
