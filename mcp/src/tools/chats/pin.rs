//! Putting a chat before the others.

use scripta_actors::ChatCommand;

use super::{ChatsArguments, Target, change};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};
use crate::view::ChatView;

const SHAPE: Shape = operation!(
    "Pin",
    required: ["chatId", "pinned", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let chat = required(arguments.chat_id, SHAPE.operation, "chatId")?;
    let pinned = required(arguments.pinned, SHAPE.operation, "pinned")?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = ChatCommand::Pin { pinned, expected_revision };
    change(call, Target::chat(chat), command, meta, |done| {
        let title = &done.state.title;
        match (pinned, done.receipt.events) {
            (true, 0) => format!("Chat '{title}' was pinned already"),
            (true, _) => format!("Pinned chat '{title}'"),
            (false, 0) => format!("Chat '{title}' was not pinned"),
            (false, _) => format!("Unpinned chat '{title}'"),
        }
    })
    .await
}
