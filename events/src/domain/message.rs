//! A message: immutable, and whole in one event.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{BranchId, ChatId, ConnectionId, MessageId, RunId};
use crate::Timestamp;

/// One message of a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// What it says, in order.
    pub parts: Vec<Part>,
    /// When it was made: for an imported message, where it came from says so.
    pub created_at: Timestamp,
    /// Who sent it; set by the server. `None` for what a model or a tool said.
    pub sender: Option<Sender>,
    /// What the sender meant it as.
    pub intent: Option<Intent>,
    /// The run that produced it.
    pub run: Option<RunId>,
    /// The connection that produced it.
    pub connection: Option<ConnectionId>,
    /// The model that produced it.
    pub model: Option<String>,
    /// What producing it used.
    pub usage: Option<Usage>,
    /// Resources attached to it.
    pub refs: Vec<Uuid>,
    /// Reviews attached to it.
    pub reviews: Vec<Uuid>,
    /// Whether it is whole.
    pub status: MessageStatus,
}

impl Message {
    /// A whole message that says no more than who speaks, what, and when.
    pub fn new(id: MessageId, role: Role, parts: Vec<Part>, created_at: Timestamp) -> Message {
        Message {
            id,
            role,
            parts,
            created_at,
            sender: None,
            intent: None,
            run: None,
            connection: None,
            model: None,
            usage: None,
            refs: vec![],
            reviews: vec![],
            status: MessageStatus::Complete,
        }
    }
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Instructions to the model.
    System,
    /// A person, or an agent in a person's place.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Text; what is searched.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought aloud.
    Reasoning {
        /// The text.
        text: String,
    },
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// A picture kept elsewhere.
    Image(Reference),
    /// A file kept elsewhere.
    File(Reference),
    /// Imported content of a kind that is not known here, kept as it was.
    Other {
        /// The kind, as its source names it.
        kind: String,
        /// The content, as JSON text.
        json: String,
    },
}

/// A model's request for a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, as the model's provider gave it; unique within its message only.
    pub id: String,
    /// The server that has the tool.
    pub server: String,
    /// The tool's name on that server.
    pub tool: String,
    /// The arguments, as JSON text: what the model sent, even if it is not valid JSON.
    pub arguments: String,
}

/// What a tool answered to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The result, for the model to read.
    pub text: String,
    /// The structured result, as JSON text.
    pub structured: Option<String>,
    /// Metadata that is not for the model, as JSON text.
    pub meta: Option<String>,
}

/// Something kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Where: a path, a URL, or the source's own name for it.
    pub target: String,
    /// Its media type, if known.
    pub media_type: Option<String>,
    /// Its name for a person.
    pub name: Option<String>,
}

/// Who sent a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sender {
    /// The person at this machine.
    User,
    /// Whoever holds an API key.
    Key {
        /// The key's public id, never its secret.
        id: String,
    },
    /// A run, speaking from its branch.
    Branch {
        /// The calling run's chat.
        chat: ChatId,
        /// The calling run's branch.
        branch: BranchId,
    },
}

/// What a sender meant a message as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Intent {
    /// It asks.
    Question,
    /// It answers.
    Answer,
    /// It decides.
    Decision,
    /// It tells where things stand.
    Status,
    /// It tells what is in the way.
    Blocker,
    /// It tells that something is done.
    Done,
}

/// Whether a message is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageStatus {
    /// It is whole.
    Complete,
    /// It was stopped; what there was is kept.
    Stopped,
    /// It failed; what there was is kept.
    Failed,
}

/// What a model's answer used, in tokens, as its provider counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: Option<u64>,
    /// Tokens written.
    pub output: Option<u64>,
}

impl Message {
    /// The text parts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}
