//! What a project's events add up to.

use std::collections::BTreeMap;

use scripta_events::Timestamp;
use scripta_events::domain::{
    ConnectionId, ProjectEvent, ProjectId, ProjectUpdated, ResourceCreated, ResourceId,
    ResourceKind, SecurityDocument,
};

/// A project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectState {
    /// Its id.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Its directories, absolute.
    pub directories: Vec<String>,
    /// The connection of its chats that name none; `None` for the workspace's default.
    pub default_connection: Option<ConnectionId>,
    /// The document's revision: 1 when made, one more with each change of its name, directories
    /// and default connection. Its instructions and resources have revisions of their own.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// What every model is told in it.
    pub instructions: Instructions,
    /// Who may do what in it: a document with a revision of its own.
    pub security: SecurityDocument,
    /// The files and directories that it refers to by id, which is the order they were made in.
    pub resources: BTreeMap<ResourceId, ResourceState>,
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

/// A reference to a file or a directory: a document of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceState {
    /// Its id.
    pub id: ResourceId,
    /// The path, absolute, without links and detours.
    pub path: String,
    /// What was there when it was made.
    pub kind: ResourceKind,
    /// The document's revision: 1 when made, 2 once it is retired.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was retired; `None` while it can be attached.
    pub retired_at: Option<Timestamp>,
}

impl ProjectState {
    /// The directories that may be read in it, by its own word.
    pub(super) fn readable(&self) -> Vec<String> {
        let granted = self.security.security.readable();
        self.directories.iter().cloned().chain(granted).collect()
    }
}

impl ResourceState {
    /// Whether it is attached no more.
    pub fn is_retired(&self) -> bool {
        self.retired_at.is_some()
    }
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
                default_connection: None,
                revision: 1,
                created_at: at,
                instructions: Instructions::default(),
                security: SecurityDocument::default(),
                resources: BTreeMap::new(),
                deleted: false,
            });
        }
        (state, _) => state?,
    };
    if let Some(fact) = event.security() {
        state.security.apply(fact);
    }
    match event {
        // Folded above.
        ProjectEvent::SecuritySet(_)
        | ProjectEvent::ToolPolicySet(_)
        | ProjectEvent::DirectoryGrantAdded(_)
        | ProjectEvent::DirectoryGrantRemoved(_) => {}
        ProjectEvent::ProjectCreated(_) => {}
        ProjectEvent::ProjectUpdated(updated) => update(&mut state, updated),
        ProjectEvent::ProjectDeleted(_) => state.deleted = true,
        ProjectEvent::ResourceCreated(made) => {
            state.resources.insert(made.resource, resource(made, at));
        }
        ProjectEvent::ResourceRetired(retired) => {
            if let Some(known) = state.resources.get_mut(&retired.resource) {
                known.retired_at = Some(at);
                known.revision += 1;
            }
        }
        ProjectEvent::InstructionsReplaced(replaced) => {
            let revision = state.instructions.revision + 1;
            let text = replaced.text.clone();
            state.instructions = Instructions { text, revision, updated_at: Some(at) };
        }
    }
    Some(state)
}

fn update(state: &mut ProjectState, updated: &ProjectUpdated) {
    let ProjectUpdated { name, directories, default_connection } = updated.clone();
    if let Some(name) = name {
        state.name = name;
    }
    if let Some(directories) = directories {
        state.directories = directories;
    }
    if let Some(connection) = default_connection {
        state.default_connection = connection;
    }
    state.revision += 1;
}

fn resource(made: &ResourceCreated, at: Timestamp) -> ResourceState {
    ResourceState {
        id: made.resource,
        path: made.path.clone(),
        kind: made.kind,
        revision: 1,
        created_at: at,
        retired_at: None,
    }
}
