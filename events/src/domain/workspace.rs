//! What happens to the workspace: its settings, connections, tool servers and global security.
//!
//! No secret is in any of it: what a caller gave as one is in a store of its own, and stands here
//! by its name, or by a keyed digest of its value.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    DirectoryGrantAdded, DirectoryGrantRemoved, SecuritySet, ToolPolicySet, ToolServerId, Transport,
};
use crate::codec::Payload;

/// The settings of all: limits and defaults that nothing more special overrides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalSettings {
    /// What a person calls the workspace.
    pub name: Option<String>,
    /// How long a tool call may say nothing, in milliseconds.
    pub silence_timeout_ms: Option<u64>,
    /// The most calls of one tool in one run (inclusive).
    pub max_calls_per_run: Option<u32>,
    /// How many characters of memory are put before a model (inclusive).
    pub memory_budget_chars: Option<u32>,
}

/// A connection to a model, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Its id.
    pub id: Uuid,
    /// What a person calls it.
    pub name: String,
    /// What it speaks.
    pub provider: Provider,
    /// Where it is; `None` for the provider's own address.
    pub base_url: Option<String>,
    /// The model that a chat without one of its own uses.
    pub model: String,
    /// Further options of requests, as a JSON object.
    pub options: Option<String>,
    /// Whether it may be used.
    pub enabled: bool,
    /// Whether chats without a connection of their own use it: one at most.
    pub default: bool,
    /// Whether subtasks may be spread over it.
    pub for_subtasks: bool,
    /// The person's opinion, 1 to 5; `None` when nobody rated.
    pub rating: Option<u8>,
    /// What it is good for, in the person's opinion.
    pub good_for: Option<String>,
    /// What it costs, as a JSON object.
    pub prices: Option<String>,
}

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Provider {
    /// OpenAI-compatible chat completions.
    OpenAi,
    /// OpenAI responses.
    OpenAiResponses,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
    /// Ollama.
    Ollama,
}

/// A server of tools, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServer {
    /// Its id.
    pub id: ToolServerId,
    /// Its name, which models know its tools by.
    pub name: String,
    /// How it is spoken to.
    pub transport: Transport,
    /// The program, for [`Transport::Stdio`].
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The program's environment, by name.
    pub env: Vec<SecretValue>,
    /// Where it is, for [`Transport::StreamableHttp`].
    pub url: Option<String>,
    /// The headers of its requests, by name.
    pub headers: Vec<SecretValue>,
    /// What stands before its tools' names.
    pub prefix: Option<String>,
    /// Whether it may be used.
    pub enabled: bool,
}

/// The name of a value that is a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretValue {
    /// The name.
    pub name: String,
    /// A digest of the value under a key that is not in the log; `None` where the value was set
    /// apart from the rest.
    pub digest: Option<[u8; 32]>,
}

/// Whose secret it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum CredentialOwner {
    /// A connection's.
    Connection {
        /// The connection.
        connection: Uuid,
    },
    /// A header of a tool server.
    Header {
        /// The server.
        server: ToolServerId,
        /// The header.
        name: String,
    },
}

/// The global settings were replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalSettingsSet {
    /// The new document, whole.
    pub settings: GlobalSettings,
}

/// A connection was made or replaced. If it is the default, no other is any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSet {
    /// The connection, whole.
    pub connection: Connection,
}

/// A connection was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionDeleted {
    /// Which.
    pub connection: Uuid,
}

/// A tool server was made or replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServerSet {
    /// The server, whole.
    pub server: ToolServer,
}

/// A tool server was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolServerDeleted {
    /// Which.
    pub server: ToolServerId,
}

/// A secret was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialSet {
    /// Whose.
    pub owner: CredentialOwner,
}

/// A secret was cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialCleared {
    /// Whose.
    pub owner: CredentialOwner,
}

impl Payload for GlobalSettingsSet {
    const VERSION: u8 = 1;
}
impl Payload for ConnectionSet {
    const VERSION: u8 = 1;
}
impl Payload for ConnectionDeleted {
    const VERSION: u8 = 1;
}
impl Payload for ToolServerSet {
    const VERSION: u8 = 1;
}
impl Payload for ToolServerDeleted {
    const VERSION: u8 = 1;
}
impl Payload for CredentialSet {
    const VERSION: u8 = 1;
}
impl Payload for CredentialCleared {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens to the workspace.
    #[derive(Clone, Debug, PartialEq)]
    pub enum WorkspaceEvent {
        /// The global settings were replaced.
        0x0101 => GlobalSettingsSet,
        /// A connection was made or replaced.
        0x0102 => ConnectionSet,
        /// A connection was deleted.
        0x0103 => ConnectionDeleted,
        /// A tool server was made or replaced.
        0x0104 => ToolServerSet,
        /// A tool server was deleted.
        0x0105 => ToolServerDeleted,
        /// A secret was set.
        0x0106 => CredentialSet,
        /// A secret was cleared.
        0x0107 => CredentialCleared,
        /// The global security document was replaced.
        0x0110 => SecuritySet,
        /// A tool's global policy was set.
        0x0111 => ToolPolicySet,
        /// A directory was granted to all.
        0x0112 => DirectoryGrantAdded,
        /// A grant to all was taken back.
        0x0113 => DirectoryGrantRemoved,
    }
}
