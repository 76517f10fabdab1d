//! `scripta mcp`: alone on its data folder, and beside a running server.

use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};
use serde_json::json;

use crate::conversation::converse;
use crate::says::{create_project, ids, read};

#[tokio::test]
async fn alone_it_opens_the_folder_itself() {
    let data = DataFolder::new();
    for era in [Era::Legacy, Era::Modern] {
        let client = Client::stdio(&data, era).await;
        converse(&client).await;
        client.close().await;
    }
    data.run(&["log", "verify"]).expect_code(0);
}

#[tokio::test]
async fn beside_a_server_it_attaches_to_it() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let http = Client::raw(&server, Era::Modern).await;
    for era in [Era::Legacy, Era::Modern] {
        let client = Client::stdio(&data, era).await;
        let project = create_project(&client, "Seen from both sides").await;
        let seen = ids(&read(&http, json!({ "resource": "Projects" })).await);
        assert!(seen.contains(&project), "what stdio wrote, HTTP reads");
        converse(&client).await;
        client.close().await;
    }
    server.stop().await;
    data.run(&["log", "verify"]).expect_code(0);
}

/// Two at once: each attaches, none locks the other out.
#[tokio::test]
async fn several_attach_at_once() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let first = Client::stdio(&data, Era::Legacy).await;
    let second = Client::stdio(&data, Era::Modern).await;
    let project = create_project(&first, "Shared").await;
    assert_eq!(ids(&read(&second, json!({ "resource": "Projects" })).await), [project]);
    first.close().await;
    second.close().await;
    server.stop().await;
}
