//! Letting a chat's turns use another connection or model.

use scripta_actors::ChatCommand;
use scripta_events::domain::ConnectionId;

use super::{ChatsArguments, Target, change};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};
use crate::view::ChatView;

const SHAPE: Shape = operation!(
    "SetEndpoint",
    required: ["chatId", "connectionId", "expectedRevision"],
    one_of: [],
    optional: ["model"]
);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let chat = required(arguments.chat_id, SHAPE.operation, "chatId")?;
    let connection = required(arguments.connection_id, SHAPE.operation, "connectionId")?;
    let used = match &arguments.model {
        Some(model) => format!("{connection} with model {model}"),
        None => format!("{connection} with its own model"),
    };
    let command = ChatCommand::SetEndpoint {
        connection: ConnectionId(connection),
        model: arguments.model,
        expected_revision: required(
            arguments.expected_revision,
            SHAPE.operation,
            "expectedRevision",
        )?,
    };
    change(call, Target::chat(chat), command, meta, |done| match done.receipt.events {
        0 => format!("Chat '{}' used {used} already", done.state.title),
        _ => format!("Chat '{}' uses {used} from its next turn on", done.state.title),
    })
    .await
}
