//! Granting a project a directory.

use scripta_actors::{NewGrant, SecurityCommand};
use scripta_events::domain::ProjectId;

use super::SecurityArguments;
use super::document::SecurityDocumentView;
use super::scoped::{Owner, change};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "AddDirectoryGrant",
    required: ["projectId", "path", "capabilities", "expectedRevision"],
    one_of: [],
    optional: ["name"]
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let path = required(arguments.path, SHAPE.operation, "path")?;
    let capabilities = required(arguments.capabilities, SHAPE.operation, "capabilities")?;
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let grant = NewGrant {
        id: None,
        name: arguments.name,
        path: path.clone(),
        capabilities: capabilities.into_iter().map(Into::into).collect(),
    };
    let command = SecurityCommand::AddGrant { grant, expected_revision };
    let owner = Owner::Project(ProjectId(project.0));
    change(call, meta, owner, command, |name| format!("Granted {path} to {name}")).await
}
