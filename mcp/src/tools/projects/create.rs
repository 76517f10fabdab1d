//! Making a project.

use scripta_actors::{Project, ProjectCommand};
use scripta_events::domain::ProjectId;

use super::ProjectsArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::ProjectView;

const SHAPE: Shape =
    operation!("Create", required: ["name"], one_of: [], optional: ["directories"]);

pub(super) async fn run(call: &Call<'_>, arguments: ProjectsArguments) -> Outcome<ProjectView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let command = ProjectCommand::Create {
        name: required(arguments.name, SHAPE.operation, "name")?,
        directories: arguments.directories.unwrap_or_default(),
    };
    let executed = call.app.handle.execute::<Project>(ProjectId::random(), command, meta).await;
    let done = executed
        .map_err(|error| Rejected::from_execute(error, |state| ProjectView::from(state)))?;
    let phrase = format!("Created project '{}'", done.state.name);
    let document = ProjectView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
