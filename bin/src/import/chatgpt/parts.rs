//! What a message of a ChatGPT export says, as parts.

use scripta_events::domain::{MessageStatus, Part, Reference, Role, ToolCall, ToolResult};
use serde_json::Value;

use super::wire::{self, Message};
use crate::import::tree::{Content, Draft, Reason};

/// The server that tool calls of an export are filed under.
const TOOL_SERVER: &str = "chatgpt";

/// The recipient of what is said to the person.
const EVERYONE: &str = "all";

/// The kinds of content that tell the model about the person, and are no messages.
const PROFILE_KINDS: &[&str] = &["user_editable_context"];

/// What is on a node: a message, or a reason to pass over it.
pub fn content(node_id: &str, message: Option<&Message>) -> Content {
    let Some(message) = message else { return Content::Nothing };
    let metadata = message.metadata.as_ref();
    if metadata.and_then(|metadata| metadata.is_visually_hidden_from_conversation) == Some(true) {
        return Content::PassedOver(Reason::Hidden);
    }
    let content = message.content.as_ref().unwrap_or(&Value::Null);
    let kind = content.get("content_type").and_then(Value::as_str).unwrap_or("text");
    if PROFILE_KINDS.contains(&kind) {
        return Content::PassedOver(Reason::Hidden);
    }
    let role = role(message);
    let mut parts = body(kind, content);
    match role {
        Role::Assistant => call(node_id, message, &mut parts),
        Role::Tool => result(kind, &mut parts),
        Role::System | Role::User => {}
    }
    attachments(message, &mut parts);
    if parts.is_empty() {
        return Content::PassedOver(Reason::Empty);
    }
    let model = metadata.and_then(|metadata| metadata.model_slug.clone());
    Content::Message(Draft {
        role,
        parts,
        created_at: wire::time(message.create_time.as_ref()),
        model: model.filter(|_| role == Role::Assistant),
        status: match message.status.as_deref() {
            Some("in_progress" | "finished_partial_completion") => MessageStatus::Stopped,
            _ => MessageStatus::Complete,
        },
    })
}

fn role(message: &Message) -> Role {
    match message.author.as_ref().and_then(|author| author.role.as_deref()) {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("tool") => Role::Tool,
        _ => Role::Assistant,
    }
}

/// The content itself, whoever says it.
fn body(kind: &str, content: &Value) -> Vec<Part> {
    let string = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default();
    match kind {
        "text" | "multimodal_text" => {
            let parts = content.get("parts").and_then(Value::as_array);
            parts.into_iter().flatten().filter_map(piece).collect()
        }
        "code" => {
            let language = Some(string("language")).filter(|language| *language != "unknown");
            let code = string("text");
            let fenced = || format!("```{}\n{code}\n```", language.unwrap_or_default());
            (!code.trim().is_empty()).then(|| Part::Text { text: fenced() }).into_iter().collect()
        }
        "system_error" => {
            text(format!("{}: {}", string("name"), string("text")).as_str()).into_iter().collect()
        }
        "execution_output" => text(string("text")).into_iter().collect(),
        "thoughts" => {
            let thoughts = content.get("thoughts").and_then(Value::as_array);
            thoughts.into_iter().flatten().filter_map(thought).collect()
        }
        _ if says_nothing(content) => Vec::new(),
        _ => vec![other(kind, content)],
    }
}

/// One element of `parts`: text, or an object with a type of its own.
fn piece(piece: &Value) -> Option<Part> {
    let Value::Object(object) = piece else { return text(piece.as_str()?) };
    let kind = object.get("content_type").and_then(Value::as_str).unwrap_or("unknown");
    let string = |key: &str| object.get(key).and_then(Value::as_str);
    match kind {
        "image_asset_pointer" => {
            let target = string("asset_pointer")?.to_owned();
            Some(Part::Image(Reference { target, media_type: None, name: None }))
        }
        "audio_transcription" => text(string("text")?),
        "text" if object.contains_key("text") => text(string("text")?),
        _ => Some(other(kind, piece)),
    }
}

fn text(text: &str) -> Option<Part> {
    (!text.trim().is_empty()).then(|| Part::Text { text: text.to_owned() })
}

fn thought(thought: &Value) -> Option<Part> {
    let string = |key: &str| thought.get(key).and_then(Value::as_str).unwrap_or_default().trim();
    let text = match (string("summary"), string("content")) {
        ("", "") => return None,
        (summary, "") => summary.to_owned(),
        ("", content) => content.to_owned(),
        (summary, content) => format!("{summary}\n\n{content}"),
    };
    Some(Part::Reasoning { text })
}

fn other(kind: &str, value: &Value) -> Part {
    Part::Other { kind: kind.to_owned(), json: value.to_string() }
}

/// Whether nothing but the type is in it.
fn says_nothing(content: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    content.as_object().is_none_or(|fields| {
        fields.iter().all(|(key, value)| key == "content_type" || is_empty(value))
    })
}

/// What an assistant says to a tool is a call of it.
fn call(node_id: &str, message: &Message, parts: &mut Vec<Part>) {
    let tool = message.recipient.as_deref().filter(|to| !to.is_empty() && *to != EVERYONE);
    let Some(tool) = tool else { return };
    let content = message.content.as_ref();
    let code = content.and_then(|content| content.get("text")).and_then(Value::as_str);
    let said = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let arguments = match code {
        Some(code) => code.to_owned(),
        None => said.collect::<Vec<_>>().join("\n"),
    };
    parts.retain(|part| !matches!(part, Part::Text { .. }));
    parts.push(Part::ToolCall(ToolCall {
        id: node_id.to_owned(),
        server: TOOL_SERVER.to_owned(),
        tool: tool.to_owned(),
        arguments,
    }));
}

/// What a tool says is a result. Which call it answers is known once the tree is built.
fn result(kind: &str, parts: &mut Vec<Part>) {
    let mut said = Vec::new();
    parts.retain(|part| match part {
        Part::Text { text } => {
            said.push(text.clone());
            false
        }
        _ => true,
    });
    if said.is_empty() && parts.is_empty() {
        return;
    }
    let is_error = kind == "system_error";
    let result = ToolResult {
        call_id: String::new(),
        is_error,
        text: said.join("\n"),
        structured: None,
        meta: None,
    };
    parts.insert(0, Part::ToolResult(result));
}

fn attachments(message: &Message, parts: &mut Vec<Part>) {
    let attached = message.metadata.as_ref().and_then(|metadata| metadata.attachments.as_ref());
    for file in attached.into_iter().flatten() {
        let Some(target) = file.id.clone().or_else(|| file.name.clone()) else { continue };
        // A picture stands in the text as well, by a pointer that ends with the same id.
        let shown = parts.iter().any(|part| match part {
            Part::Image(image) => image.target.ends_with(&target),
            _ => false,
        });
        if !shown {
            let (media_type, name) = (file.mime_type.clone(), file.name.clone());
            parts.push(Part::File(Reference { target, media_type, name }));
        }
    }
}
