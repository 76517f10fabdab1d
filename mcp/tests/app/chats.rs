//! Changes of chats and of the titles of branches.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{World, id, ids, named, world};

const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

/// Applied; repeated, replayed with the same answer and nothing written; the same id for something
/// else is refused, and so is a dry run.
async fn once(world: &World, tool: &str, mut arguments: Value, other: (&str, Value)) -> Value {
    arguments["operationId"] = json!(Uuid::now_v7());
    let first = world.ok(tool, arguments.clone()).await;
    assert_eq!((&first["status"], &first["replayed"]), (&json!("Applied"), &json!(false)));
    let head = *world.log.head().borrow();
    let again = world.ok(tool, arguments.clone()).await;
    assert_eq!(again["replayed"], true);
    for field in ["document", "phrase", "revision", "position"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    assert_eq!(*world.log.head().borrow(), head);
    let mut dry = arguments.clone();
    dry["dryRun"] = json!(true);
    world.rejected(tool, dry).await;
    arguments[other.0] = other.1;
    let reused = world.rejected(tool, arguments).await;
    assert!(reused["phrase"].as_str().unwrap().contains("other arguments"), "{reused}");
    first
}

async fn refused(world: &World, arguments: Value, word: &str) {
    let refused = world.rejected("app_chats", arguments).await;
    assert_eq!(refused["status"], "Refused", "{refused}");
    assert!(refused["phrase"].as_str().unwrap().contains(word), "{refused}");
}

#[tokio::test]
async fn pinned_chats_stand_first() {
    let world = world().await;
    let project = world.project("Work").await;
    let old = world.chat(&project, "Old").await;
    let middle = world.chat(&project, "Middle").await;
    let new = world.chat(&project, "New").await;
    let listed = async || ids(&world.read(json!({ "resource": "Chats" })).await);
    assert_eq!(listed().await, [new.clone(), middle.clone(), old.clone()]);

    let pin = |chat: &str, pinned: bool, revision: u64| {
        json!({
            "operation": "Pin", "chatId": chat, "pinned": pinned, "expectedRevision": revision,
        })
    };
    let pinned = once(&world, "app_chats", pin(&old, true, 1), ("pinned", json!(false))).await;
    insta::assert_json_snapshot!("pinned", named(&pinned));
    assert_eq!(listed().await, [old.clone(), new.clone(), middle.clone()]);
    let conflict = world.rejected("app_chats", pin(&old, false, 1)).await;
    assert_eq!((&conflict["status"], &conflict["revision"]), (&json!("Conflict"), &json!(2)));
    assert_eq!(conflict["document"]["pinned"], true);
    let again = world.ok("app_chats", pin(&old, true, 2)).await;
    assert_eq!((&again["revision"], &again["status"]), (&json!(2), &json!("Applied")));

    // Activity orders within the pinned and within the others; a page that began before stays.
    world.ok("app_chats", pin(&middle, true, 1)).await;
    let first = world.read(json!({ "resource": "Chats", "limit": 1 })).await;
    world.submit(&old, "Hello").await;
    world.ok("app_chats", pin(&new, true, 1)).await;
    assert_eq!(listed().await, [old.clone(), new.clone(), middle.clone()]);
    let rest = json!({ "resource": "Chats", "cursor": first["nextCursor"] });
    assert_eq!(ids(&world.read(rest).await), [old.clone(), new.clone()]);
    world.ok("app_chats", pin(&old, false, 2)).await;
    assert_eq!(listed().await, [new, middle, old.clone()]);

    refused(&world, pin(NOBODY, true, 1), "There is no chat").await;
    let mut foreign = pin(&old, true, 3);
    foreign["title"] = json!("T");
    refused(&world, foreign, "`title` does not belong to Pin").await;
}

#[tokio::test]
async fn a_chat_gets_another_endpoint() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let set = |connection: &str, revision: u64| {
        json!({
            "operation": "SetEndpoint", "chatId": chat, "connectionId": connection,
            "expectedRevision": revision,
        })
    };
    let demo = "builtin:demo";
    let answer = once(&world, "app_chats", set(demo, 1), ("connectionId", json!("other"))).await;
    insta::assert_json_snapshot!("endpoint_set", named(&answer));
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(read["items"][0]["connectionId"], demo);
    assert_eq!(read["items"][0]["revision"], 2);
    let conflict = world.rejected("app_chats", set(demo, 1)).await;
    assert_eq!(conflict["status"], "Conflict");
    let same = world.ok("app_chats", set(demo, 2)).await;
    assert_eq!(same["revision"], 2);
    refused(&world, set("no-such", 2), "no-such").await;
    let mut foreign = set(demo, 2);
    foreign["pinned"] = json!(true);
    refused(&world, foreign, "`pinned` does not belong to SetEndpoint").await;
    let mut nobody = set(demo, 2);
    nobody["chatId"] = json!(NOBODY);
    refused(&world, nobody, "There is no chat").await;
}

#[tokio::test]
async fn a_branch_gets_another_title() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "One").await;
    let fork = json!({
        "operation": "Submit", "mode": "Fork", "chatId": chat, "text": "Two", "wait": true,
    });
    let branch = id(&world.ok("app_runs", fork).await["document"]["branchId"]);
    let rename = |branch: &str, title: &str| json!({ "operation": "RenameBranch", "branchId": branch, "title": title });
    let answer =
        once(&world, "app_chats", rename(&branch, "Aside"), ("title", json!("Other"))).await;
    insta::assert_json_snapshot!("branch_renamed", named(&answer));
    world.ok("app_chats", rename(&chat, "Main")).await;
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let titles: Vec<&Value> =
        read["items"][0]["branches"].as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert_eq!(titles, ["Main", "Aside"]);
    assert_eq!(read["items"][0]["revision"], 1, "a branch's title is not the chat's document");
    refused(&world, rename(NOBODY, "T"), "There is no branch").await;
    let mut foreign = rename(&branch, "T");
    foreign["expectedRevision"] = json!(1);
    refused(&world, foreign, "`expectedRevision` does not belong to RenameBranch").await;
}
