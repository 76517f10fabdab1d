//! The tool sessions of runs, and the server on a byte stream.

use rmcp::ServiceExt;
use scripta_actors::{RunContext, ToolRequest, Toolbox};
use scripta_events::OperationId;
use scripta_events::domain::{BranchId, ChatId, RunId, Sender};
use scripta_mcp::{AppToolbox, Caller};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::world::{World, call, ids, world};

pub fn request(tool: &str, arguments: impl ToString) -> ToolRequest {
    ToolRequest {
        server: "app".to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.to_string(),
        before: 0,
        operation: OperationId::random(),
    }
}

pub async fn context(world: &World) -> (RunContext, String) {
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "Hello").await;
    (run_of(&project, &chat), chat)
}

/// A run of a chat's first branch.
pub fn run_of(project: &str, chat: &str) -> RunContext {
    RunContext {
        project: project.parse().unwrap(),
        chat: chat.parse::<ChatId>().unwrap(),
        branch: chat.parse::<BranchId>().unwrap(),
        run: RunId::random(),
        submitter: Sender::User,
        interactive: true,
    }
}

#[tokio::test]
async fn a_run_reads_and_an_omitted_id_means_its_own() {
    let world = world().await;
    let (run, chat) = context(&world).await;
    let session = world.toolbox.open(run).await.unwrap();
    let tools = session.tools();
    let names: Vec<(&str, bool)> =
        tools.iter().map(|tool| (tool.tool.as_str(), tool.read_only)).collect();
    assert_eq!(names.first(), Some(&("app_read", true)));
    assert!(names.iter().all(|(name, read_only)| *read_only == (*name == "app_read")), "{names:?}");
    assert!(tools.iter().all(|tool| tool.server == "app" && !tool.description.is_empty()));

    let never = CancellationToken::new;
    let own = session.call(request("app_read", r#"{"resource":"Messages"}"#), never()).await;
    assert!(!own.is_error, "{}", own.text);
    let page: Value = serde_json::from_str(own.structured.as_deref().unwrap()).unwrap();
    let same = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    assert_eq!(ids(&page), ids(&same));
    let own = session.call(request("app_read", r#"{"resource":"Chat"}"#), never()).await;
    assert!(own.text.contains(&chat));
}

#[tokio::test]
async fn what_changes_things_is_refused_in_words_for_the_model() {
    let world = world().await;
    let (run, _) = context(&world).await;
    let session = world.toolbox.open(run).await.unwrap();
    let head = *world.log.head().borrow();
    let never = CancellationToken::new;
    let change = r#"{"operation":"Create","name":"N"}"#;
    let mut told = Vec::new();
    for (tool, arguments) in [
        ("app_projects", change),
        ("app_everything", "{}"),
        ("app_read", "resource: Chats"),
        ("app_read", ""),
    ] {
        let outcome = session.call(request(tool, arguments), never()).await;
        assert!(outcome.is_error);
        told.push(format!("{tool} {arguments}\n  {}", outcome.text));
    }
    insta::assert_snapshot!(told.join("\n"));
    assert_eq!(*world.log.head().borrow(), head);
}

#[tokio::test]
async fn a_cancelled_call_ends_with_an_outcome() {
    let world = world().await;
    let (run, _) = context(&world).await;
    let session = world.toolbox.open(run).await.unwrap();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let outcome = session.call(request("app_read", r#"{"resource":"Chats"}"#), cancelled).await;
    // It may have been answered before it was cancelled; it never hangs.
    assert!(outcome.text.contains("stopped") || !outcome.is_error, "{}", outcome.text);
}

#[tokio::test]
async fn a_toolbox_without_a_server_says_so() {
    let world = world().await;
    let (run, _) = context(&world).await;
    let error = AppToolbox::new().open(run).await.err().unwrap();
    assert!(error.to_string().contains("starting or shutting down"), "{error}");
}

#[tokio::test]
async fn a_model_calls_a_tool_in_its_turn() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let submitted = world.submit(&chat, "Please list my chats").await;
    assert_eq!(submitted["document"]["run"]["status"], "Completed", "{submitted:#}");
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let roles: Vec<&str> = history["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["User", "Assistant", "Tool", "Assistant"], "{history:#}");
    let result = &history["items"][2]["parts"][0];
    assert_eq!(result["isError"], false, "{result:#}");
    assert!(result["text"].as_str().unwrap().contains(&chat));
}

#[tokio::test]
async fn a_stream_of_lines_is_served_until_its_end() {
    let world = world().await;
    let (client_end, server_end) = tokio::io::duplex(4096);
    let (read, write) = tokio::io::split(server_end);
    let server = world.server.clone();
    let served = tokio::spawn(async move {
        server.serve_stream(read, write, Caller::person(), CancellationToken::new()).await
    });
    let client = ().serve(client_end).await.unwrap();
    let made = call(&client, "app_projects", json!({ "operation": "Create", "name": "N" })).await;
    assert_eq!(made.is_error, Some(false));
    client.cancel().await.unwrap();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_stream_that_ends_before_it_begins_is_no_error() {
    let world = world().await;
    let (client_end, server_end) = tokio::io::duplex(64);
    drop(client_end);
    let (read, write) = tokio::io::split(server_end);
    let ended =
        world.server.serve_stream(read, write, Caller::person(), CancellationToken::new()).await;
    ended.unwrap();
}
