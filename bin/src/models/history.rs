//! A branch's history, as chat completions take it.
//!
//! Providers refuse a history in which a tool call has no result or a result no call. Imported
//! and stopped conversations have such; here every call gets a result, and a result without a
//! call is told in words.

use genai::chat::{ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolResponse};
use scripta_actors::{ModelRequest, tool_name};
use scripta_events::domain::{Message, Part, Role, ToolCall, ToolResult};
use serde_json::Value;

/// The longest name of a function that providers take, in characters.
const MAX_FUNCTION_NAME: usize = 64;

/// What stands for a result that was never recorded.
const NO_RESULT: &str = "no result was recorded for this call";

/// The request, without the options.
pub fn chat_request(request: &ModelRequest) -> ChatRequest {
    let mut messages = Vec::with_capacity(request.messages.len());
    let mut rest = request.messages.as_slice();
    while let Some((message, after)) = rest.split_first() {
        rest = after;
        match message.role {
            Role::System => push_text(&mut messages, ChatMessage::system, message),
            Role::User => push_text(&mut messages, ChatMessage::user, message),
            Role::Assistant => {
                let results = after.iter().take_while(|message| message.role == Role::Tool);
                let results: Vec<&Message> = results.collect();
                rest = after.get(results.len()..).unwrap_or_default();
                assistant(&mut messages, message, &results);
            }
            // A result whose call is not right before it.
            Role::Tool => orphans(&mut messages, message, &[]),
        }
    }
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(request.system.clone());
    }
    if request.tools.is_empty() {
        return chat;
    }
    let tools = request.tools.iter().map(|tool| {
        let mut described = Tool::new(function_name(&tool.server, &tool.tool))
            .with_description(tool.description.clone());
        if let Ok(schema) = serde_json::from_str(&tool.schema) {
            described = described.with_schema(schema);
        }
        described
    });
    chat.with_tools(tools.collect::<Vec<_>>())
}

/// An assistant's message with its calls, and a result for every call.
fn assistant(messages: &mut Vec<ChatMessage>, message: &Message, results: &[&Message]) {
    let calls: Vec<&ToolCall> = message.tool_calls().collect();
    if calls.is_empty() {
        push_text(messages, ChatMessage::assistant, message);
        results.iter().for_each(|result| orphans(messages, result, &[]));
        return;
    }
    let text = shown(message);
    let text = (!text.is_empty()).then_some(ContentPart::Text(text));
    let parts = calls.iter().map(|call| {
        ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: call.id.clone(),
            fn_name: function_name(&call.server, &call.tool),
            // What is no JSON goes as a JSON string: providers want JSON.
            fn_arguments: serde_json::from_str(&call.arguments)
                .unwrap_or_else(|_| Value::String(call.arguments.clone())),
            thought_signatures: None,
        })
    });
    let parts: Vec<ContentPart> = text.into_iter().chain(parts).collect();
    messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
    for call in &calls {
        let texts = results.iter().flat_map(|message| tool_results(message));
        let own = texts.filter(|result| result.call_id == call.id);
        let own: Vec<&str> = own.map(|result| result.text.as_str()).collect();
        let text = if own.is_empty() { NO_RESULT.to_owned() } else { own.join("\n") };
        messages.push(ToolResponse::new(call.id.clone(), text).into());
    }
    results.iter().for_each(|result| orphans(messages, result, &calls));
}

/// Tells in words what a tool said without one of `calls` having asked.
fn orphans(messages: &mut Vec<ChatMessage>, message: &Message, calls: &[&ToolCall]) {
    let called = |result: &&ToolResult| !calls.iter().any(|call| call.id == result.call_id);
    for result in tool_results(message).filter(called).filter(|result| !result.text.is_empty()) {
        messages.push(ChatMessage::user(format!("[A tool answered: {}]", result.text)));
    }
}

fn tool_results(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    })
}

fn push_text(messages: &mut Vec<ChatMessage>, make: fn(String) -> ChatMessage, message: &Message) {
    let text = shown(message);
    if !text.is_empty() {
        messages.push(make(text));
    }
}

/// The text, with a word in the place of what can't be sent.
fn shown(message: &Message) -> String {
    let piece = |part: &Part| match part {
        Part::Text { text } => Some(text.clone()),
        Part::Image(reference) => Some(format!("[image: {}]", name(reference))),
        Part::File(reference) => Some(format!("[file: {}]", name(reference))),
        Part::Other { kind, .. } => Some(format!("[{kind}]")),
        Part::Reasoning { .. } | Part::ToolCall(_) | Part::ToolResult(_) => None,
    };
    message.parts.iter().filter_map(piece).collect::<Vec<_>>().join("\n")
}

fn name(reference: &scripta_events::domain::Reference) -> &str {
    reference.name.as_deref().unwrap_or(&reference.target)
}

/// The name of a tool, in the letters that providers take.
fn function_name(server: &str, tool: &str) -> String {
    // A tool that a model made up has no server: it keeps the name that the model gave it.
    let name = if server.is_empty() { tool.to_owned() } else { tool_name(server, tool) };
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    name.chars().map(letter).take(MAX_FUNCTION_NAME).collect()
}
