//! What the workspace's events add up to: its documents, each with a revision of its own.
//!
//! They are folded in one place for those who decide on them and those who show them, so that
//! the two can't drift apart. It is no schema: nothing here is kept that can't be folded again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Connection, CredentialOwner, GlobalSettings, SecretValue, SecurityDocument, ToolServer,
    ToolServerId, Transport, WorkspaceEvent,
};

/// The workspace: several documents that don't conflict with each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceDocuments {
    /// The settings.
    pub settings: Document<GlobalSettings>,
    /// The connections by id, which is the order they were made in.
    pub connections: BTreeMap<Uuid, ConnectionDocument>,
    /// The tool servers by id; the bundled ones first.
    pub servers: BTreeMap<ToolServerId, Document<ToolServer>>,
    /// The global security document.
    pub security: SecurityDocument,
    /// The connections and servers that were deleted, each with its last revision.
    pub deleted: BTreeMap<Uuid, u64>,
    /// The connection or server that was made or changed last.
    pub last: Option<Uuid>,
}

/// A document with its revision: 0 until it is first set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document<T> {
    /// One more with each change.
    pub revision: u64,
    /// What it says.
    pub value: T,
}

/// A connection, and whether it was given a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionDocument {
    /// 1 when made, one more with each change.
    pub revision: u64,
    /// The connection.
    pub value: Connection,
    /// Whether a secret was set and not cleared since.
    pub credential: bool,
}

impl Default for WorkspaceDocuments {
    /// A workspace to which nothing has happened: it has the bundled servers.
    fn default() -> WorkspaceDocuments {
        let bundled = [
            (ToolServerId::APP, "app", Transport::InProcess),
            (ToolServerId::FILES, "files", Transport::Stdio),
        ];
        let servers = bundled.map(|(id, name, transport)| {
            let value = ToolServer {
                id,
                name: name.to_owned(),
                transport,
                command: None,
                args: Vec::new(),
                env: Vec::new(),
                url: None,
                headers: Vec::new(),
                prefix: None,
                enabled: true,
            };
            (id, Document { revision: 0, value })
        });
        WorkspaceDocuments {
            settings: Document::default(),
            connections: BTreeMap::new(),
            servers: BTreeMap::from(servers),
            security: SecurityDocument::default(),
            deleted: BTreeMap::new(),
            last: None,
        }
    }
}

impl WorkspaceDocuments {
    /// Folds one event in.
    pub fn apply(&mut self, event: &WorkspaceEvent) {
        match event {
            WorkspaceEvent::GlobalSettingsSet(set) => {
                self.settings.value = set.settings.clone();
                self.settings.revision += 1;
            }
            WorkspaceEvent::ConnectionSet(set) => self.set_connection(&set.connection),
            WorkspaceEvent::ConnectionDeleted(deleted) => {
                let removed = self.connections.remove(&deleted.connection);
                let revision = removed.map_or(0, |document| document.revision) + 1;
                self.deleted.insert(deleted.connection, revision);
            }
            WorkspaceEvent::ToolServerSet(set) => self.set_server(&set.server),
            WorkspaceEvent::ToolServerDeleted(deleted) => {
                let removed = self.servers.remove(&deleted.server);
                let revision = removed.map_or(0, |document| document.revision) + 1;
                self.deleted.insert(deleted.server.0, revision);
            }
            WorkspaceEvent::CredentialSet(set) => self.set_credential(&set.owner),
            WorkspaceEvent::CredentialCleared(cleared) => self.clear_credential(&cleared.owner),
            WorkspaceEvent::SecuritySet(set) => self.security.set(set),
            WorkspaceEvent::ToolPolicySet(set) => self.security.set_policy(set),
            WorkspaceEvent::DirectoryGrantAdded(added) => self.security.add_grant(added),
            WorkspaceEvent::DirectoryGrantRemoved(removed) => self.security.remove_grant(removed),
        }
    }

    fn set_connection(&mut self, connection: &Connection) {
        if connection.default {
            let others = self.connections.values_mut();
            for other in others.filter(|it| it.value.default && it.value.id != connection.id) {
                other.value.default = false;
                other.revision += 1;
            }
        }
        self.last = Some(connection.id);
        match self.connections.get_mut(&connection.id) {
            Some(document) => {
                document.value = connection.clone();
                document.revision += 1;
            }
            None => {
                let value = connection.clone();
                let made = ConnectionDocument { revision: 1, value, credential: false };
                self.connections.insert(connection.id, made);
            }
        }
    }

    fn set_server(&mut self, server: &ToolServer) {
        self.last = Some(server.id.0);
        let revision = self.servers.get(&server.id).map_or(0, |document| document.revision) + 1;
        self.servers.insert(server.id, Document { revision, value: server.clone() });
    }

    fn set_credential(&mut self, owner: &CredentialOwner) {
        match owner {
            CredentialOwner::Connection { connection } => {
                if let Some(document) = self.connections.get_mut(connection) {
                    document.credential = true;
                }
            }
            CredentialOwner::Header { server, name } => {
                let Some(document) = self.servers.get_mut(server) else { return };
                let headers = &mut document.value.headers;
                match headers.iter_mut().find(|header| header.name == *name) {
                    // The document stays as it is: only what it can't show has changed.
                    Some(header) => header.digest = None,
                    None => {
                        headers.push(SecretValue { name: name.clone(), digest: None });
                        document.revision += 1;
                    }
                }
            }
        }
    }

    fn clear_credential(&mut self, owner: &CredentialOwner) {
        match owner {
            CredentialOwner::Connection { connection } => {
                if let Some(document) = self.connections.get_mut(connection) {
                    document.credential = false;
                }
            }
            CredentialOwner::Header { server, name } => {
                let Some(document) = self.servers.get_mut(server) else { return };
                document.value.headers.retain(|header| header.name != *name);
                document.revision += 1;
            }
        }
    }

    /// The server of this id or name.
    pub fn server(&self, named: &str) -> Option<&Document<ToolServer>> {
        let id = Uuid::parse_str(named).ok().map(ToolServerId);
        let by_id = id.and_then(|id| self.servers.get(&id));
        by_id.or_else(|| self.servers.values().find(|server| server.value.name == named))
    }

    /// The connection that is the default.
    pub fn default_connection(&self) -> Option<&ConnectionDocument> {
        self.connections.values().find(|document| document.value.default)
    }
}
