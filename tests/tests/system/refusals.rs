//! Bad input: each refusal is one clear sentence, and nothing is half done.

use scripta_tests::mcp::{Client, Era, Raw};
use scripta_tests::server::{DataFolder, Server};
use serde_json::{Value, json};

use crate::says::{create_chat, create_project, ids, new_chat, operation, position, read, submit};

const NOWHERE: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

#[tokio::test]
async fn wrong_arguments_are_refused_by_name_and_write_nothing() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let project = create_project(&client, "Notes").await;
    let chat = create_chat(&client, &project, "First").await;
    let before = position(&client).await;
    for (tool, arguments, words) in wrong_calls(&project, &chat) {
        let text = client.call(tool, arguments.clone()).await.refused(words);
        for leak in ["panicked", "src/", ".rs:", "Error {", "missing field `"] {
            assert!(!text.contains(leak), "{leak:?} leaks from {arguments}: {text}");
        }
        assert!(text.lines().count() <= 2, "more than a sentence for {arguments}: {text}");
    }
    assert_eq!(position(&client).await, before, "nothing was written");
    server.stop().await;
}

/// Calls that are wrong in one way each, with what the refusal must name.
fn wrong_calls(project: &str, chat: &str) -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        ("app_projects", json!({}), &["operation"]),
        ("app_projects", json!({ "operation": "Create" }), &["name"]),
        ("app_projects", json!({ "operation": "Create", "name": "" }), &["name"]),
        ("app_projects", json!({ "operation": "Create", "name": 7 }), &["name"]),
        ("app_projects", json!({ "operation": "Destroy", "name": "X" }), &["operation", "Create"]),
        ("app_projects", json!({ "operation": "Create", "name": "X", "nam": 1 }), &["nam"]),
        (
            "app_projects",
            json!({ "operation": "Create", "name": "X", "dryRun": true }),
            &["dryRun"],
        ),
        (
            "app_projects",
            json!({ "operation": "Create", "name": "X", "operationId": "seven" }),
            &["operationId"],
        ),
        ("app_chats", json!({ "operation": "Create", "title": "X" }), &["projectId"]),
        ("app_chats", json!({ "operation": "Create", "projectId": NOWHERE }), &[NOWHERE]),
        ("app_chats", json!({ "operation": "Create", "projectId": "x" }), &["projectId"]),
        (
            "app_chats",
            json!({ "operation": "Create", "projectId": project, "connectionId": "no-such" }),
            &["no-such"],
        ),
        (
            "app_chats",
            json!({ "operation": "Create", "projectId": project, "expectedRevision": 1 }),
            &["expectedRevision"],
        ),
        (
            "app_chats",
            json!({ "operation": "Rename", "chatId": chat, "title": "X" }),
            &["expectedRevision"],
        ),
        (
            "app_chats",
            json!({ "operation": "Rename", "chatId": NOWHERE, "title": "X", "expectedRevision": 1 }),
            &[NOWHERE],
        ),
        ("app_runs", json!({ "operation": "Submit", "chatId": chat }), &["text"]),
        ("app_runs", json!({ "operation": "Submit", "text": "X" }), &["chatId"]),
        ("app_runs", json!({ "operation": "Submit", "chatId": NOWHERE, "text": "X" }), &[NOWHERE]),
        (
            "app_runs",
            json!({ "operation": "Submit", "chatId": chat, "text": "X", "mode": "Fork",
                "fromMessageId": NOWHERE }),
            &[NOWHERE],
        ),
        (
            "app_runs",
            json!({ "operation": "Submit", "chatId": chat, "text": "X", "fromMessageId": NOWHERE }),
            &["fromMessageId"],
        ),
        (
            "app_runs",
            json!({ "operation": "Submit", "chatId": chat, "text": "X", "wait": true,
                "waitTimeoutMs": 1 }),
            &["waitTimeoutMs", "1000"],
        ),
        ("app_runs", json!({ "operation": "Stop", "branchId": NOWHERE }), &[NOWHERE]),
        ("app_read", json!({}), &["resource"]),
        ("app_read", json!({ "resource": "Nothing" }), &["resource", "Projects"]),
        ("app_read", json!({ "resource": "Chat" }), &["chatId"]),
        ("app_read", json!({ "resource": "Chat", "chatId": NOWHERE }), &[NOWHERE]),
        ("app_read", json!({ "resource": "Messages" }), &["branchId"]),
        ("app_read", json!({ "resource": "Projects", "limit": 0 }), &["limit"]),
        ("app_read", json!({ "resource": "Projects", "limit": 1001 }), &["limit", "1000"]),
        ("app_read", json!({ "resource": "Projects", "cursor": "garbage" }), &["cursor"]),
        ("app_read", json!({ "resource": "Projects", "query": "X" }), &["query"]),
        ("app_read", json!({ "resource": "Search" }), &["query"]),
        ("app_read", json!({ "resource": "Search", "query": "" }), &["query"]),
        ("app_read", json!({ "resource": "Search", "query": "(", "isRegex": true }), &["("]),
        (
            "app_read",
            json!({ "resource": "Search", "query": "(?<=a)b", "isRegex": true }),
            &["look"],
        ),
    ]
}

/// Two common slips are repaired: JSON text for an object, and an enum value in another case.
#[tokio::test]
async fn common_slips_are_repaired() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let create = json!({ "operation": "create", "name": "Slips", "directories": "[\"/tmp\"]" });
    let made = client.call("app_projects", create).await.applied();
    assert_eq!(made["document"]["directories"], json!(["/tmp"]));
    assert_eq!(read(&client, json!({ "resource": "projects" })).await.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn an_operation_id_belongs_to_one_caller_tool_and_arguments() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let id = operation();
    let create = |name: &str| json!({ "operation": "Create", "name": name, "operationId": id });
    client.call("app_projects", create("One")).await.applied();
    client.call("app_projects", create("Two")).await.refused(&[&id]);
    let again = client.call("app_projects", create("One")).await.applied();
    assert_eq!(again["replayed"], true);

    // What was refused is not remembered: the id is still free.
    let chat = new_chat(&client).await;
    let id = operation();
    let rename = |revision: u64| {
        json!({ "operation": "Rename", "chatId": chat, "title": "Free", "operationId": id,
            "expectedRevision": revision })
    };
    client.call("app_chats", rename(9)).await.refused(&["Conflict"]);
    let renamed = client.call("app_chats", rename(1)).await.applied();
    assert_eq!(renamed["replayed"], false);
    let again = client.call("app_chats", rename(9)).await.applied();
    assert_eq!(again["replayed"], true, "the expected revision is not what makes it another");

    // A change that finds nothing to change is applied, and leaves its receipt.
    let same = client.call("app_chats", {
        json!({ "operation": "Rename", "chatId": chat, "title": "Free", "expectedRevision": 2 })
    });
    assert_eq!(same.await.applied()["revision"], 2);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_without_a_key_is_told_which_header_to_send() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    new_chat(&client).await;
    let visitor = Raw::visitor(&server);
    let arguments = json!({ "name": "app_read", "arguments": { "resource": "Projects" } });
    let response = visitor.respond("tools/call", arguments).await;
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(text.contains("X-API-Key") || text.contains("Authorization"), "{status} {text}");
    assert!(!text.contains("Notes"), "nothing is shown to a visitor: {text}");

    let http = reqwest::Client::new();
    for path in ["/api/chats/search?query=x", "/api/import"] {
        let url = format!("{}{path}", server.url);
        let request = if path.ends_with("import") { http.post(url) } else { http.get(url) };
        let response = request.header("X-API-Key", "scripta_wrong").send().await.unwrap();
        assert_eq!(response.status(), 401, "{path}");
    }
    server.stop().await;

    let server = Server::start_with(&data, &["--open"]).await;
    assert!(server.output().contains("--open"), "it says so at every start");
    let answer = Raw::visitor(&server).call("app_read", json!({ "resource": "Projects" })).await;
    assert_eq!(ids(&crate::says::items(&answer.ok())).len(), 1);
    server.stop().await;
}

/// A web page that points a name at this machine gets nowhere, with or without a key.
#[tokio::test]
async fn a_foreign_host_or_origin_is_refused() {
    let data = DataFolder::new();
    let server = Server::start_with(&data, &["--open"]).await;
    let http = reqwest::Client::new();
    for (header, value) in [("Host", "evil.example"), ("Origin", "http://evil.example")] {
        let request = http.post(format!("{}/mcp", server.url)).header(header, value);
        let request = request
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .body("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        let status = request.send().await.unwrap().status();
        assert!(status.as_u16() == 403 || status.as_u16() == 421, "{header}: {status}");
    }
    server.stop().await;
}

/// The protocol's own errors: an unknown tool, an unknown method, no JSON at all.
#[tokio::test]
async fn the_protocol_is_kept() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    for era in [Era::Modern, Era::Legacy] {
        let raw = Raw::connect(&server, era).await;
        let unknown = raw.call("app_nothing", json!({})).await;
        unknown.refused(&["app_nothing"]);
        let answer = raw.request("no/such-method", json!({})).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    let request = reqwest::Client::new()
        .post(format!("{}/mcp", server.url))
        .header("X-API-Key", &server.key)
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body("{nonsense");
    let response = request.send().await.unwrap();
    assert!(response.status().is_client_error(), "{}", response.status());
    server.stop().await;
}

/// The search of the command line and of HTTP finds what the tools find.
#[tokio::test]
async fn search_is_one_search() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    let sent = submit(&client, &chat, "A kingfisher, blue and quick.").await;
    let message = sent["document"]["messageId"].as_str().unwrap();
    let beside = data.run(&["search", "--json", "kingfisher, blue"]).expect_code(0);
    assert!(beside.stdout.contains(message), "{}", beside.stdout);
    let http = reqwest::Client::new();
    let url = format!("{}/api/chats/search?query=kingfisher,%20blue", server.url);
    let found = http.get(url).header("X-API-Key", &server.key).send().await.unwrap();
    assert_eq!(found.status(), 200);
    assert!(found.text().await.unwrap().contains(message));
    server.stop().await;
    let alone = data.run(&["search", "--json", "kingfisher, blue"]).expect_code(0);
    assert!(alone.stdout.contains(message), "{}", alone.stdout);
}
