//! Secrets on the disk: there after a kill, and in nothing that the log or the output has.

use std::path::Path;

use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};
use serde_json::{Value, json};

use crate::says::read;

const SECRETS: [&str; 3] = ["pa55word-of-a-model", "pa55word-of-a-header", "pa55word-replaced"];

#[tokio::test]
async fn a_secret_survives_a_kill_and_is_in_no_file_and_no_output_as_text() {
    let data = DataFolder::new();
    // Libraries that see whole requests don't write them down, whatever is asked for.
    data.configure(r#"log = "debug,rmcp=trace,rmcp::service=trace,actix_http=trace""#);
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let set = json!({
        "operation": "SetConnection", "expectedRevision": 0,
        "connection": {
            "name": "mine", "provider": "OpenAi", "baseUrl": "http://127.0.0.1:9/v1", "model": "m",
            "enabled": true,
        },
    });
    let made = client.call("app_security", set).await.applied();
    let connection = made["document"]["id"].clone();
    let credential = |secret: &str| json!({ "operation": "SetCredential", "connectionId": connection, "secret": secret });
    client.call("app_security", credential(SECRETS[2])).await.applied();
    client.call("app_security", credential(SECRETS[0])).await.applied();
    let serve = json!({
        "operation": "SetToolServer", "expectedRevision": 0,
        "server": {
            "name": "other", "transport": "StreamableHttp", "url": "http://127.0.0.1:9/mcp",
            "headers": { "Authorization": SECRETS[1] }, "enabled": true,
        },
    });
    client.call("app_security", serve).await.applied();
    let wrong = json!({ "operation": "SetCredential", "connectionId": 7, "secret": SECRETS[0] });
    let told = client.call("app_security", wrong).await.refused(&["connectionId"]);
    assert!(!told.contains("pa55word"), "{told}");
    server.kill().await;

    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let settings = read(&client, json!({ "resource": "Settings" })).await;
    assert_eq!(settings[0]["connections"][0]["hasCredential"], true);
    let servers = settings[0]["toolServers"].as_array().unwrap();
    assert_eq!(servers.last().unwrap()["hasCredential"], true);
    assert!(!Value::from(settings).to_string().contains("pa55word"));
    let output = server.stop().await;
    assert!(!output.contains("pa55word"));
    nowhere_as_text(data.path());
}

fn nowhere_as_text(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            nowhere_as_text(&path);
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let has = |secret: &str| bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!SECRETS.iter().any(|secret| has(secret)), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn a_server_without_the_key_of_its_secrets_does_not_start() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let serve = json!({
        "operation": "SetToolServer", "expectedRevision": 0,
        "server": {
            "name": "other", "transport": "StreamableHttp", "url": "http://127.0.0.1:9/mcp",
            "headers": { "Authorization": SECRETS[1] }, "enabled": true,
        },
    });
    client.call("app_security", serve).await.applied();
    server.stop().await;
    std::fs::remove_file(data.path().join("secrets/key")).unwrap();
    let ended = data.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("restore") && ended.stderr.contains("secrets"),
        "{}",
        ended.stderr
    );
}
