//! Giving a chat another title.

use scripta_actors::ChatCommand;

use super::{ChatsArguments, Target, change};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};
use crate::view::ChatView;

const SHAPE: Shape = operation!(
    "Rename",
    required: ["chatId", "title", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let chat = required(arguments.chat_id, SHAPE.operation, "chatId")?;
    let command = ChatCommand::Rename {
        title: required(arguments.title, SHAPE.operation, "title")?,
        expected_revision: required(
            arguments.expected_revision,
            SHAPE.operation,
            "expectedRevision",
        )?,
    };
    change(call, Target::chat(chat), command, meta, |done| {
        let title = &done.state.title;
        match done.receipt.events {
            0 => format!("The chat was called '{title}' already"),
            _ => format!("Renamed the chat to '{title}'"),
        }
    })
    .await
}
