//! Deleting a chat.

use scripta_actors::ChatCommand;
use scripta_events::domain::ChatId;
use scripta_projections::Thing;

use super::{ChatsArguments, Target, change, rehearse};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};
use crate::view::ChatView;

const SHAPE: Shape =
    operation!("Delete", required: ["chatId", "expectedRevision"], one_of: [], optional: []);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.deletion(&SHAPE, arguments.operation_id)?;
    let chat = required(arguments.chat_id, SHAPE.operation, "chatId")?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let (target, command) = (Target::chat(chat), ChatCommand::Delete { expected_revision });
    let Some(meta) = meta else {
        return rehearse(call, target, command, Thing::Chat(ChatId(chat.0))).await;
    };
    change(call, target, command, meta, |done| format!("Deleted chat '{}'", done.state.title)).await
}
