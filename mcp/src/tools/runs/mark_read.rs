//! Marking a branch as read.

use scripta_actors::{Branch, BranchCommand};
use scripta_events::domain::MessageId;

use super::{RunsArguments, branch_of, queue_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, TurnView};

const SHAPE: Shape =
    operation!("MarkRead", required: ["branchId"], one_of: [], optional: ["messageId"]);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let message = arguments.message_id.map(|id| MessageId(id.0));
    let command = BranchCommand::MarkRead { message };
    let marked = call.app.handle.execute::<Branch>(key, command, meta).await;
    let done = marked.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let phrase = match (done.state.read, message) {
        (None, _) => "There is nothing to read in this branch",
        (Some(_), None) => "Marked the branch as read",
        (Some(_), Some(_)) => "Marked the branch as read up to that message",
    };
    let read = done.state.read.map(|read| Id(read.0));
    let document = TurnView { message_id: read, ..queue_of(key, &done.state) };
    Ok(Applied::new(&done.receipt, phrase.to_owned(), document))
}
