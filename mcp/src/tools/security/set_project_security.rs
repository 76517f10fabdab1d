//! Replacing a project's security document.

use scripta_actors::SecurityCommand;
use scripta_events::domain::ProjectId;

use super::SecurityArguments;
use super::document::SecurityDocumentView;
use super::scoped::{Owner, change};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected};
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "SetProjectSecurity",
    required: ["projectId", "security", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let security = required(arguments.security, SHAPE.operation, "security")?;
    let security = security.into_new().map_err(Rejected::refused)?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = SecurityCommand::Set { security, expected_revision };
    let owner = Owner::Project(ProjectId(project.0));
    change(call, meta, owner, command, |name| format!("Set the security of {name}")).await
}
