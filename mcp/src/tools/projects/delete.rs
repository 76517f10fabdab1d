//! Deleting a project.

use scripta_actors::{Project, ProjectCommand};
use scripta_events::domain::ProjectId;
use scripta_projections::Thing;

use super::ProjectsArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::tools::{Call, operation};
use crate::view::ProjectView;

const SHAPE: Shape = operation!(
    "Delete",
    required: ["projectId", "expectedRevision"],
    one_of: [],
    optional: ["stopRuns"]
);

pub(super) async fn run(call: &Call<'_>, arguments: ProjectsArguments) -> Outcome<ProjectView> {
    let meta = call.deletion(&SHAPE, arguments.operation_id)?;
    let id = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let id = ProjectId(id.0);
    let command = ProjectCommand::Delete {
        stop_runs: arguments.stop_runs.unwrap_or(false),
        expected_revision: required(
            arguments.expected_revision,
            SHAPE.operation,
            "expectedRevision",
        )?,
    };
    let rejected = |error| Rejected::from_execute(error, |state| ProjectView::from(state));
    let Some(meta) = meta else {
        let state = call.app.handle.rehearse::<Project>(id, command).await.map_err(rejected)?;
        let effect = call.effect(Thing::Project(id)).await;
        let (effect, position) = effect.map_err(|error| Rejected::refused(sentence_of(&error)))?;
        let phrase = effect.phrase(&format!("project '{}'", state.name));
        let document = ProjectView::from(&*state);
        return Ok(Applied::planned(phrase, document, effect, position).at(state.revision));
    };
    let done = call.app.handle.execute::<Project>(id, command, meta).await.map_err(rejected)?;
    let phrase = format!("Deleted project '{}' with all its chats", done.state.name);
    let document = ProjectView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
