//! Replacing a project's instructions.

use scripta_actors::{Project, ProjectCommand};
use scripta_events::domain::ProjectId;

use super::InstructionsArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::InstructionsView;

const SHAPE: Shape = operation!(
    "Replace",
    required: ["projectId", "text", "expectedRevision"],
    one_of: [],
    optional: []
);

pub(super) async fn run(
    call: &Call<'_>,
    arguments: InstructionsArguments,
) -> Outcome<InstructionsView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let expected = required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let command = ProjectCommand::ReplaceInstructions {
        text: required(arguments.text, SHAPE.operation, "text")?,
        expected_revision: expected,
    };
    let executed = call.app.handle.execute::<Project>(ProjectId(project.0), command, meta).await;
    let done = executed
        .map_err(|error| Rejected::from_execute(error, |state| InstructionsView::from(state)))?;
    let state = &*done.state;
    let name = &state.name;
    let phrase = match (done.receipt.events, state.instructions.text.is_empty()) {
        (0, _) => format!("Project '{name}' had these instructions already"),
        (_, true) => format!("Took the instructions of project '{name}' away"),
        (_, false) => format!("Replaced the instructions of project '{name}'"),
    };
    let document = InstructionsView::from(state);
    Ok(Applied::new(&done.receipt, phrase, document).at(state.instructions.revision))
}
