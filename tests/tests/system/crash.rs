//! `kill -9` under load: what was acknowledged is there, once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};
use serde_json::{Value, json};

use crate::says::{create_chat, create_project, id_of, items, operation, read, roles};

/// Clients that submit at once; enough that commits are grouped.
const WRITERS: usize = 8;
/// The server is killed when so many submits are acknowledged, with others under way.
const ACKNOWLEDGED: usize = 60;
/// How often it is killed and started again on the same folder.
const ROUNDS: usize = 3;

/// Submits that were acknowledged: the operation's id with the call's arguments.
type Acknowledged = Arc<Mutex<BTreeMap<String, Value>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_loses_nothing_that_was_acknowledged() {
    let data = DataFolder::new();
    let acknowledged = Acknowledged::default();
    let mut chats = Vec::new();
    for round in 0..ROUNDS {
        let server = Server::start(&data).await;
        if round == 0 {
            let client = Client::raw(&server, Era::Modern).await;
            let project = create_project(&client, "Under load").await;
            for number in 0..WRITERS {
                chats.push(create_chat(&client, &project, &format!("Chat {number}")).await);
            }
        }
        load(server, &chats, &acknowledged, (round + 1) * ACKNOWLEDGED).await;
        data.run(&["log", "verify"]).expect_code(0);
    }
    let server = Server::start(&data).await;
    let acknowledged = acknowledged.lock().unwrap().clone();
    check(&Client::raw(&server, Era::Modern).await, &chats, &acknowledged).await;
    server.stop().await;
    data.run(&["log", "verify"]).expect_code(0);
}

/// Submits from all writers at once, and kills the server when enough is acknowledged.
async fn load(server: Server, chats: &[String], acknowledged: &Acknowledged, enough: usize) {
    let mut writers = tokio::task::JoinSet::new();
    let counter = Arc::new(tokio::sync::Notify::new());
    for chat in chats {
        let client = connect(&server);
        let (chat, acknowledged, counter) =
            (chat.clone(), Arc::clone(acknowledged), Arc::clone(&counter));
        writers.spawn(async move {
            for number in 0.. {
                let id = operation();
                let submit = json!({ "operation": "Submit", "chatId": chat, "operationId": id,
                    "text": format!("Message {number} of {chat}") });
                let Some(status) = client.submit(&submit).await else { return };
                assert_eq!(status, "Applied");
                acknowledged.lock().unwrap().insert(id, submit);
                counter.notify_one();
            }
        });
    }
    loop {
        counter.notified().await;
        if acknowledged.lock().unwrap().len() >= enough {
            break;
        }
    }
    server.kill().await;
    while let Some(writer) = writers.join_next().await {
        writer.expect("a writer ends with the server");
    }
}

/// A client to whom a broken connection is no failure.
struct Submitter {
    http: reqwest::Client,
    url: String,
    key: String,
}

fn connect(server: &Server) -> Submitter {
    let url = format!("{}/mcp", server.url);
    Submitter { http: reqwest::Client::new(), url, key: server.key.clone() }
}

impl Submitter {
    /// The answer's status; `None` when the connection broke before a whole answer.
    async fn submit(&self, arguments: &Value) -> Option<String> {
        let own = |name: &str| format!("io.modelcontextprotocol/{name}");
        let meta = json!({ own("protocolVersion"): Era::Modern.version(),
            own("clientInfo"): { "name": "load", "version": "1" },
            own("clientCapabilities"): {} });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "app_runs", "arguments": arguments, "_meta": meta } });
        let request = self
            .http
            .post(&self.url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", Era::Modern.version())
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", "app_runs")
            .header("X-API-Key", &self.key)
            .body(body.to_string());
        let text = request.send().await.ok()?.text().await.ok()?;
        let json = text.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
        let answer: Value = serde_json::from_str(json.unwrap_or(&text)).ok()?;
        let status = answer["result"]["structuredContent"]["status"].as_str();
        Some(status.unwrap_or_else(|| panic!("not acknowledged: {answer}")).to_owned())
    }
}

/// Every acknowledged message is in its chat once, every repeat is told apart from a first, and
/// no run is stuck.
async fn check(client: &Client, chats: &[String], acknowledged: &BTreeMap<String, Value>) {
    for chat in chats {
        come_to_rest(client, chat).await;
    }
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for chat in chats {
        let messages = whole_history(client, chat).await;
        for (at, message) in messages.iter().enumerate() {
            let parent = at.checked_sub(1).map(|before| messages[before]["id"].clone());
            assert_eq!(message["parentId"], parent.unwrap_or_default(), "the chain is whole");
            *found.entry(id_of(message)).or_default() += 1;
        }
        let end = messages.get(messages.len() - 2..).unwrap_or_default();
        assert_eq!(roles(end), ["User", "Assistant"], "{end:#?}");
    }
    for (id, arguments) in acknowledged {
        assert_eq!(found.get(id), Some(&1), "message {id} of {arguments}");
    }
    for arguments in acknowledged.values().step_by(7) {
        let again = client.call("app_runs", arguments.clone()).await.applied();
        assert_eq!(again["replayed"], true, "{again}");
    }
    for chat in chats {
        let runs = read(client, json!({ "resource": "Runs", "chatId": chat, "limit": 1000 })).await;
        let at_rest =
            |run: &Value| ["Completed", "Failed"].contains(&run["status"].as_str().unwrap());
        assert!(runs.iter().all(at_rest), "{runs:?}");
        for run in runs.iter().filter(|run| run["status"] == "Failed") {
            let reason = run["error"].as_str().unwrap_or_default();
            assert!(reason.contains("restart"), "a failed run says why: {run}");
        }
    }
}

/// Submits one more message and waits until it is answered: then all that the kills left in the
/// queue has been. A turn that a kill interrupted has paused its branch.
async fn come_to_rest(client: &Client, chat: &str) {
    let last = json!({ "operation": "Submit", "chatId": chat, "text": "The last one.",
        "operationId": operation(), "wait": true });
    let answer = client.call("app_runs", last.clone()).await.applied();
    if answer["document"]["run"]["status"] != "Completed" {
        let skip = json!({ "operation": "SkipFailed", "branchId": chat });
        client.call("app_runs", skip).await.applied();
        let answer = client.call("app_runs", last).await.applied();
        assert_eq!(answer["document"]["run"]["status"], "Completed", "{answer}");
    }
}

/// All pages of a chat's history.
async fn whole_history(client: &Client, chat: &str) -> Vec<Value> {
    let mut arguments = json!({ "resource": "Messages", "branchId": chat,
        "order": "OldestFirst", "limit": 1000 });
    let mut messages = Vec::new();
    loop {
        let page = client.call("app_read", arguments.clone()).await.ok();
        messages.extend(items(&page));
        match page["nextCursor"].as_str() {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => return messages,
        }
    }
}

/// A change that was acknowledged before the kill answers the same afterwards.
#[tokio::test]
async fn a_repeat_after_a_kill_answers_what_the_first_answered() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let create = json!({ "operation": "Create", "name": "Kept", "operationId": operation() });
    let first = client.call("app_projects", create.clone()).await.applied();
    let project = id_of(&first["document"]);
    let chat = create_chat(&client, &project, "Kept too").await;
    let rename = json!({ "operation": "Rename", "chatId": chat, "title": "Renamed",
        "expectedRevision": 1, "operationId": operation() });
    let renamed = client.call("app_chats", rename.clone()).await.applied();
    let later = json!({ "operation": "Rename", "chatId": chat, "title": "Renamed again",
        "expectedRevision": 2 });
    client.call("app_chats", later).await.applied();
    server.kill().await;

    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Legacy).await;
    for (tool, arguments, first) in
        [("app_projects", create, first), ("app_chats", rename, renamed)]
    {
        let again = client.call(tool, arguments).await.applied();
        assert_eq!(again["replayed"], true);
        for field in ["document", "revision", "position", "phrase"] {
            assert_eq!(again[field], first[field], "{field}, as it was then");
        }
    }
    let chats = read(&client, json!({ "resource": "Chats" })).await;
    assert_eq!((chats.len(), &chats[0]["title"]), (1, &json!("Renamed again")));
    server.stop().await;
}
