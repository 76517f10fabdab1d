//! Making a chat.

use scripta_actors::{Chat, ChatCommand};
use scripta_events::domain::{ChatId, ConnectionId, ProjectId};

use super::ChatsArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::ChatView;

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
    let executed = call.app.handle.execute::<Chat>(ChatId::random(), command, meta).await;
    let done =
        executed.map_err(|error| Rejected::from_execute(error, |state| ChatView::from(state)))?;
    let phrase = format!("Created chat '{}'", done.state.title);
    let document = ChatView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
