//! Going on with a turn that was stopped or failed.

use scripta_actors::{Branch, BranchCommand};

use super::skip_failed::turn_of;
use super::{RunsArguments, branch_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!("Resume", required: ["branchId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let resumed = call.app.handle.execute::<Branch>(key, BranchCommand::Resume, meta).await;
    let done = resumed.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let running = RunProgress::of(RunStatusView::Running);
    let document = TurnView { run: Some(running), ..turn_of(key, &done) };
    Ok(Applied::new(&done.receipt, "Resumed the turn; it is running".to_owned(), document))
}
