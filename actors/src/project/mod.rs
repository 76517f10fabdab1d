//! Projects.

mod create;
mod replace_instructions;
mod state;

use std::sync::Arc;

use scripta_events::domain::{PROJECT, ProjectEvent, ProjectId};
use scripta_events::{Category, StreamId, Timestamp};

pub use create::{MAX_DIRECTORIES, MAX_DIRECTORY_BYTES};
pub use replace_instructions::MAX_INSTRUCTIONS_BYTES;
pub use state::{Instructions, ProjectState};

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
    /// Replace its instructions as a whole.
    ReplaceInstructions {
        /// The new text: at most [`MAX_INSTRUCTIONS_BYTES`]; empty for none.
        text: String,
        /// The instructions' revision as the caller knows it; 0 where there were none yet.
        expected_revision: u64,
    },
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

    fn expected(command: &ProjectCommand) -> Option<u64> {
        match command {
            ProjectCommand::Create { .. } => None,
            ProjectCommand::ReplaceInstructions { expected_revision, .. } => {
                Some(*expected_revision)
            }
        }
    }

    fn document_revision(state: &ProjectState, command: &ProjectCommand) -> Option<u64> {
        match command {
            ProjectCommand::Create { .. } => Some(state.revision),
            ProjectCommand::ReplaceInstructions { .. } => Some(state.instructions.revision),
        }
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
        let existing = || state.ok_or(Refusal::NotFound { what: "project", id: id.0 });
        match command {
            ProjectCommand::Create { name, directories } => {
                create::decide(id, state, name, directories)
            }
            ProjectCommand::ReplaceInstructions { text, .. } => {
                replace_instructions::decide(existing()?, text)
            }
        }
    }

    fn evolve(
        state: Option<ProjectState>,
        event: &ProjectEvent,
        at: Timestamp,
    ) -> Option<ProjectState> {
        state::evolve(state, event, at)
    }
}
