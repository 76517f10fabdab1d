//! Projects.

mod create;
mod delete;
mod replace_instructions;
mod state;

use std::sync::Arc;

use scripta_events::domain::{PROJECT, ProjectEvent, ProjectId};
use scripta_events::{Category, StreamId, Timestamp};

pub use create::{MAX_DIRECTORIES, MAX_DIRECTORY_BYTES};
pub use replace_instructions::MAX_INSTRUCTIONS_BYTES;
pub use state::{Instructions, ProjectState};

use crate::engine::Engine;
use crate::{Aggregate, Decision, LoadError, Project, Refusal, RunKey};

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
    /// Delete it with its chats and all that belongs to it.
    Delete {
        /// Whether running turns are stopped; without it they are in the way.
        stop_runs: bool,
        /// The project's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Replace its instructions as a whole.
    ReplaceInstructions {
        /// The new text: at most [`MAX_INSTRUCTIONS_BYTES`]; empty for none.
        text: String,
        /// The instructions' revision as the caller knows it; 0 where there were none yet.
        expected_revision: u64,
    },
}

/// What a project's decision needs.
#[derive(Clone, Debug, Default)]
pub struct ProjectFacts {
    /// For a deletion: the runs that are under way in it.
    pub running: Vec<RunKey>,
}

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
            ProjectCommand::ReplaceInstructions { expected_revision, .. }
            | ProjectCommand::Delete { expected_revision, .. } => Some(*expected_revision),
        }
    }

    fn document_revision(state: &ProjectState, command: &ProjectCommand) -> Option<u64> {
        if state.deleted {
            return None;
        }
        match command {
            ProjectCommand::Create { .. } | ProjectCommand::Delete { .. } => Some(state.revision),
            ProjectCommand::ReplaceInstructions { .. } => Some(state.instructions.revision),
        }
    }

    async fn gather(
        engine: &Arc<Engine>,
        id: ProjectId,
        _state: Option<&ProjectState>,
        command: &ProjectCommand,
    ) -> Result<ProjectFacts, LoadError> {
        let mut facts = ProjectFacts::default();
        if matches!(command, ProjectCommand::Delete { stop_runs: false, .. }) {
            facts.running = engine.running_in(id).await?;
        }
        Ok(facts)
    }

    fn decide(
        id: ProjectId,
        state: Option<&ProjectState>,
        command: &ProjectCommand,
        facts: &mut ProjectFacts,
    ) -> Result<Decision<Project>, Refusal> {
        let existing = || match state {
            None => Err(Refusal::NotFound { what: "project", id: id.0 }),
            Some(state) if state.deleted => Err(Refusal::Gone { what: "project", id: id.0 }),
            Some(state) => Ok(state),
        };
        match command {
            ProjectCommand::Create { name, directories } => {
                create::decide(id, state, name, directories)
            }
            ProjectCommand::Delete { stop_runs, .. } => {
                delete::decide(existing()?, *stop_runs, facts)
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
