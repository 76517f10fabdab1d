//! Emptying the queue of a branch.

use scripta_actors::{Branch, BranchCommand};

use super::{RunsArguments, branch_of, queue_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::TurnView;

const SHAPE: Shape = operation!("ClearQueue", required: ["branchId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let cleared = call.app.handle.execute::<Branch>(key, BranchCommand::ClearQueue, meta).await;
    let done = cleared.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let phrase = match done.receipt.events {
        0 => "Nothing was queued",
        _ => "Removed all queued messages",
    };
    Ok(Applied::new(&done.receipt, phrase.to_owned(), queue_of(key, &done.state)))
}
