//! Replacing a project's security document.

use scripta_events::domain::ProjectId;

use super::SecurityArguments;
use super::document::SecurityDocumentView;
use super::scoped::{Owner, set};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
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
    let owner = Owner::Project(ProjectId(project.0));
    set(call, meta, SHAPE.operation, owner, arguments).await
}
