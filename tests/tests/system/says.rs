//! The steps that the tests of conversations are made of.

use scripta_tests::mcp::Client;
use serde_json::{Value, json};
use uuid::Uuid;

/// A new operation id.
pub fn operation() -> String {
    Uuid::now_v7().to_string()
}

/// Creates a project; its id.
pub async fn create_project(client: &Client, name: &str) -> String {
    let made = client.call("app_projects", json!({ "operation": "Create", "name": name })).await;
    id_of(&made.applied()["document"])
}

/// Creates a chat; its id.
pub async fn create_chat(client: &Client, project: &str, title: &str) -> String {
    let arguments = json!({ "operation": "Create", "projectId": project, "title": title });
    id_of(&client.call("app_chats", arguments).await.applied()["document"])
}

/// Creates a project and a chat in it; the chat's id.
pub async fn new_chat(client: &Client) -> String {
    let project = create_project(client, "Notes").await;
    create_chat(client, &project, "First").await
}

/// Submits a message and waits until its turn has ended; the answer's content.
pub async fn submit(client: &Client, chat: &str, text: &str) -> Value {
    let arguments = json!({ "operation": "Submit", "chatId": chat, "text": text, "wait": true });
    client.call("app_runs", arguments).await.applied()
}

/// The items of one page.
pub async fn read(client: &Client, arguments: Value) -> Vec<Value> {
    items(&client.call("app_read", arguments).await.ok())
}

/// The history of a branch from its root to its head.
pub async fn history(client: &Client, branch: &str) -> Vec<Value> {
    let arguments = json!({ "resource": "Messages", "branchId": branch, "order": "OldestFirst",
        "limit": 1000 });
    read(client, arguments).await
}

/// The items of a page.
#[track_caller]
pub fn items(page: &Value) -> Vec<Value> {
    page["items"].as_array().unwrap_or_else(|| panic!("no page: {page}")).clone()
}

/// A document's id.
#[track_caller]
pub fn id_of(document: &Value) -> String {
    document["id"].as_str().unwrap_or_else(|| panic!("no id: {document}")).to_owned()
}

/// The ids of documents.
pub fn ids(documents: &[Value]) -> Vec<String> {
    documents.iter().map(id_of).collect()
}

/// The roles of messages.
pub fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

/// The text parts of a message, put together.
pub fn text_of(message: &Value) -> String {
    let parts = message["parts"].as_array().expect("a message has parts");
    parts
        .iter()
        .filter(|part| part["type"] == "Text")
        .map(|part| part["text"].as_str().unwrap())
        .collect()
}

/// The first part of this type in any of the messages.
#[track_caller]
pub fn part<'a>(messages: &'a [Value], kind: &str) -> &'a Value {
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.into_iter().find(|part| part["type"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// The position of the newest event that a read shows.
pub async fn position(client: &Client) -> u64 {
    let page = client.call("app_read", json!({ "resource": "Projects" })).await.ok();
    page["position"].as_u64().expect("a page has a position")
}
