//! A project's instructions, as callers see them.

use schemars::JsonSchema;
use scripta_actors::ProjectState;
use scripta_events::domain::ProjectId;
use scripta_projections::InstructionsRow;
use serde::Serialize;

use super::{Id, Time};

/// The instructions of a project.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InstructionsView {
    /// The project's id.
    id: Id,
    project_id: Id,
    /// Empty where there are none.
    text: String,
    /// Moves with each replacement; 0 where there were none yet.
    revision: u64,
    /// When they were replaced last.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Time>,
}

impl From<&ProjectState> for InstructionsView {
    fn from(state: &ProjectState) -> InstructionsView {
        InstructionsView {
            id: Id(state.id.0),
            project_id: Id(state.id.0),
            text: state.instructions.text.clone(),
            revision: state.instructions.revision,
            updated_at: state.instructions.updated_at.map(Time::from),
        }
    }
}

impl From<InstructionsRow> for InstructionsView {
    fn from(row: InstructionsRow) -> InstructionsView {
        InstructionsView {
            id: Id(row.project.0),
            project_id: Id(row.project.0),
            text: row.text,
            revision: row.revision,
            updated_at: Some(row.updated_at.into()),
        }
    }
}

impl InstructionsView {
    /// Of a project where nobody wrote any yet.
    pub(crate) fn none(project: ProjectId) -> InstructionsView {
        let (id, text) = (Id(project.0), String::new());
        InstructionsView { id, project_id: id, text, revision: 0, updated_at: None }
    }
}
