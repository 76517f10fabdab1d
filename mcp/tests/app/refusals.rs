//! Every refusal is one sentence that says what would be right.

use serde_json::json;

use crate::world::{call, text, try_call, world};

const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

#[tokio::test]
async fn wrong_changes_are_refused_with_a_sentence() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let documents = [
        ("app_projects", json!({})),
        ("app_projects", json!({ "operation": "Destroy" })),
        ("app_projects", json!({ "operation": "Delete", "projectId": project })),
        ("app_projects", json!({ "operation": "Create" })),
        ("app_projects", json!({ "operation": "Create", "name": "" })),
        ("app_projects", json!({ "operation": "Create", "name": " " })),
        ("app_projects", json!({ "operation": "Create", "name": 7 })),
        ("app_projects", json!({ "operation": "Create", "name": null })),
        ("app_projects", json!({ "operation": "Create", "name": "n".repeat(201) })),
        ("app_projects", json!({ "operation": "Create", "name": "N", "directories": ["here"] })),
        ("app_projects", json!({ "operation": "Create", "name": "N", "directories": "here" })),
        ("app_projects", json!({ "operation": "Create", "name": "N", "dryRun": true })),
        ("app_projects", json!({ "operation": "Create", "name": "N", "operationId": "1" })),
        ("app_projects", json!({ "operation": "Create", "name": "N", "colour": "red" })),
        ("app_chats", json!({ "operation": "Create" })),
        ("app_chats", json!({ "operation": "Create", "projectId": NOBODY })),
        ("app_chats", json!({ "operation": "Create", "projectId": "Work" })),
        ("app_chats", json!({ "operation": "Create", "projectId": project, "chatId": NOBODY })),
        (
            "app_chats",
            json!({ "operation": "Create", "projectId": project, "connectionId": "no-such" }),
        ),
        ("app_chats", json!({ "operation": "Rename", "chatId": NOBODY, "title": "T" })),
        (
            "app_chats",
            json!({
                "operation": "Rename", "chatId": NOBODY, "title": "T", "expectedRevision": 1,
            }),
        ),
        ("app_chats", json!({ "operation": "Rename", "chatId": NOBODY, "expectedRevision": -1 })),
    ];
    let mut told = Vec::new();
    for (tool, arguments) in documents.into_iter().chain(wrong_runs(&chat)) {
        let shown = arguments.to_string().replace(&project, "<project>").replace(&chat, "<chat>");
        let shown = shown.replace(&"n".repeat(201), "nnn…");
        let answer = world.rejected(tool, arguments).await;
        assert_eq!(answer["status"], "Refused", "{shown}");
        let phrase = answer["phrase"].as_str().unwrap().to_owned();
        told.push(format!("{tool} {shown}\n  {phrase}"));
    }
    insta::assert_snapshot!(told.join("\n"));
}

fn wrong_runs(chat: &str) -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("app_runs", json!({ "operation": "Submit", "chatId": chat })),
        ("app_runs", json!({ "operation": "Submit", "text": "Hi" })),
        ("app_runs", json!({ "operation": "Submit", "text": "", "chatId": chat })),
        ("app_runs", json!({ "operation": "Submit", "text": "Hi", "chatId": NOBODY })),
        ("app_runs", json!({ "operation": "Submit", "text": "Hi", "branchId": NOBODY })),
        ("app_runs", json!({ "operation": "Submit", "text": "Hi", "chatId": chat, "title": "T" })),
        (
            "app_runs",
            json!({ "operation": "Submit", "text": "Hi", "chatId": chat, "mode": "Sideways" }),
        ),
        (
            "app_runs",
            json!({ "operation": "Submit", "text": "Hi", "chatId": chat, "waitTimeoutMs": 10 }),
        ),
        (
            "app_runs",
            json!({
                "operation": "Submit", "text": "Hi", "chatId": chat, "mode": "Fork",
                "fromMessageId": NOBODY,
            }),
        ),
        ("app_runs", json!({ "operation": "Stop", "chatId": chat })),
        ("app_runs", json!({ "operation": "Stop", "branchId": NOBODY })),
        ("app_runs", json!({ "operation": "Stop", "branchId": chat, "dryRun": true })),
        ("app_runs", json!({ "operation": "SkipFailed", "branchId": chat })),
        ("app_runs", json!({ "operation": "SkipFailed", "chatId": chat })),
        ("app_runs", json!({ "operation": "Resume", "branchId": chat })),
        ("app_runs", json!({ "operation": "Rebase", "branchId": chat })),
        (
            "app_runs",
            json!({ "operation": "UpdateQueued", "branchId": chat, "messageId": NOBODY, "text": "T" }),
        ),
        ("app_runs", json!({ "operation": "RemoveQueued", "branchId": chat, "messageId": NOBODY })),
        ("app_runs", json!({ "operation": "ClearQueue", "branchId": chat, "dryRun": true })),
        ("app_runs", json!({ "operation": "MarkRead", "branchId": chat, "messageId": NOBODY })),
        (
            "app_runs",
            json!({ "operation": "Submit", "text": "Hi", "chatId": chat, "presetIds": [NOBODY] }),
        ),
        (
            "app_runs",
            json!({
                "operation": "Submit", "text": "Hi", "chatId": chat, "resourceIds": [NOBODY],
            }),
        ),
        (
            "app_runs",
            json!({
                "operation": "Submit", "text": "Hi", "chatId": chat, "mode": "Aside",
                "onlyIfHead": NOBODY,
            }),
        ),
    ]
}

#[tokio::test]
async fn wrong_reads_are_refused_with_a_sentence() {
    let world = world().await;
    let first = world.project("Work").await;
    let second = world.project("Home").await;
    let chat = world.chat(&first, "Notes").await;
    let other = world.chat(&first, "More").await;
    let table = [
        json!({}),
        json!({ "resource": "Everything" }),
        json!({ "resource": "Projects", "limit": 0 }),
        json!({ "resource": "Projects", "limit": 1001 }),
        json!({ "resource": "Projects", "limit": "5" }),
        json!({ "resource": "Projects", "chatId": chat }),
        json!({ "resource": "Projects", "asOf": 5 }),
        json!({ "resource": "Projects", "asOf": "yesterday" }),
        json!({ "resource": "Chats", "projectId": NOBODY }),
        json!({ "resource": "Chat" }),
        json!({ "resource": "Chat", "chatId": NOBODY }),
        json!({ "resource": "Chat", "chatId": chat, "limit": 5 }),
        json!({ "resource": "Messages" }),
        json!({ "resource": "Messages", "chatId": NOBODY }),
        json!({ "resource": "Messages", "branchId": NOBODY }),
        json!({ "resource": "Messages", "chatId": other, "branchId": chat }),
        json!({ "resource": "Messages", "chatId": chat, "order": "Sideways" }),
        json!({ "resource": "Runs", "projectId": second, "chatId": chat }),
        json!({ "resource": "Runs", "order": "NewestFirst" }),
        json!({ "resource": "Search" }),
        json!({ "resource": "Search", "query": "" }),
        json!({ "resource": "Search", "query": "a(?=b)", "isRegex": true }),
        json!({ "resource": "Search", "query": "(?:\\w{200}){200}", "isRegex": true }),
        json!({ "resource": "Search", "query": "x", "roles": ["user"] }),
        json!({ "resource": "Search", "query": "x", "since": "yesterday" }),
        json!({ "resource": "Search", "query": "x", "chatId": NOBODY }),
    ];
    let mut told = Vec::new();
    for arguments in table {
        let named = |text: String| {
            text.replace(&first, "<first project>")
                .replace(&second, "<second project>")
                .replace(&chat, "<chat>")
                .replace(&other, "<other chat>")
        };
        let shown = named(arguments.to_string());
        told.push(format!("{shown}\n  {}", named(world.failed_read(arguments).await)));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn slips_are_repaired_on_their_way_in() {
    let world = world().await;
    let made = json!({
        "operation": "create", "name": "N", "directories": "[\"/srv/work\"]", "dryRun": false,
    });
    let made = world.ok("app_projects", made).await;
    assert_eq!(made["document"]["directories"], json!(["/srv/work"]));
    world.read(json!({ "resource": "PROJECTS" })).await;
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let world = world().await;
    let error = try_call(&world.client, "app_everything", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("there is no tool app_everything"), "{error}");
}

#[tokio::test]
async fn another_callers_operation_id_is_no_repeat() {
    let world = world().await;
    let make = json!({
        "operation": "Create", "name": "N", "operationId": uuid::Uuid::now_v7(),
    });
    world.ok("app_projects", make.clone()).await;
    let other = scripta_mcp::Caller::key("k1", scripta_mcp::Role::User);
    let client =
        crate::world::connect(&world.server.with_caller(other), crate::world::Era::Modern).await;
    let result = call(&client, "app_projects", make).await;
    assert_eq!(result.is_error, Some(true), "{}", text(&result));
}
