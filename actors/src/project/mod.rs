//! Projects.

mod create;
mod create_resource;
mod delete;
mod place;
mod replace_instructions;
mod retire_resource;
mod state;
#[cfg(test)]
mod testing;
mod update;

use std::sync::Arc;

use scripta_events::domain::{
    ConnectionId, PROJECT, ProjectEvent, ProjectId, ResourceId, ResourceKind, WorkspaceDocuments,
};
use scripta_events::{Category, StreamId, Timestamp};

pub use create::{MAX_DIRECTORIES, MAX_DIRECTORY_BYTES};
pub use create_resource::MAX_RESOURCES;
pub use place::{NoPlace, Place};
pub use replace_instructions::MAX_INSTRUCTIONS_BYTES;
pub use state::{Instructions, ProjectState, ResourceState};

use self::place::{MAX_LOOK, look};
use crate::engine::Engine;
use crate::security::{self, Scope};
use crate::{Aggregate, Decision, Ids, LoadError, Project, Refusal, RunKey, SecurityCommand};

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
    /// Change what is given.
    Update {
        /// The changes.
        changes: ProjectChanges,
        /// The project's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Refer to a file or a directory.
    CreateResource {
        /// Where it is, absolute; links are followed.
        path: String,
        /// What is there.
        kind: ResourceKind,
    },
    /// Retire a resource.
    RetireResource {
        /// Which.
        resource: ResourceId,
        /// The resource's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Change its security document.
    Security(SecurityCommand),
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

/// Changes of a project; what is `None` stays. The bounds are those of its creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectChanges {
    /// The new name.
    pub name: Option<String>,
    /// The new directories.
    pub directories: Option<Vec<String>>,
    /// The new default connection of its chats; `Some(None)` takes it away.
    pub default_connection: Option<Option<ConnectionId>>,
}

/// What a project's decision needs.
#[derive(Clone, Debug)]
pub struct ProjectFacts {
    /// Ids for what is made.
    pub ids: Ids,
    /// For a deletion: the runs that are under way in it.
    pub running: Vec<RunKey>,
    /// For a change of its security: the workspace, which has the tool servers.
    pub workspace: Arc<WorkspaceDocuments>,
    /// For a new default connection: why it can't be used.
    pub problem: Option<String>,
    /// For a new resource: where its path leads, or what is wrong with it.
    pub place: Option<Result<Place, NoPlace>>,
}

impl ProjectFacts {
    /// Nothing but new ids.
    pub fn new() -> ProjectFacts {
        ProjectFacts {
            ids: Ids::random(),
            running: vec![],
            workspace: Arc::default(),
            problem: None,
            place: None,
        }
    }
}

impl Default for ProjectFacts {
    fn default() -> ProjectFacts {
        ProjectFacts::new()
    }
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

    fn creates(command: &ProjectCommand) -> bool {
        matches!(command, ProjectCommand::Create { .. })
    }

    fn expected(command: &ProjectCommand) -> Option<u64> {
        match command {
            ProjectCommand::Create { .. } | ProjectCommand::CreateResource { .. } => None,
            ProjectCommand::Update { expected_revision, .. }
            | ProjectCommand::RetireResource { expected_revision, .. }
            | ProjectCommand::ReplaceInstructions { expected_revision, .. }
            | ProjectCommand::Delete { expected_revision, .. } => Some(*expected_revision),
            ProjectCommand::Security(command) => command.expected(),
        }
    }

    fn document_revision(state: &ProjectState, command: &ProjectCommand) -> Option<u64> {
        if state.deleted {
            return None;
        }
        match command {
            ProjectCommand::Create { .. }
            | ProjectCommand::Update { .. }
            | ProjectCommand::CreateResource { .. }
            | ProjectCommand::Delete { .. } => Some(state.revision),
            ProjectCommand::RetireResource { resource, .. } => {
                state.resources.get(resource).map(|resource| resource.revision)
            }
            ProjectCommand::ReplaceInstructions { .. } => Some(state.instructions.revision),
            ProjectCommand::Security(_) => Some(state.security.revision),
        }
    }

    async fn gather(
        engine: &Arc<Engine>,
        id: ProjectId,
        state: Option<&ProjectState>,
        command: &ProjectCommand,
    ) -> Result<ProjectFacts, LoadError> {
        let mut facts = ProjectFacts::new();
        match command {
            ProjectCommand::Delete { stop_runs: false, .. } => {
                facts.running = engine.running_in(id).await?;
            }
            ProjectCommand::Update { changes, .. } => {
                let wanted = changes.default_connection.as_ref().and_then(Option::as_ref);
                facts.problem = wanted.and_then(|it| engine.endpoint_of(Some(it), None).problem);
            }
            ProjectCommand::Security(_) => facts.workspace = engine.workspace().await?,
            ProjectCommand::CreateResource { path, .. } => {
                let mut readable = state.map(|state| state.readable()).unwrap_or_default();
                readable.extend(engine.workspace().await?.security.security.readable());
                let path = path.clone();
                let looked = engine.runtime.spawn_blocking(move || look(&path, &readable));
                let looked = tokio::time::timeout(MAX_LOOK, looked).await;
                facts.place = Some(match looked {
                    Ok(Ok(place)) => place,
                    Ok(Err(_)) | Err(_) => Err(NoPlace::Wrong(format!(
                        "could not be looked at within {MAX_LOOK:?}; give one on a disk that answers"
                    ))),
                });
            }
            _ => {}
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
            ProjectCommand::Update { changes, .. } => update::decide(existing()?, changes, facts),
            ProjectCommand::CreateResource { path, kind } => {
                create_resource::decide(existing()?, (path, *kind), facts)
            }
            ProjectCommand::RetireResource { resource, .. } => {
                retire_resource::decide(existing()?, *resource)
            }
            ProjectCommand::Delete { stop_runs, .. } => {
                delete::decide(existing()?, *stop_runs, facts)
            }
            ProjectCommand::Security(command) => {
                let document = &existing()?.security;
                let workspace = &facts.workspace;
                let scope = Scope { document, workspace, binds: true };
                let decided = security::decide(&scope, command, &mut facts.ids)?;
                let events = decided.map(security::SecurityEvent::into_event);
                Ok(Decision::events(events.into_iter().collect()))
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
