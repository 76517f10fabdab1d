//! Making a chat.

use scripta_actors::ChatCommand;
use scripta_events::domain::{ChatId, ConnectionId, ProjectId};

use super::{ChatsArguments, Target, change};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};
use crate::view::{ChatView, Id};

/// The title of a chat that was made without one.
const UNTITLED: &str = "New chat";

const SHAPE: Shape = operation!(
    "Create",
    required: ["projectId"],
    one_of: [],
    optional: ["title", "connectionId", "model"]
);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let command = ChatCommand::Create {
        project: ProjectId(project.0),
        title: arguments.title.unwrap_or_else(|| UNTITLED.to_owned()),
        connection: arguments.connection_id.map(ConnectionId),
        model: arguments.model,
    };
    change(call, Target::chat(Id(ChatId::random().0)), command, meta, |done| {
        format!("Created chat '{}'", done.state.title)
    })
    .await
}
