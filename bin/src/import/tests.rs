//! Imports into a data folder of their own.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use scripta_actors::demo::Demo;
use scripta_actors::{Branch, BranchKey, Chat};
use scripta_events::domain::{BranchId, ChatId, ImportSource, MessageId};
use serde_json::json;

use super::*;
use crate::data::DataFolder;

/// Nodes as `(id, parent, role)`; the text of a message is its id.
fn export(id: &str, current: &str, nodes: &[(&str, &str, &str)]) -> Value {
    let mut mapping = serde_json::Map::new();
    mapping.insert("root".to_owned(), json!({ "message": null, "parent": null }));
    for (node, parent, role) in nodes {
        let content = json!({ "content_type": "text", "parts": [node] });
        let message = json!({ "author": { "role": role }, "content": content });
        mapping.insert((*node).to_owned(), json!({ "message": message, "parent": parent }));
    }
    json!({ "id": id, "title": "A\ntitle", "mapping": mapping, "current_node": current })
}

struct Bench {
    engine: Engine,
    importer: Importer,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::at(folder.path());
        let engine = Engine::open(&data, Arc::new(Demo)).await.unwrap();
        let importer = Importer::new(&engine, Actor::User, "Old talks").await.unwrap();
        Bench { engine, importer, _folder: folder }
    }

    async fn import(&self, text: String) -> Outcome<Report> {
        let input = std::io::Cursor::new(text.into_bytes());
        self.importer.file("export.json", input, Box::new(Silent)).await
    }

    async fn take(&self, conversations: &[Value]) -> Report {
        self.import(json!(conversations).to_string()).await.unwrap()
    }

    fn chat(&self, id: &str) -> ChatId {
        let source = ImportSource { format: chatgpt::FORMAT.to_owned(), id: id.to_owned() };
        ids::chat(self.importer.project(), &source)
    }

    async fn own(&self, chat: ChatId, branch: BranchId) -> Vec<MessageId> {
        let state = self.engine.handle.state::<Branch>(BranchKey { chat, branch }).await.unwrap();
        state.unwrap().messages.iter().map(|message| message.id).collect()
    }

    fn head(&self) -> u64 {
        self.engine.store.log.head().borrow().0
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_export_adds_only_what_is_new() {
    let bench = Bench::new().await;
    let old = [("u", "root", "user"), ("a1", "u", "assistant"), ("a2", "u", "assistant")];
    let report = bench.take(&[export("c", "a1", &old)]).await;
    assert_eq!((report.branches, report.messages), (2, 3));
    assert_eq!(report.parts["text"], 3);
    let head = bench.head();
    let report = bench.take(&[export("c", "a1", &old)]).await;
    assert_eq!((report.conversations.unchanged, bench.head()), (1, head));

    // One branch goes on, the person now stands on a third one, and a second root appears.
    let mut new = old.to_vec();
    new.extend([("u2", "a2", "user"), ("a3", "u", "assistant"), ("v", "root", "user")]);
    let report = bench.take(&[export("c", "a3", &new)]).await;
    assert_eq!(report.conversations.extended, 1);
    assert_eq!((report.branches, report.messages), (2, 3));
    let chat = bench.chat("c");
    let message = |node: &str| ids::message(chat, node);
    let state = bench.engine.handle.state::<Chat>(chat).await.unwrap().unwrap();
    assert_eq!(state.title, "A title");
    assert_eq!(state.branches.len(), 4);
    let first = bench.own(chat, chat.first_branch()).await;
    assert_eq!(first, [message("u"), message("a1")]);
    let second = bench.own(chat, ids::branch(chat, message("a2"))).await;
    assert_eq!(second, [message("a2"), message("u2")]);
    let third = ids::branch(chat, message("a3"));
    assert_eq!(state.branches[&third].after, Some(message("u")));
    let root = ids::branch(chat, message("v"));
    assert_eq!(state.branches[&root].after, None);
    let head = bench.head();
    bench.take(&[export("c", "a3", &new)]).await;
    assert_eq!(bench.head(), head);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_is_there_twice_is_written_once() {
    let bench = Bench::new().await;
    let short = [("u", "root", "user")];
    let long = [("u", "root", "user"), ("a", "u", "assistant")];
    let report = bench.take(&[export("c", "u", &short), export("c", "a", &long)]).await;
    assert_eq!((report.conversations.added, report.conversations.extended), (1, 1));
    assert_eq!((report.branches, report.messages), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_conversation_is_reported_and_nothing_is_no_success() {
    let bench = Bench::new().await;
    let good = export("good", "u", &[("u", "root", "user")]);
    let bad = json!({ "title": "Bad one", "mapping": 7 });
    let report = bench.take(&[bad.clone(), good.clone(), export("none", "root", &[])]).await;
    let counts = &report.conversations;
    assert_eq!((counts.added, counts.empty, counts.failed), (1, 1, 1));
    assert!(report.failures[0].id.contains("Bad one"), "{:?}", report.failures);
    // What stands before a torn end is in, and the end is reported.
    let whole = json!([export("fine", "u", &[("u", "root", "user")])]).to_string();
    let report = bench.import(format!("{},{{", whole.trim_end_matches(']'))).await.unwrap();
    assert_eq!((report.conversations.added, report.conversations.failed), (1, 1));
    for nothing in ["[]".to_owned(), json!([bad]).to_string(), "Dear diary".to_owned()] {
        let failure = bench.import(nothing).await.unwrap_err();
        assert!(failure.to_string().starts_with("export.json"), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_found_by_name_and_by_id_and_made_once() {
    let bench = Bench::new().await;
    let project = bench.importer.project();
    for name in ["Old talks".to_owned(), project.to_string()] {
        let again = Importer::new(&bench.engine, Actor::User, &name).await.unwrap();
        assert_eq!(again.project(), project);
    }
    let nobody = uuid::Uuid::nil().to_string();
    let refused = Importer::new(&bench.engine, Actor::User, &nobody).await;
    assert!(refused.err().unwrap().to_string().contains("no project"));
}
