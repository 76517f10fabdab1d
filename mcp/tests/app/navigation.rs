//! Showing something in the person's window.

use scripta_events::domain::RunId;
use scripta_mcp::{Caller, RunScope};
use serde_json::{Value, json};

use crate::contract::{NOBODY, refused};
use crate::turns::{TURN_BEGINS, held};
use crate::world::{Era, call, connect, id, text, world};

const TOOL: &str = "app_navigate";

#[tokio::test]
async fn a_window_is_told_the_latest_target_and_nothing_is_written() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let head = *world.log.head().borrow();
    let nobody = world.ok(TOOL, json!({ "projectId": project })).await;
    assert_eq!((&nobody["status"], &nobody["document"]["windows"]), (&json!("Applied"), &json!(0)));
    assert!(nobody["phrase"].as_str().unwrap().starts_with("No window is open"), "{nobody}");

    let mut window = world.server.navigation();
    assert!(!window.has_changed().unwrap(), "what was shown before is none of its matter");
    world.ok(TOOL, json!({ "projectId": project })).await;
    let shown = world.ok(TOOL, json!({ "projectId": project, "chatId": chat })).await;
    assert_eq!(shown["phrase"], "Showed chat 'Notes'");
    let target = window.borrow_and_update().unwrap();
    assert_eq!(target.project.to_string(), project);
    assert_eq!(target.chat.map(|chat| chat.to_string()), Some(chat.clone()));
    let branch = json!({ "projectId": project, "branchId": chat, "dryRun": false });
    let shown = world.ok(TOOL, branch).await;
    assert_eq!(shown["phrase"], "Showed a branch of chat 'Notes'");
    assert_eq!(shown["document"]["chatId"], json!(chat), "a window needs to know the chat");
    assert!(window.borrow_and_update().unwrap().chat.is_some());
    assert_eq!(*world.log.head().borrow(), head);
}

#[tokio::test]
async fn what_is_not_there_or_not_together_is_not_shown() {
    let world = world().await;
    let (project, other) = (world.project("Work").await, world.project("Other").await);
    let chat = world.chat(&project, "Notes").await;
    let window = world.server.navigation();
    for (arguments, word) in [
        (json!({ "projectId": NOBODY }), "There is no project"),
        (json!({ "projectId": other, "chatId": chat }), "does not belong to project"),
        (json!({ "projectId": project, "chatId": NOBODY }), "There is no chat"),
        (json!({ "projectId": project, "branchId": NOBODY }), "There is no branch"),
        (json!({ "chatId": chat }), "projectId"),
        (json!({ "projectId": project, "dryRun": true }), "no dry run"),
    ] {
        let told = refused(&world, TOOL, arguments.clone()).await;
        assert!(told.contains(word), "{arguments}: {told}");
    }
    let delete = json!({
        "operation": "Delete", "chatId": chat, "expectedRevision": 1, "dryRun": false,
    });
    world.ok("app_chats", delete).await;
    let told = refused(&world, TOOL, json!({ "projectId": project, "chatId": chat })).await;
    assert!(told.contains("was deleted"), "{told}");
    assert!(!window.has_changed().unwrap());
}

#[tokio::test]
async fn a_run_that_nobody_watches_shows_nothing() {
    let (world, _hold, chat) = held().await;
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let project = id(&read["items"][0]["projectId"]);
    let submit = |interactive: bool| {
        json!({
            "operation": "Submit", "chatId": chat, "mode": "Fork", "text": "Go",
            "interactive": interactive,
        })
    };
    let asked = json!({ "operation": "Submit", "chatId": chat, "text": "Hello" });
    let begun = world.ok("app_runs", asked).await;
    world.goes_on(&begun, TURN_BEGINS).await;
    for (interactive, word) in [(true, "No window is open"), (false, "Nobody watches this run")] {
        let forked = world.ok("app_runs", submit(interactive)).await;
        world.goes_on(&forked, TURN_BEGINS).await;
        let document = &forked["document"];
        let scope = RunScope {
            project: project.parse().unwrap(),
            chat: chat.parse().unwrap(),
            branch: id(&document["branchId"]).parse().unwrap(),
            run: id(&document["runId"]).parse::<RunId>().unwrap(),
        };
        let client = connect(&world.server.with_caller(Caller::run(scope)), Era::Modern).await;
        let answer = call(&client, TOOL, json!({ "projectId": project })).await;
        let told: Value = serde_json::from_str(&text(&answer)).unwrap();
        assert!(told["phrase"].as_str().unwrap().contains(word), "{told}");
    }
}
