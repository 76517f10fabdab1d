//! A long listing while others write: who is on its pages is fixed when the first one is read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripta_events::codec::Event;
use scripta_events::domain::{
    BranchEvent, BranchOpened, ChatCreated, ChatEvent, ChatId, ProjectId,
};
use scripta_events::log::{Append, Commit, EventData, Expectation};
use scripta_events::{Fingerprint, OperationId, StreamId};
use scripta_mcp::Caller;
use serde_json::json;

use crate::world::{Era, World, call, connect, id, ids, world};

const CHATS: usize = 5_000;

/// No divisor of their number.
const PAGE: usize = 7;

/// The most characters of a page of more than one item.
const BUDGET: usize = 262_144;

/// Makes chats by the events that the tool would write, which is faster.
async fn make_chats(world: &World, project: &str) -> BTreeSet<String> {
    let project: ProjectId = project.parse().unwrap();
    let mut made = BTreeSet::new();
    for number in 0..CHATS {
        let chat = ChatId::random();
        let created = ChatCreated {
            chat,
            project,
            title: format!("Chat {number}"),
            connection: None,
            model: None,
            source: None,
        };
        let branch = chat.first_branch();
        let opened = BranchOpened { branch, chat, project, fork: None, title: None };
        let append = |stream: StreamId, event: EventData| Append {
            stream,
            expected: Expectation::NoStream,
            events: vec![event],
        };
        let commit = Commit {
            root: chat.root(),
            operation: OperationId::random(),
            fingerprint: Fingerprint([0; 32]),
            appends: vec![
                append(chat.stream(), ChatEvent::from(created).encode().unwrap()),
                append(branch.stream(chat), BranchEvent::from(opened).encode().unwrap()),
            ],
            checks: vec![],
            meta: scripta_events::domain::Meta {
                actor: scripta_events::domain::Actor::User,
                correlation: None,
                causation: None,
            }
            .to_bytes()
            .unwrap(),
        };
        world.log.append(commit).await.unwrap();
        made.insert(chat.to_string());
    }
    made
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listing_is_whole_and_without_repetition_whatever_others_do() {
    let world = world().await;
    let project = world.project("Work").await;
    let old = make_chats(&world, &project).await;
    let done = Arc::new(AtomicBool::new(false));
    let client = connect(&world.server.with_caller(Caller::person()), Era::Legacy).await;
    let others = tokio::spawn(write_meanwhile(client, project, old.clone(), done.clone()));

    let mut query = json!({ "resource": "Chats", "limit": PAGE });
    let mut seen = BTreeSet::new();
    loop {
        let page = world.read(query.clone()).await;
        assert!(page["items"].as_array().unwrap().len() <= PAGE);
        assert!(page.to_string().len() <= BUDGET);
        for chat in ids(&page) {
            assert!(seen.insert(chat.clone()), "chat {chat} comes twice");
        }
        match page.get("nextCursor") {
            Some(cursor) => query["cursor"] = cursor.clone(),
            None => break,
        }
    }
    done.store(true, Ordering::Release);
    let (deleted, created) = others.await.unwrap();
    assert!(deleted.len() > 10 && created.len() > 10, "too little happened meanwhile");
    let missing: Vec<_> = old.difference(&seen).filter(|chat| !deleted.contains(*chat)).collect();
    assert!(missing.is_empty(), "{} chats are missing", missing.len());
    // What was made before the first page was read may be on it; nothing later is.
    let new: BTreeSet<_> = seen.difference(&old).cloned().collect();
    assert!(new.is_subset(&created) && new.len() < created.len());
}

/// Creates, renames and deletes until the listing is done; what was deleted and created.
async fn write_meanwhile(
    client: crate::world::Client,
    project: String,
    old: BTreeSet<String>,
    done: Arc<AtomicBool>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut deleted, mut created) = (BTreeSet::new(), BTreeSet::new());
    // From both ends, so that pages before and behind the reader change.
    let mut victims = old.iter().step_by(11);
    let mut renamed =
        old.iter().rev().step_by(13).filter(|chat| !old.iter().step_by(11).any(|it| it == *chat));
    while !done.load(Ordering::Acquire) {
        let make = json!({ "operation": "Create", "projectId": project, "title": "New" });
        let made = call(&client, "app_chats", make).await.structured_content.unwrap();
        created.insert(id(&made["document"]["id"]));
        if let Some(chat) = renamed.next() {
            let rename = json!({
                "operation": "Rename", "chatId": chat, "title": "Renamed", "expectedRevision": 1,
            });
            assert_eq!(call(&client, "app_chats", rename).await.is_error, Some(false));
        }
        if let Some(chat) = victims.next() {
            let delete = json!({
                "operation": "Delete", "chatId": chat, "expectedRevision": 1, "dryRun": false,
            });
            assert_eq!(call(&client, "app_chats", delete).await.is_error, Some(false));
            deleted.insert(chat.clone());
        }
    }
    (deleted, created)
}
