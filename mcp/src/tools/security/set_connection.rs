//! Making or replacing a connection to a model.

use scripta_actors::WorkspaceCommand;
use uuid::Uuid;

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "SetConnection",
    required: ["connection", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let connection = required(arguments.connection, SHAPE.operation, "connection")?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let known = connection.id.map(|id| id.0);
    let id = known.unwrap_or_else(Uuid::now_v7);
    let connection = connection.into_connection(id);
    let command =
        WorkspaceCommand::SetConnection { connection, new: known.is_none(), expected_revision };
    let done = execute(call, meta, command, Which::Connection(id)).await?;
    // A repeated creation is about the connection that the first one made.
    let id = known.or(done.state.last).unwrap_or(id);
    let name = done.state.connections.get(&id).map(|it| it.value.name.as_str());
    let name = name.unwrap_or_default();
    let phrase = match (done.receipt.events, known) {
        (0, _) => format!("The connection '{name}' was like that already"),
        (_, None) => format!("Made the connection '{name}'"),
        (_, Some(_)) => format!("Changed the connection '{name}'"),
    };
    applied(&done, Which::Connection(id), phrase)
}
