//! Deleting an entry.

use scripta_actors::{Memory, MemoryCommand};

use super::{MemoryArguments, key_of};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::MemoryView;

const SHAPE: Shape =
    operation!("Delete", required: ["memoryId", "expectedRevision"], one_of: [], optional: []);

pub(super) async fn run(call: &Call<'_>, arguments: MemoryArguments) -> Outcome<MemoryView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let id = required(arguments.memory_id, SHAPE.operation, "memoryId")?;
    let expected = required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let key = key_of(call, id).await?;
    let command = MemoryCommand::Delete { expected_revision: expected };
    let executed = call.app.handle.execute::<Memory>(key, command, meta).await;
    let done =
        executed.map_err(|error| Rejected::from_execute(error, |state| MemoryView::from(state)))?;
    let phrase = format!("Deleted memory entry '{}'", done.state.title);
    let document = MemoryView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
