//! Replacing a chat's security document, which is a part of the chat.

use scripta_actors::SecurityCommand;
use scripta_events::domain::ChatId;

use super::SecurityArguments;
use super::document::SecurityDocumentView;
use super::scoped::{Owner, change};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected};
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
    let security = required(arguments.security, SHAPE.operation, "security")?;
    let security = security.into_new().map_err(Rejected::refused)?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = SecurityCommand::Set { security, expected_revision };
    let owner = Owner::Chat(ChatId(chat.0));
    change(call, meta, owner, command, |name| format!("Set the security of {name}")).await
}
