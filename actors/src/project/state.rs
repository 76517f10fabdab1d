//! What a project's events add up to.

use scripta_events::Timestamp;
use scripta_events::domain::{ProjectEvent, ProjectId};

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectState {
    /// Its id.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Its directories, absolute.
    pub directories: Vec<String>,
    /// The document's revision: 1 when made, one more with each change of its name and
    /// directories. Its instructions have a revision of their own.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// What every model is told in it.
    pub instructions: Instructions,
    /// Whether it was deleted, and everything in it with it.
    pub deleted: bool,
}

/// The instructions of a project: a document of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The text; empty where there are none.
    pub text: String,
    /// The document's revision: 0 before the first text, one more with each replacement.
    pub revision: u64,
    /// When they were replaced last.
    pub updated_at: Option<Timestamp>,
}

pub(super) fn evolve(
    state: Option<ProjectState>,
    event: &ProjectEvent,
    at: Timestamp,
) -> Option<ProjectState> {
    let mut state = match (state, event) {
        (None, ProjectEvent::ProjectCreated(made)) => {
            return Some(ProjectState {
                id: made.project,
                name: made.name.clone(),
                directories: made.directories.clone(),
                revision: 1,
                created_at: at,
                instructions: Instructions::default(),
                deleted: false,
            });
        }
        (state, _) => state?,
    };
    match event {
        ProjectEvent::ProjectCreated(_) => {}
        ProjectEvent::ProjectDeleted(_) => state.deleted = true,
        ProjectEvent::InstructionsReplaced(replaced) => {
            let revision = state.instructions.revision + 1;
            let text = replaced.text.clone();
            state.instructions = Instructions { text, revision, updated_at: Some(at) };
        }
    }
    Some(state)
}
