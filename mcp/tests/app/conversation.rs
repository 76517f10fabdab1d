//! One conversation, from the first call to the search.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{Era, call, connect, id, ids, named, world};

#[tokio::test]
async fn a_conversation_from_end_to_end() {
    let world = world().await;
    let made = world.ok("app_projects", json!({ "operation": "Create", "name": "Work" })).await;
    insta::assert_json_snapshot!("project_created", named(&made));
    let project = id(&made["document"]["id"]);

    let create = json!({ "operation": "Create", "projectId": project, "title": "Notes" });
    let made = world.ok("app_chats", create).await;
    insta::assert_json_snapshot!("chat_created", named(&made));
    let chat = id(&made["document"]["id"]);

    let submitted = world.submit(&chat, "Good morning, zebra").await;
    insta::assert_json_snapshot!("submitted", named(&submitted));
    assert_eq!(submitted["document"]["run"]["status"], "Completed");
    assert_eq!(submitted["document"]["branchId"], json!(chat));

    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    insta::assert_json_snapshot!("messages", named(&history));
    let first_two = ids(&history);
    assert_eq!(first_two[0], id(&submitted["document"]["messageId"]));

    let fork = json!({
        "operation": "Submit", "mode": "Fork", "chatId": chat, "fromMessageId": first_two[0],
        "title": "Another way", "text": "And in the evening?", "wait": true,
    });
    let forked = world.ok("app_runs", fork).await;
    insta::assert_json_snapshot!("forked", named(&forked));
    let branch = id(&forked["document"]["branchId"]);
    assert_ne!(branch, chat);
    let chain = world.read(json!({ "resource": "Messages", "branchId": branch })).await;
    let chain_ids = ids(&chain);
    assert_eq!(chain_ids.len(), 3);
    assert_eq!(chain_ids[0], first_two[0], "a fork shares messages, it copies none");
    assert_eq!(chain["items"][1]["parentId"], json!(first_two[0]));

    let one = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    insta::assert_json_snapshot!("chat_read", named(&one));
    let runs = world.read(json!({ "resource": "Runs", "chatId": chat })).await;
    insta::assert_json_snapshot!("runs_read", named(&runs));
    let projects = world.read(json!({ "resource": "Projects" })).await;
    insta::assert_json_snapshot!("projects_read", named(&projects));

    let found = world.read(json!({ "resource": "Search", "query": "ZEBRA" })).await;
    insta::assert_json_snapshot!("found", named(&found));
    assert_eq!(found["items"][0]["messageId"], json!(first_two[0]));
}

#[tokio::test]
async fn a_stale_rename_gets_the_document_as_it_is() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "First").await;
    let rename = |title: &str, revision: u64| {
        json!({
            "operation": "Rename", "chatId": chat, "title": title, "expectedRevision": revision,
        })
    };
    let renamed = world.ok("app_chats", rename("Second", 1)).await;
    assert_eq!(renamed["revision"], 2);
    let conflict = world.rejected("app_chats", rename("Third", 1)).await;
    assert_eq!(conflict["status"], "Conflict");
    assert_eq!(conflict["document"]["title"], "Second");
    assert_eq!(conflict["revision"], 2);
    insta::assert_json_snapshot!("conflict", named(&conflict));
    // Messages don't move a chat's revision.
    world.submit(&chat, "Hello").await;
    let again = world.ok("app_chats", rename("Third", 2)).await;
    assert_eq!(again["document"]["title"], "Third");
}

#[tokio::test]
async fn a_repeat_by_operation_id_answers_what_the_first_answered() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let operation = Uuid::now_v7().to_string();

    let create = json!({
        "operation": "Create", "projectId": project, "title": "Once", "operationId": operation,
    });
    let first = world.ok("app_chats", create.clone()).await;
    let head = *world.log.head().borrow();
    let again = world.ok("app_chats", create.clone()).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"], first["document"]);
    assert_eq!(again["position"], first["position"]);
    assert_eq!(*world.log.head().borrow(), head);

    // The same id for something else is refused, and so is another caller's use of it.
    let mut other = create.clone();
    other["title"] = json!("Twice");
    let reused = world.rejected("app_chats", other).await;
    insta::assert_json_snapshot!("operation_reused", named(&reused));

    let message = Uuid::now_v7().to_string();
    let submit = json!({
        "operation": "Submit", "chatId": chat, "text": "Hi", "wait": true, "operationId": message,
    });
    let first = world.ok("app_runs", submit.clone()).await;
    assert_eq!(first["document"]["messageId"], json!(message));
    let head = *world.log.head().borrow();
    // By the branch's own id, without waiting, and in another spelling: the same operation.
    let repeat = json!({
        "operation": "submit", "branchId": chat.to_uppercase(), "text": "Hi", "mode": "Enqueue",
        "operationId": message,
    });
    let again = world.ok("app_runs", repeat).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"]["runId"], first["document"]["runId"]);
    let waited = world.ok("app_runs", submit).await;
    assert_eq!(waited["document"]["run"]["status"], "Completed");
    assert_eq!(*world.log.head().borrow(), head);
}

#[tokio::test]
async fn a_replayed_rename_shows_the_document_of_then() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "One").await;
    let rename = |title: &str, revision: u64| {
        json!({
            "operation": "Rename", "chatId": chat, "title": title, "expectedRevision": revision,
        })
    };
    let mut first = rename("Two", 1);
    first["operationId"] = json!(Uuid::now_v7());
    world.ok("app_chats", first.clone()).await;
    world.ok("app_chats", rename("Three", 2)).await;
    let again = world.ok("app_chats", first).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"]["title"], "Two");
    assert_eq!(again["revision"], 2);
}

#[tokio::test]
async fn a_change_that_finds_nothing_to_change_is_applied() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "One").await;
    let head = *world.log.head().borrow();
    let rename = json!({
        "operation": "Rename", "chatId": chat, "title": "One", "expectedRevision": 1,
    });
    let same = world.ok("app_chats", rename).await;
    assert_eq!(same["phrase"], "The chat was called 'One' already");
    assert_eq!(same["revision"], 1);
    assert_eq!(*world.log.head().borrow(), head);
}

#[tokio::test]
async fn a_repeated_fork_makes_no_second_branch() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "One").await;
    let fork = json!({
        "operation": "Submit", "mode": "Fork", "branchId": chat, "text": "Two",
        "operationId": Uuid::now_v7(), "wait": true,
    });
    let first = world.ok("app_runs", fork.clone()).await;
    let again = world.ok("app_runs", fork).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"], first["document"]);
    let chat = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(chat["items"][0]["branches"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn stopping_what_is_idle_is_applied() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "One").await;
    let stop = json!({ "operation": "Stop", "branchId": chat });
    let stopped = world.ok("app_runs", stop).await;
    insta::assert_json_snapshot!("stopped_idle", named(&stopped));
}

#[tokio::test]
async fn the_legacy_era_gets_the_same_answers() {
    let world = world().await;
    world.project("Work").await;
    let server = world.server.with_caller(scripta_mcp::Caller::person());
    let legacy = connect(&server, Era::Legacy).await;
    let read = json!({ "resource": "Projects" });
    let old = call(&legacy, "app_read", read.clone()).await;
    let new: Value = world.read(read).await;
    assert_eq!(old.structured_content.unwrap(), new);
}
