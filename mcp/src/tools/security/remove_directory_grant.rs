//! Taking a project's grant of a directory back.

use scripta_actors::SecurityCommand;
use scripta_events::domain::{GrantId, ProjectId};

use super::SecurityArguments;
use super::document::SecurityDocumentView;
use super::scoped::{Owner, change};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::tools::{Call, operation};

const SHAPE: Shape = operation!(
    "RemoveDirectoryGrant",
    required: ["projectId", "grantId", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let grant = GrantId(required(arguments.grant_id, SHAPE.operation, "grantId")?.0);
    let expected_revision =
        required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = SecurityCommand::RemoveGrant { grant, expected_revision };
    let owner = Owner::Project(ProjectId(project.0));
    change(call, meta, owner, command, |name| format!("Took a grant back from {name}")).await
}
