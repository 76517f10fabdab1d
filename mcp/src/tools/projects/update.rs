//! Changing a project.

use scripta_actors::{Project, ProjectChanges, ProjectCommand};
use scripta_events::domain::{ConnectionId, ProjectId};

use super::ProjectsArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::ProjectView;

const SHAPE: Shape = operation!(
    "Update",
    required: ["projectId", "expectedRevision"],
    one_of: ["name", "directories", "defaultConnectionId"],
    optional: []
);

pub(super) async fn run(call: &Call<'_>, arguments: ProjectsArguments) -> Outcome<ProjectView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let expected = required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let connection = arguments.default_connection_id;
    let changes = ProjectChanges {
        name: arguments.name,
        directories: arguments.directories,
        // An empty one takes the default away.
        default_connection: connection.map(|id| (!id.is_empty()).then_some(ConnectionId(id))),
    };
    let command = ProjectCommand::Update { changes, expected_revision: expected };
    let executed = call.app.handle.execute::<Project>(ProjectId(project.0), command, meta).await;
    let done = executed
        .map_err(|error| Rejected::from_execute(error, |state| ProjectView::from(state)))?;
    let name = &done.state.name;
    let phrase = match done.receipt.events {
        0 => format!("Project '{name}' was so already"),
        _ => format!("Updated project '{name}'"),
    };
    let document = ProjectView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
