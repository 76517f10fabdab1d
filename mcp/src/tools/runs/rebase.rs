//! Letting a message that was meant for another head take the present one.

use scripta_actors::{Branch, BranchCommand};

use super::skip_failed::{started, turn_of};
use super::{RunsArguments, branch_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::TurnView;

const SHAPE: Shape = operation!("Rebase", required: ["branchId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let rebased = call.app.handle.execute::<Branch>(key, BranchCommand::Rebase, meta).await;
    let done = rebased.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let (progress, phrase) = started(&done.state);
    let document = TurnView { run: progress, ..turn_of(key, &done) };
    Ok(Applied::new(&done.receipt, format!("Rebased the message. {phrase}"), document))
}
