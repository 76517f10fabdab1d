//! Small samples of what real exports contain.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use scripta_events::domain::{MessageStatus, Part, Role};
use serde_json::{Value, json};

use super::*;
use crate::import::tree::Reason;

fn message(role: &str, content: Value) -> Value {
    json!({"author": {"role": role}, "content": content, "recipient": "all", "metadata": {}})
}

fn text(role: &str, text: &str) -> Value {
    message(role, json!({"content_type": "text", "parts": [text]}))
}

/// A conversation that is one line of messages below a root without one.
fn line(messages: Vec<Value>) -> Conversation {
    let mut mapping = serde_json::Map::new();
    let last = messages.len();
    mapping.insert("n0".into(), json!({"message": null, "parent": null, "children": ["n1"]}));
    for (index, message) in messages.into_iter().enumerate() {
        let place = index + 1;
        let node = json!({
            "message": message,
            "parent": format!("n{index}"),
            "children": if place < last { vec![format!("n{}", place + 1)] } else { vec![] },
        });
        mapping.insert(format!("n{place}"), node);
    }
    let json = json!({
        "conversation_id": "c", "title": "T", "create_time": 1700000000.5,
        "mapping": mapping, "current_node": format!("n{last}"),
    });
    conversation(&json.to_string()).unwrap()
}

fn parts(conversation: &Conversation) -> Vec<Part> {
    conversation.tree.nodes.iter().flat_map(|node| node.draft.parts.clone()).collect()
}

#[test]
fn a_branched_conversation_has_every_branch() {
    let json = json!({
        "id": "c", "title": "  ", "create_time": null, "update_time": 5,
        "current_node": "a2",
        "mapping": {
            "root": {"message": null, "parent": null, "children": ["u"]},
            "u": {"message": text("user", "hi"), "parent": "root", "children": ["a1", "a2"]},
            "a1": {"message": text("assistant", "one"), "parent": "u", "children": []},
            "a2": {"message": text("assistant", "two"), "parent": "u", "children": []},
        }
    });
    let conversation = conversation(&json.to_string()).unwrap();
    assert_eq!(conversation.title, "Untitled");
    assert_eq!(conversation.tree.nodes.len(), 3);
    let segments = &conversation.tree.segments;
    let names: Vec<Vec<&str>> = segments
        .iter()
        .map(|segment| {
            segment.nodes.iter().map(|n| conversation.tree.nodes[*n].id.as_str()).collect()
        })
        .collect();
    assert_eq!(names, [vec!["u", "a2"], vec!["a1"]]);
    // No message has a time, so that they have the conversation's.
    let times = conversation.tree.nodes.iter().map(|node| node.draft.created_at.unwrap());
    assert!(times.into_iter().all(|time| time == Timestamp(5_000_000)));
}

#[test]
fn hidden_and_profile_and_empty_messages_are_no_messages() {
    let mut hidden = text("system", "secret instructions");
    hidden["metadata"]["is_visually_hidden_from_conversation"] = json!(true);
    let profile =
        message("user", json!({"content_type": "user_editable_context", "user_profile": "I am"}));
    let conversation = line(vec![hidden, profile, text("assistant", " "), text("user", "hello")]);
    assert_eq!(parts(&conversation), [Part::Text { text: "hello".into() }]);
    let reasons: Vec<_> = conversation.tree.skipped.iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [Reason::Hidden, Reason::Hidden, Reason::Empty]);
}

#[test]
fn a_tool_call_and_its_results_are_linked() {
    let mut call = message("assistant", json!({"content_type": "code", "text": "print(1)"}));
    call["recipient"] = json!("python");
    let output = message("tool", json!({"content_type": "execution_output", "text": "1\n"}));
    let picture = message(
        "tool",
        json!({"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
        ]}),
    );
    let conversation = line(vec![call, output, picture, text("assistant", "It is 1.")]);
    let parts = parts(&conversation);
    let Part::ToolCall(call) = &parts[0] else { panic!("{parts:?}") };
    assert_eq!((call.tool.as_str(), call.arguments.as_str()), ("python", "print(1)"));
    let results: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some((result.call_id.as_str(), result.text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(results, [("n1", "1\n"), ("n1", "")]);
    assert!(parts.iter().any(|part| matches!(part, Part::Image(_))));
    assert_eq!(conversation.tree.nodes[1].draft.role, Role::Tool);
}

#[test]
fn code_thoughts_pictures_and_files_become_parts() {
    let mut question = message(
        "user",
        json!({"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"},
            "What is this?",
            {"content_type": "audio_transcription", "text": "spoken"},
        ]}),
    );
    question["metadata"]["attachments"] = json!([
        {"id": "file-1", "name": "a.png", "mimeType": "image/png"},
        {"id": "file-2", "name": "b.pdf", "mime_type": "application/pdf"},
    ]);
    let thoughts = message(
        "assistant",
        json!({"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "C"}]}),
    );
    let mut code =
        message("assistant", json!({"content_type": "code", "language": "rust", "text": "x"}));
    code["metadata"]["model_slug"] = json!("gpt-5");
    code["status"] = json!("in_progress");
    let conversation = line(vec![question, thoughts, code]);
    let parts = parts(&conversation);
    assert!(matches!(&parts[0], Part::Image(image) if image.target == "file-service://file-1"));
    assert_eq!(parts[1], Part::Text { text: "What is this?".into() });
    assert_eq!(parts[2], Part::Text { text: "spoken".into() });
    assert!(matches!(&parts[3], Part::File(file) if file.name.as_deref() == Some("b.pdf")));
    assert_eq!(parts[4], Part::Reasoning { text: "S\n\nC".into() });
    assert_eq!(parts[5], Part::Text { text: "```rust\nx\n```".into() });
    let last = &conversation.tree.nodes[2].draft;
    assert_eq!(last.model.as_deref(), Some("gpt-5"));
    assert_eq!(last.status, MessageStatus::Stopped);
}

#[test]
fn an_unknown_kind_is_kept_as_it_is() {
    let recap = json!({"content_type": "reasoning_recap", "content": "Thought for 5s"});
    let conversation = line(vec![message("assistant", recap.clone())]);
    let parts = parts(&conversation);
    let Part::Other { kind, json } = &parts[0] else { panic!("{parts:?}") };
    assert_eq!(kind, "reasoning_recap");
    assert_eq!(serde_json::from_str::<Value>(json).unwrap(), recap);
    let empty = json!({"content_type": "model_editable_context", "model_set_context": ""});
    assert!(line(vec![message("assistant", empty)]).tree.nodes.is_empty());
}

#[test]
fn times_may_be_floats_text_null_or_nonsense() {
    let mut float = text("user", "a");
    float["create_time"] = json!(1_700_000_000.25);
    let mut written = text("user", "b");
    written["create_time"] = json!("1700000001");
    let mut nonsense = text("user", "c");
    nonsense["create_time"] = json!(-1e300);
    let conversation = line(vec![float, written, nonsense]);
    let times: Vec<_> =
        conversation.tree.nodes.iter().map(|node| node.draft.created_at.unwrap().0).collect();
    assert_eq!(times, [1_700_000_000_250_000, 1_700_000_001_000_000, 1_700_000_001_000_000]);
}

#[test]
fn duplicate_node_ids_are_seen() {
    let json = r#"{"id":"c","mapping":{
        "a":{"message":{"author":{"role":"user"},"content":{"parts":["first"]}}},
        "a":{"message":{"author":{"role":"user"},"content":{"parts":["second"]}}}}}"#;
    let conversation = conversation(json).unwrap();
    assert_eq!(parts(&conversation), [Part::Text { text: "first".into() }]);
    assert_eq!(conversation.tree.skipped, [("a".to_owned(), Reason::DuplicateId)]);
}

#[test]
fn what_is_no_conversation_is_said_to_be_none() {
    for json in ["{}", "3", r#"{"id":"c","mapping":null}"#, r#"{"uuid":"x","chat_messages":[]}"#] {
        let reason = conversation(json).unwrap_err();
        assert!(reason.contains("not a conversation"), "{reason}");
    }
    assert!(conversation(r#"{"mapping":{}}"#).unwrap_err().contains("neither an id"));
}
