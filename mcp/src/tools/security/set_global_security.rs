//! Replacing the global security document.

use scripta_actors::{SecurityCommand, WorkspaceCommand};

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected};
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "SetGlobalSecurity",
    required: ["security", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let security = required(arguments.security, SHAPE.operation, "security")?;
    let security = security.into_new().map_err(Rejected::refused)?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = WorkspaceCommand::Security(SecurityCommand::Set { security, expected_revision });
    let done = execute(call, meta, command, Which::Security).await?;
    let phrase = match done.receipt.events {
        0 => "The global security was like that already",
        _ => "Set the global security",
    };
    applied(&done, Which::Security, phrase.to_owned())
}
