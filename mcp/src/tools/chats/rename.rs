//! Giving a chat another title.

use scripta_actors::{Chat, ChatCommand};
use scripta_events::domain::ChatId;

use super::ChatsArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
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
    let executed = call.app.handle.execute::<Chat>(ChatId(chat.0), command, meta).await;
    let done =
        executed.map_err(|error| Rejected::from_execute(error, |state| ChatView::from(state)))?;
    let title = &done.state.title;
    let phrase = match done.receipt.events {
        0 => format!("The chat was called '{title}' already"),
        _ => format!("Renamed the chat to '{title}'"),
    };
    let document = ChatView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
