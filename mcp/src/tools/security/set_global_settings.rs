//! Replacing the global settings.

use scripta_actors::WorkspaceCommand;

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "SetGlobalSettings",
    required: ["settings", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let settings = required(arguments.settings, SHAPE.operation, "settings")?.into();
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = WorkspaceCommand::SetSettings { settings, expected_revision };
    let done = execute(call, meta, command, Which::Settings).await?;
    let phrase = match done.receipt.events {
        0 => "The global settings were like that already",
        _ => "Set the global settings",
    };
    applied(&done, Which::Settings, phrase.to_owned())
}
