//! Deleting a tool server, and its secrets with it.

use scripta_actors::{Workspace, WorkspaceCommand};
use scripta_events::domain::{ToolServerId, WorkspaceId};

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected, sentence_of};
use crate::tools::{Call, operation};
use crate::view::secret_names;

const SHAPE: Shape = operation!(
    "DeleteToolServer",
    required: ["serverId", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let server = ToolServerId(required(arguments.server_id, SHAPE.operation, "serverId")?.0);
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let _gate = call.app.secrets.gate.lock().await;
    let before = call.app.handle.state::<Workspace>(WorkspaceId::THE).await;
    let before = before.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    let held = before.as_ref().and_then(|workspace| workspace.servers.get(&server));
    let secrets = held.map(|document| secret_names(&document.value).map(|name| (name, None)));
    let secrets = secrets.map(Iterator::collect).unwrap_or_default();
    let which = Which::Server(server);
    let command = WorkspaceCommand::DeleteToolServer { server, expected_revision };
    let done = execute(call, meta, command, which).await?;
    let changed = call.app.secrets.change(secrets).await;
    changed.map_err(|error| {
        Rejected::refused(format!("The server was deleted, but {}", sentence_of(&error)))
    })?;
    applied(&done, which, "Deleted the tool server".to_owned())
}
