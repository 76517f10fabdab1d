//! Replacing a chat's security document, which is a part of the chat.

use scripta_events::domain::ChatId;

use super::SecurityArguments;
use super::document::SecurityDocumentView;
use super::scoped::{Owner, set};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "SetChatSecurity",
    required: ["chatId", "security", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let chat = required(arguments.chat_id, SHAPE.operation, "chatId")?;
    let owner = Owner::Chat(ChatId(chat.0));
    set(call, meta, SHAPE.operation, owner, arguments).await
}
