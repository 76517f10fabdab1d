//! `builtin:demo`: a model that needs no network and no key.
//!
//! It answers deterministically, says that it is a demo, and calls tools when it is told to in
//! plain words: `search for …` and `list my chats`. So everything can be tried offline.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use scripta_events::domain::{ConnectionId, Message, Part, Role, Usage};
use serde_json::json;

use crate::{ModelError, ModelEvent, ModelRequest, Models, tool_name};

/// The connection's name.
pub const CONNECTION: &str = "builtin:demo";

/// The most of a tool's result that the demo repeats, in characters (inclusive).
const MAX_REPEATED_CHARS: usize = 2_000;

/// The most of a message that the demo repeats, in characters (inclusive).
const MAX_QUOTED_CHARS: usize = 200;

/// The demo model, and the connections of a program that has no other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demo;

impl Models for Demo {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        match wanted {
            Some(other) if other.0 != CONNECTION => {
                let message = format!("there is no connection '{other}'; use '{CONNECTION}'");
                Err(ModelError::permanent(message))
            }
            _ => Ok((ConnectionId(CONNECTION.to_owned()), model.map(str::to_owned))),
        }
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::iter(answer(&request).into_iter().map(Ok)).boxed()
    }
}

fn answer(request: &ModelRequest) -> Vec<ModelEvent> {
    let last = request.messages.last();
    match last.map(|message| message.role) {
        Some(Role::Tool) => say(request, &after_tool(last)),
        _ => {
            let text: String = last.iter().flat_map(|message| message.texts()).collect();
            wish(&text)
                .map_or_else(|| say(request, &plain(&text)), |arguments| call(request, &arguments))
        }
    }
}

/// The arguments for `app_read` that the words ask for, if they do.
fn wish(text: &str) -> Option<serde_json::Value> {
    const SEARCH: &str = "search for ";
    // ASCII only, so that places in it are places in the text.
    let lower = text.to_ascii_lowercase();
    if lower.contains("list my chats") {
        return Some(json!({ "resource": "Chats" }));
    }
    let words = text.get(lower.find(SEARCH)? + SEARCH.len()..)?.lines().next()?.trim();
    let words = words.trim_end_matches(['.', '!', '?']).trim_matches(['"', '\'', '“', '”']);
    (!words.is_empty()).then(|| json!({ "resource": "Search", "query": words }))
}

fn call(request: &ModelRequest, arguments: &serde_json::Value) -> Vec<ModelEvent> {
    let (server, tool) = ("app", "app_read");
    let offered = request.tools.iter().any(|has| has.server == server && has.tool == tool);
    if !offered {
        return say(request, "This is the demo model. I would call app_read, but I don't have it.");
    }
    let arguments = arguments.to_string();
    // Unique within the branch, as most providers' are.
    let id = format!("demo_{}", request.messages.len());
    let call = ModelEvent::ToolCall { id, name: tool_name(server, tool), arguments };
    vec![
        ModelEvent::Text("This is the demo model. I call app_read.".to_owned()),
        call,
        done(request, 0),
    ]
}

fn after_tool(message: Option<&Message>) -> String {
    let parts = message.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.text.as_str()),
        _ => None,
    });
    let text = cut(&results.collect::<Vec<_>>().join("\n"), MAX_REPEATED_CHARS);
    format!("This is the demo model. The tool answered:\n{text}")
}

fn plain(text: &str) -> String {
    let quoted = cut(text, MAX_QUOTED_CHARS);
    format!(
        "This is the demo model: it needs no network and no key, and understands nothing. \
         You wrote: “{quoted}”. Try “search for …” or “list my chats”."
    )
}

/// The text word by word, as a model's would come.
fn say(request: &ModelRequest, text: &str) -> Vec<ModelEvent> {
    let words = text.split_inclusive(' ').map(|word| ModelEvent::Text(word.to_owned()));
    let mut events: Vec<_> = words.collect();
    events.push(done(request, text.split_whitespace().count()));
    events
}

/// Counts words where a provider would count tokens.
fn done(request: &ModelRequest, output: usize) -> ModelEvent {
    let words = |message: &Message| message.texts().flat_map(str::split_whitespace).count();
    let input: usize = request.messages.iter().map(words).sum();
    let usage = Usage { input: Some(input as u64), output: Some(output as u64) };
    ModelEvent::Done { usage: Some(usage) }
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn plain_words_are_taken_as_wishes() {
        let query =
            |text: &str| wish(text).map(|wish| wish["query"].as_str().unwrap_or("").to_owned());
        assert_eq!(query("Please search for \"blue whales\"."), Some("blue whales".to_owned()));
        assert_eq!(query("İ search for é, now"), Some("é, now".to_owned()));
        assert_eq!(query("search for   "), None);
        assert_eq!(query("hello"), None);
        assert_eq!(wish("List my chats!"), Some(json!({ "resource": "Chats" })));
    }
}
