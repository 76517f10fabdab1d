//! One conversation from an MCP call to the disk and back, through every kind of client.

use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};
use serde_json::{Value, json};

use crate::says::{
    create_chat, create_project, history, id_of, ids, items, new_chat, operation, position, read,
    roles, submit, text_of,
};

#[tokio::test]
async fn a_conversation_over_raw_json_rpc_in_both_eras() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    for era in [Era::Modern, Era::Legacy] {
        converse(&Client::raw(&server, era).await).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_conversation_through_rmcps_client_in_both_eras() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    for era in [Era::Modern, Era::Legacy] {
        let client = Client::sdk(&server, era).await;
        converse(&client).await;
        client.close().await;
    }
    server.stop().await;
}

/// Everything that a person can do in the first version, in order.
pub async fn converse(client: &Client) {
    let tools = client.tools().await;
    for name in ["app_read", "app_chats", "app_runs", "app_projects"] {
        assert!(tools.iter().any(|tool| tool == name), "{name} is not among {tools:?}");
    }

    let project = create_project(client, "Birds").await;
    let chat = create_chat(client, &project, "Swifts").await;
    let first = submit(client, &chat, "Do swifts ever land?").await;
    assert_eq!(first["document"]["run"]["status"], "Completed", "{first}");
    let messages = history(client, &chat).await;
    assert_eq!(roles(&messages), ["User", "Assistant"]);
    assert_eq!(text_of(&messages[0]), "Do swifts ever land?");
    assert!(!text_of(&messages[1]).is_empty());
    assert_eq!(first["document"]["messageId"], messages[0]["id"]);
    assert_eq!(messages[1]["parentId"], messages[0]["id"]);

    fork(client, &chat, &messages).await;
    rename_stale(client, &chat).await;
    replay(client, &chat).await;
    search(client, &chat, &messages[0]).await;
    listings(client, &project, &chat).await;
}

/// Forks after the first message: the shared part has the same ids, and nothing is copied.
async fn fork(client: &Client, chat: &str, messages: &[Value]) {
    let arguments = json!({ "operation": "Submit", "mode": "Fork", "chatId": chat,
        "fromMessageId": messages[0]["id"], "title": "Another way", "text": "I mean at night.",
        "wait": true });
    let forked = client.call("app_runs", arguments).await.applied();
    assert_eq!(forked["document"]["chatId"], *chat);
    let branch = forked["document"]["branchId"].as_str().expect("a branch").to_owned();
    assert_ne!(branch, *chat);
    let chain = history(client, &branch).await;
    assert_eq!(roles(&chain), ["User", "User", "Assistant"]);
    assert_eq!(chain[0], messages[0], "the shared message is the same one");
    assert_eq!(chain[1]["parentId"], messages[0]["id"]);
    assert_eq!(chain[1]["branchId"], branch.as_str());
    assert_eq!(ids(&history(client, chat).await), ids(messages), "the parent is as it was");

    let listed = read(client, json!({ "resource": "Chat", "chatId": chat })).await;
    let branches = listed[0]["branches"].as_array().expect("a chat shows its branches");
    assert_eq!(branches.len(), 2);
    assert_eq!(branches[1]["title"], "Another way");
}

/// A stale revision writes nothing and shows the present document.
async fn rename_stale(client: &Client, chat: &str) {
    let rename = |title: &str, revision: u64| {
        json!({ "operation": "Rename", "chatId": chat, "title": title,
            "expectedRevision": revision })
    };
    let renamed = client.call("app_chats", rename("Common swifts", 1)).await.applied();
    assert_eq!((&renamed["revision"], &renamed["document"]["revision"]), (&json!(2), &json!(2)));
    let before = position(client).await;
    let stale = client.call("app_chats", rename("Too late", 1)).await;
    assert!(stale.is_error);
    assert_eq!(stale.content["status"], "Conflict", "{}", stale.content);
    assert_eq!(stale.content["revision"], 2);
    assert_eq!(stale.content["document"]["title"], "Common swifts");
    assert_eq!(position(client).await, before, "a conflict writes nothing");
}

/// The same operation twice: one effect, the same answer, and nothing written.
async fn replay(client: &Client, chat: &str) {
    let id = operation();
    let submit = json!({ "operation": "Submit", "chatId": chat, "text": "Once only.",
        "operationId": id, "wait": true });
    let first = client.call("app_runs", submit.clone()).await.applied();
    assert_eq!(first["replayed"], false);
    assert_eq!(first["document"]["messageId"], id.as_str(), "the message's id is the operation's");
    let before = (position(client).await, history(client, chat).await.len());
    let second = client.call("app_runs", submit.clone()).await.applied();
    assert_eq!(second["replayed"], true);
    assert_eq!(second["document"], first["document"]);
    assert_eq!((position(client).await, history(client, chat).await.len()), before);

    let mut other = submit;
    other["text"] = json!("Something else.");
    client.call("app_runs", other).await.refused(&[&id, "other arguments"]);
}

async fn search(client: &Client, chat: &str, first: &Value) {
    let hits =
        read(client, json!({ "resource": "Search", "query": "SWIFTS ever", "chatId": chat })).await;
    let asked: Vec<&Value> = hits.iter().filter(|hit| hit["role"] == "User").collect();
    assert_eq!(asked.len(), 1, "a shared message is found once: {hits:?}");
    assert_eq!(asked[0]["messageId"], first["id"]);
    assert_eq!(asked[0]["matchCount"], 1);
    let fragment = &asked[0]["fragment"];
    let found: String = fragment["text"]
        .as_str()
        .unwrap()
        .chars()
        .skip(fragment["start"].as_u64().unwrap() as usize)
        .take(fragment["length"].as_u64().unwrap() as usize)
        .collect();
    assert_eq!(found, "swifts ever");
}

async fn listings(client: &Client, project: &str, chat: &str) {
    let projects = read(client, json!({ "resource": "Projects" })).await;
    assert!(ids(&projects).contains(&project.to_owned()));
    let chats = read(client, json!({ "resource": "Chats", "projectId": project })).await;
    assert_eq!(ids(&chats), [chat]);
    let runs = read(client, json!({ "resource": "Runs", "chatId": chat })).await;
    assert_eq!(runs.len(), 3, "{runs:?}");
    assert!(runs.iter().all(|run| run["status"] == "Completed"), "{runs:?}");
}

/// Who is on the pages of a listing is fixed when the first is read.
#[tokio::test]
async fn pages_skip_nothing_and_show_nothing_twice() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    for number in 0..5 {
        submit(&client, &chat, &format!("Message {number}")).await;
    }
    let all = history(&client, &chat).await;
    assert_eq!(all.len(), 10);

    for (order, newest_first) in [("OldestFirst", false), ("NewestFirst", true)] {
        let first = json!({ "resource": "Messages", "branchId": chat, "order": order, "limit": 3 });
        let mut page = client.call("app_read", first.clone()).await.ok();
        assert_eq!(page["truncated"], true);
        submit(&client, &chat, &format!("Later, while reading {order}")).await;
        let mut pages = vec![items(&page)];
        while let Some(cursor) = page["nextCursor"].as_str() {
            let mut next = first.clone();
            next["cursor"] = json!(cursor);
            page = client.call("app_read", next).await.ok();
            pages.push(items(&page));
        }
        if newest_first {
            pages.reverse();
        }
        let seen: Vec<String> = pages.iter().flat_map(|page| ids(page)).collect();
        let expected = history(&client, &chat).await;
        let expected = &ids(&expected)[..expected.len() - 2];
        assert_eq!(seen, expected, "{order}");
    }

    let mut other = json!({ "resource": "Messages", "branchId": chat, "limit": 3 });
    let page = client.call("app_read", other.clone()).await.ok();
    other["resource"] = json!("Chats");
    other.as_object_mut().unwrap().remove("branchId");
    other["cursor"] = page["nextCursor"].clone();
    client.call("app_read", other).await.refused(&["cursor"]);
    server.stop().await;
}

/// A fresh data folder with `--demo` has something to look at, and a restart shows the same.
#[tokio::test]
async fn the_demo_fills_an_empty_folder_once() {
    let data = DataFolder::new();
    let server = Server::start_with(&data, &["--demo"]).await;
    let output = server.output();
    for shown in [server.url.as_str(), data.path().to_str().unwrap(), &server.key, "mcpServers"] {
        assert!(output.contains(shown), "{shown:?} is not printed:\n{output}");
    }
    let client = Client::raw(&server, Era::Modern).await;
    let projects = ids(&read(&client, json!({ "resource": "Projects" })).await);
    let chats = ids(&read(&client, json!({ "resource": "Chats" })).await);
    assert!(!projects.is_empty() && !chats.is_empty());
    server.stop().await;

    let server = Server::start_with(&data, &["--demo"]).await;
    let client = Client::raw(&server, Era::Modern).await;
    assert_eq!(ids(&read(&client, json!({ "resource": "Projects" })).await), projects);
    assert_eq!(ids(&read(&client, json!({ "resource": "Chats" })).await), chats);
    server.stop().await;
}

/// What is derived can be deleted: the next start rebuilds it from the log.
#[tokio::test]
async fn everything_but_the_log_can_be_rebuilt() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    submit(&client, &chat, "Remember the albatross.").await;
    let view = |client: Client| async move {
        let project = read(&client, json!({ "resource": "Projects" })).await;
        let query = json!({ "resource": "Search", "query": "albatross", "roles": ["User"] });
        let chats = read(&client, json!({ "resource": "Chats" })).await;
        let id = id_of(&chats[0]);
        (project, chats, history(&client, &id).await, read(&client, query).await)
    };
    let before = view(client).await;
    server.stop().await;
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() && entry.file_name() != "log" {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    let server = Server::start(&data).await;
    assert_eq!(view(Client::raw(&server, Era::Modern).await).await, before);
    server.stop().await;
}
