//! Deleting a connection, and its secret with it.

use scripta_actors::WorkspaceCommand;

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected, sentence_of};
use crate::secrets::SecretName;
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "DeleteConnection",
    required: ["connectionId", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let connection = required(arguments.connection_id, SHAPE.operation, "connectionId")?.0;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let _gate = call.app.secrets.gate.lock().await;
    let which = Which::Connection(connection);
    let command = WorkspaceCommand::DeleteConnection { connection, expected_revision };
    let done = execute(call, meta, command, which).await?;
    // Also when repeated: its id is never used again, so there is no newer secret to spare.
    let changed = call.app.secrets.change(vec![(SecretName::Connection(connection), None)]).await;
    changed.map_err(|error| {
        Rejected::refused(format!("The connection was deleted, but {}", sentence_of(&error)))
    })?;
    applied(&done, which, "Deleted the connection".to_owned())
}
