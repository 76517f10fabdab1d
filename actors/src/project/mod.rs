//! Projects.

mod create;

use std::sync::Arc;

use scripta_events::domain::{PROJECT, ProjectEvent, ProjectId};
use scripta_events::{Category, StreamId, Timestamp};

pub use create::{MAX_DIRECTORIES, MAX_DIRECTORY_BYTES};

use crate::engine::Engine;
use crate::{Aggregate, Decision, LoadError, Project, Refusal};

/// What a project can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectCommand {
    /// Make it.
    Create {
        /// Its name: 1 to [`MAX_NAME_CHARS`](crate::MAX_NAME_CHARS) characters.
        name: String,
        /// Its directories: absolute paths, at most [`MAX_DIRECTORIES`].
        directories: Vec<String>,
    },
}

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectState {
    /// Its id.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Its directories, absolute.
    pub directories: Vec<String>,
    /// The document's revision: 1 when made, one more with each change.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A project needs nothing but its own state.
#[derive(Clone, Copy, Debug)]
pub struct ProjectFacts;

impl Aggregate for Project {
    type Id = ProjectId;
    type State = ProjectState;
    type Event = ProjectEvent;
    type Command = ProjectCommand;
    type Facts = ProjectFacts;

    const NAME: &'static str = "project";
    const CATEGORY: Category = PROJECT;

    fn stream(id: ProjectId) -> StreamId {
        id.stream()
    }

    fn id_of(stream: StreamId) -> Option<ProjectId> {
        (stream.category == PROJECT).then_some(ProjectId(stream.id))
    }

    fn document_revision(state: &ProjectState, _command: &ProjectCommand) -> Option<u64> {
        Some(state.revision)
    }

    async fn gather(
        _engine: &Arc<Engine>,
        _id: ProjectId,
        _state: Option<&ProjectState>,
        _command: &ProjectCommand,
    ) -> Result<ProjectFacts, LoadError> {
        Ok(ProjectFacts)
    }

    fn decide(
        id: ProjectId,
        state: Option<&ProjectState>,
        command: &ProjectCommand,
        _facts: &mut ProjectFacts,
    ) -> Result<Decision<Project>, Refusal> {
        match command {
            ProjectCommand::Create { name, directories } => {
                create::decide(id, state, name, directories)
            }
        }
    }

    fn evolve(
        state: Option<ProjectState>,
        event: &ProjectEvent,
        at: Timestamp,
    ) -> Option<ProjectState> {
        match (state, event) {
            (None, ProjectEvent::ProjectCreated(made)) => Some(ProjectState {
                id: made.project,
                name: made.name.clone(),
                directories: made.directories.clone(),
                revision: 1,
                created_at: at,
            }),
            (state, ProjectEvent::ProjectCreated(_)) => state,
        }
    }
}
