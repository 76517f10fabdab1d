//! A message, as callers see it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scripta_events::domain::{
    Intent, Message, MessageStatus, Part, Reference, Role, Sender, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Id, Time};
use crate::arguments::TELLS_NULL;

/// One message of a branch's history.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageView {
    id: Id,
    chat_id: Id,
    /// The branch that wrote it.
    branch_id: Id,
    /// The message before it; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<Id>,
    role: RoleView,
    parts: Vec<PartView>,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<SenderView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intent: Option<IntentView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageView>,
    refs: Vec<Id>,
    reviews: Vec<Id>,
    status: MessageStatusView,
    /// Its place in the log.
    position: u64,
}

/// Where a message stands.
pub(crate) struct MessagePlace {
    pub(crate) chat: Id,
    pub(crate) branch: Id,
    pub(crate) parent: Option<Id>,
    pub(crate) position: u64,
}

// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum RoleView {
    System,
    User,
    Assistant,
    Tool,
}

// What a sender meant a message as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum IntentView {
    Question,
    Answer,
    Decision,
    Status,
    Blocker,
    Done,
}

// Whether a message is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum MessageStatusView {
    Complete,
    Stopped,
    Failed,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(crate) enum PartView {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
    },
    ToolCall {
        id: String,
        server: String,
        tool: String,
        /// The arguments; as text, if what the model sent is no JSON.
        #[schemars(schema_with = "any_json")]
        arguments: Value,
    },
    ToolResult {
        call_id: String,
        is_error: bool,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "any_json")]
        structured: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "any_json")]
        meta: Option<Value>,
    },
    Image {
        reference: ReferenceView,
    },
    File {
        reference: ReferenceView,
    },
    /// Imported content of a kind that is not known here, as it was.
    Other {
        kind: String,
        #[schemars(schema_with = "any_json")]
        content: Value,
    },
}

/// Whatever JSON can say, spelled out: some clients refuse a schema that says nothing.
fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "array", "string", "number", "boolean", "null"],
        TELLS_NULL: true,
    })
}

/// Something kept elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReferenceView {
    target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// Who sent a message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
pub(crate) enum SenderView {
    /// The person at the server's machine.
    User,
    /// Whoever holds an API key.
    Key { key_id: String },
    /// A run, speaking from its branch.
    Branch { chat_id: Id, branch_id: Id },
}

/// Tokens, as the model's provider counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageView {
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
}

impl MessageView {
    pub(crate) fn new(message: Message, place: MessagePlace) -> MessageView {
        MessageView {
            id: Id(message.id.0),
            chat_id: place.chat,
            branch_id: place.branch,
            parent_id: place.parent,
            role: message.role.into(),
            parts: message.parts.into_iter().map(PartView::from).collect(),
            created_at: message.created_at.into(),
            sender: message.sender.map(SenderView::from),
            intent: message.intent.map(IntentView::from),
            run_id: message.run.map(|run| Id(run.0)),
            connection: message.connection.map(|connection| connection.0),
            model: message.model,
            usage: message.usage.map(UsageView::from),
            refs: message.refs.into_iter().map(Id).collect(),
            reviews: message.reviews.into_iter().map(Id).collect(),
            status: message.status.into(),
            position: place.position,
        }
    }
}

impl From<Part> for PartView {
    fn from(part: Part) -> PartView {
        match part {
            Part::Text { text } => PartView::Text { text },
            Part::Reasoning { text } => PartView::Reasoning { text },
            Part::ToolCall(call) => PartView::ToolCall {
                id: call.id,
                server: call.server,
                tool: call.tool,
                arguments: json(call.arguments),
            },
            Part::ToolResult(result) => PartView::ToolResult {
                call_id: result.call_id,
                is_error: result.is_error,
                text: result.text,
                structured: result.structured.map(json),
                meta: result.meta.map(json),
            },
            Part::Image(reference) => PartView::Image { reference: reference.into() },
            Part::File(reference) => PartView::File { reference: reference.into() },
            Part::Other { kind, json: content } => PartView::Other { kind, content: json(content) },
        }
    }
}

/// JSON text as what it says, or as the text that it is.
fn json(text: String) -> Value {
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

impl From<Reference> for ReferenceView {
    fn from(reference: Reference) -> ReferenceView {
        let Reference { target, media_type, name } = reference;
        ReferenceView { target, media_type, name }
    }
}

impl From<Sender> for SenderView {
    fn from(sender: Sender) -> SenderView {
        match sender {
            Sender::User => SenderView::User,
            Sender::Key { id } => SenderView::Key { key_id: id },
            Sender::Branch { chat, branch } => {
                SenderView::Branch { chat_id: Id(chat.0), branch_id: Id(branch.0) }
            }
        }
    }
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> UsageView {
        UsageView { input: usage.input, output: usage.output }
    }
}

impl From<Role> for RoleView {
    fn from(role: Role) -> RoleView {
        match role {
            Role::System => RoleView::System,
            Role::User => RoleView::User,
            Role::Assistant => RoleView::Assistant,
            Role::Tool => RoleView::Tool,
        }
    }
}

impl From<RoleView> for Role {
    fn from(role: RoleView) -> Role {
        match role {
            RoleView::System => Role::System,
            RoleView::User => Role::User,
            RoleView::Assistant => Role::Assistant,
            RoleView::Tool => Role::Tool,
        }
    }
}

impl From<Intent> for IntentView {
    fn from(intent: Intent) -> IntentView {
        match intent {
            Intent::Question => IntentView::Question,
            Intent::Answer => IntentView::Answer,
            Intent::Decision => IntentView::Decision,
            Intent::Status => IntentView::Status,
            Intent::Blocker => IntentView::Blocker,
            Intent::Done => IntentView::Done,
        }
    }
}

impl From<IntentView> for Intent {
    fn from(intent: IntentView) -> Intent {
        match intent {
            IntentView::Question => Intent::Question,
            IntentView::Answer => Intent::Answer,
            IntentView::Decision => Intent::Decision,
            IntentView::Status => Intent::Status,
            IntentView::Blocker => Intent::Blocker,
            IntentView::Done => Intent::Done,
        }
    }
}

impl From<MessageStatus> for MessageStatusView {
    fn from(status: MessageStatus) -> MessageStatusView {
        match status {
            MessageStatus::Complete => MessageStatusView::Complete,
            MessageStatus::Stopped => MessageStatusView::Stopped,
            MessageStatus::Failed => MessageStatusView::Failed,
        }
    }
}
