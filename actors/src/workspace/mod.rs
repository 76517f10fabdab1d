//! The workspace: global settings, connections, tool servers, global security. Each is a document
//! with a revision of its own, so that changes of different ones don't conflict.

mod clear_credential;
mod delete_connection;
mod delete_tool_server;
mod set_connection;
mod set_credential;
mod set_settings;
mod set_tool_server;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use scripta_events::domain::{
    Connection, CredentialOwner, GlobalSettings, ToolServerId, WORKSPACE, WorkspaceDocuments,
    WorkspaceEvent, WorkspaceId,
};
use scripta_events::{Category, StreamId, Timestamp};
use uuid::Uuid;

pub use set_connection::MAX_CONNECTIONS;
pub use set_credential::check_owner as check_credential_owner;
pub use set_tool_server::{GivenSecret, MAX_TOOL_SERVERS, NewToolServer};

use crate::engine::Engine;
use crate::security::{self, Scope};
use crate::{Aggregate, Decision, Ids, LoadError, Refusal, SecurityCommand, Workspace};

/// What the workspace can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceCommand {
    /// Replace the global settings.
    SetSettings {
        /// The new document, whole.
        settings: GlobalSettings,
        /// The document's revision as the caller knows it; 0 for settings that were never set.
        expected_revision: u64,
    },
    /// Make or replace a connection.
    SetConnection {
        /// The connection, whole.
        connection: Connection,
        /// Whether its id is a new one.
        new: bool,
        /// The connection's revision as the caller knows it; 0 for a new one.
        expected_revision: u64,
    },
    /// Delete a connection.
    DeleteConnection {
        /// Which.
        connection: Uuid,
        /// The connection's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Make or replace a tool server.
    SetToolServer {
        /// The server, whole.
        server: NewToolServer,
        /// Whether its id is a new one.
        new: bool,
        /// The server's revision as the caller knows it; 0 for a new one.
        expected_revision: u64,
    },
    /// Delete a tool server, unless it is bundled.
    DeleteToolServer {
        /// Which.
        server: ToolServerId,
        /// The server's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Change the global security document.
    Security(SecurityCommand),
    /// Record that a secret was set.
    SetCredential {
        /// Whose.
        owner: CredentialOwner,
    },
    /// Record that a secret was cleared.
    ClearCredential {
        /// Whose.
        owner: CredentialOwner,
    },
}

/// What the workspace's decisions need.
#[derive(Debug)]
pub struct WorkspaceFacts {
    /// Ids for what is made.
    pub ids: Ids,
}

impl Aggregate for Workspace {
    type Id = WorkspaceId;
    type State = WorkspaceDocuments;
    type Event = WorkspaceEvent;
    type Command = WorkspaceCommand;
    type Facts = WorkspaceFacts;

    const NAME: &'static str = "document of the workspace";
    const CATEGORY: Category = WORKSPACE;

    fn stream(id: WorkspaceId) -> StreamId {
        id.stream()
    }

    fn id_of(stream: StreamId) -> Option<WorkspaceId> {
        (stream.category == WORKSPACE).then_some(WorkspaceId(stream.id))
    }

    fn initial(_id: WorkspaceId) -> Option<WorkspaceDocuments> {
        Some(WorkspaceDocuments::default())
    }

    fn written(engine: &Arc<Engine>, state: &WorkspaceDocuments) {
        engine.models.configure(state);
    }

    fn expected(command: &WorkspaceCommand) -> Option<u64> {
        match command {
            WorkspaceCommand::SetSettings { expected_revision, .. }
            | WorkspaceCommand::SetConnection { expected_revision, .. }
            | WorkspaceCommand::DeleteConnection { expected_revision, .. }
            | WorkspaceCommand::SetToolServer { expected_revision, .. }
            | WorkspaceCommand::DeleteToolServer { expected_revision, .. } => {
                Some(*expected_revision)
            }
            WorkspaceCommand::Security(command) => command.expected(),
            WorkspaceCommand::SetCredential { .. } | WorkspaceCommand::ClearCredential { .. } => {
                None
            }
        }
    }

    fn document_revision(state: &WorkspaceDocuments, command: &WorkspaceCommand) -> Option<u64> {
        let connection = |id: &Uuid| state.connections.get(id).map(|document| document.revision);
        let server = |id: &ToolServerId| state.servers.get(id).map(|document| document.revision);
        match command {
            WorkspaceCommand::SetSettings { .. } => Some(state.settings.revision),
            WorkspaceCommand::SetConnection { connection: it, .. } => connection(&it.id),
            WorkspaceCommand::DeleteConnection { connection: id, .. } => connection(id),
            WorkspaceCommand::SetToolServer { server: it, .. } => server(&it.id),
            WorkspaceCommand::DeleteToolServer { server: id, .. } => server(id),
            WorkspaceCommand::Security(_) => Some(state.security.revision),
            WorkspaceCommand::SetCredential { .. } | WorkspaceCommand::ClearCredential { .. } => {
                None
            }
        }
    }

    async fn gather(
        _engine: &Arc<Engine>,
        _id: WorkspaceId,
        _state: Option<&WorkspaceDocuments>,
        _command: &WorkspaceCommand,
    ) -> Result<WorkspaceFacts, LoadError> {
        Ok(WorkspaceFacts { ids: Ids::random() })
    }

    fn decide(
        id: WorkspaceId,
        state: Option<&WorkspaceDocuments>,
        command: &WorkspaceCommand,
        facts: &mut WorkspaceFacts,
    ) -> Result<Decision<Workspace>, Refusal> {
        let state = state.ok_or(Refusal::NotFound { what: "workspace", id: id.0 })?;
        let events = match command {
            WorkspaceCommand::SetSettings { settings, .. } => {
                set_settings::decide(state, settings)?
            }
            WorkspaceCommand::SetConnection { connection, new, expected_revision } => {
                new_at_zero(*new, *expected_revision)?;
                set_connection::decide(state, connection, *new)?
            }
            WorkspaceCommand::DeleteConnection { connection, .. } => {
                delete_connection::decide(state, *connection)?
            }
            WorkspaceCommand::SetToolServer { server, new, expected_revision } => {
                new_at_zero(*new, *expected_revision)?;
                set_tool_server::decide(state, server, *new)?
            }
            WorkspaceCommand::DeleteToolServer { server, .. } => {
                delete_tool_server::decide(state, *server)?
            }
            WorkspaceCommand::Security(command) => {
                let scope = Scope { document: &state.security, workspace: state, binds: false };
                let decided = security::decide(&scope, command, &mut facts.ids)?;
                decided.map(security::SecurityEvent::into_event).into_iter().collect()
            }
            WorkspaceCommand::SetCredential { owner } => set_credential::decide(state, owner)?,
            WorkspaceCommand::ClearCredential { owner } => clear_credential::decide(state, owner)?,
        };
        Ok(Decision::events(events))
    }

    fn evolve(
        state: Option<WorkspaceDocuments>,
        event: &WorkspaceEvent,
        _at: Timestamp,
    ) -> Option<WorkspaceDocuments> {
        let mut state = state.unwrap_or_default();
        state.apply(event);
        Some(state)
    }
}

/// A document that is new has the revision 0.
fn new_at_zero(new: bool, expected: u64) -> Result<(), Refusal> {
    if new && expected != 0 {
        let problem = format!(
            "is {expected}, and a document that is new has the revision 0; give 0, or the id of \
             the one that is meant"
        );
        return Err(Refusal::Invalid { field: "expectedRevision", problem });
    }
    Ok(())
}

/// Why there is no such connection or server.
fn absent(state: &WorkspaceDocuments, what: &'static str, id: Uuid) -> Refusal {
    if state.deleted.contains_key(&id) {
        return Refusal::Gone { what, id };
    }
    Refusal::NotFound { what, id }
}
