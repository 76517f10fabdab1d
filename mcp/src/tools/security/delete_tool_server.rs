//! Deleting a tool server, and its secrets with it.

use scripta_actors::WorkspaceCommand;
use scripta_events::domain::ToolServerId;

use super::SecurityArguments;
use super::credential::stale;
use super::document::{SecurityDocumentView, Which, applied, execute, workspace};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected, sentence_of};
use crate::tools::{Call, operation};

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
    let which = Which::Server(server);
    let command = WorkspaceCommand::DeleteToolServer { server, expected_revision };
    let done = execute(call, meta, command, which).await?;
    // Also where a call broke off before it came here: this is its repeat.
    let stale = stale(&*workspace(call).await?, server, &*call.app.secrets.store);
    let changed = call.app.secrets.change(stale).await;
    changed.map_err(|error| {
        Rejected::refused(format!("The server was deleted, but {}", sentence_of(&error)))
    })?;
    applied(&done, which, "Deleted the tool server".to_owned())
}
