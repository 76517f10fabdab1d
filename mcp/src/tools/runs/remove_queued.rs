//! Taking a message out of the queue.

use scripta_actors::{Branch, BranchCommand};
use scripta_events::domain::MessageId;

use super::{RunsArguments, branch_of, queue_of};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, TurnView};

const SHAPE: Shape =
    operation!("RemoveQueued", required: ["branchId", "messageId"], one_of: [], optional: []);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let id = required(arguments.message_id, SHAPE.operation, "messageId")?;
    let command = BranchCommand::RemoveQueued { message: MessageId(id.0) };
    let removed = call.app.handle.execute::<Branch>(key, command, meta).await;
    let done = removed.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let left = done.state.queue.len();
    let phrase = format!("Removed the message from the queue; {left} more wait");
    let document = TurnView { message_id: Some(Id(id.0)), ..queue_of(key, &done.state) };
    Ok(Applied::new(&done.receipt, phrase, document))
}
