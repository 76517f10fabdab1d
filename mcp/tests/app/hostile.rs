//! Callers that mean no good, or mean well and send what they should not.

use futures::future::join_all;
use scripta_events::domain::{ChatId, RunId};
use scripta_events::log::{Append, Commit, EventData, Expectation};
use scripta_events::{EventType, Fingerprint, OperationId};
use scripta_mcp::Caller;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::world::{Era, World, call, connect, ids, text, world};

async fn chat(world: &World) -> String {
    let project = world.project("Work").await;
    world.chat(&project, "Notes").await
}

fn submit(chat: &str, text: &str) -> Value {
    json!({ "operation": "Submit", "chatId": chat, "text": text })
}

#[tokio::test]
async fn any_text_is_kept_as_it_is_and_found() {
    let world = world().await;
    let chat = chat(&world).await;
    let texts = [
        "nul \0 inside",
        "right to left \u{202e}txet\u{202c} and עברית",
        "joined \u{1f469}\u{200d}\u{1f4bb}, noncharacter \u{ffff}, last \u{10ffff}",
        "line\u{2028}paragraph\u{2029}, \r\n and \t",
        "combining e\u{301}\u{301}\u{301}",
    ];
    for text in texts {
        world.submit(&chat, text).await;
        let query = json!({ "resource": "Search", "query": text, "roles": ["User"] });
        let found = world.read(query).await;
        assert_eq!(found["items"].as_array().unwrap().len(), 1, "{text:?}");
    }
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let said: Vec<_> =
        history["items"].as_array().unwrap().iter().map(|it| &it["parts"][0]["text"]).collect();
    for text in texts {
        assert!(said.contains(&&json!(text)), "{text:?}");
    }
}

#[tokio::test]
async fn names_that_would_break_a_list_are_refused() {
    let world = world().await;
    for name in ["a\0b", "a\nb", "a\u{85}b", "\u{7f}"] {
        let made = json!({ "operation": "Create", "name": name });
        let refused = world.rejected("app_projects", made).await;
        assert!(refused["phrase"].as_str().unwrap().contains("control characters"), "{refused}");
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_with_both_figures() {
    let world = world().await;
    let chat = chat(&world).await;
    let refused = world.rejected("app_runs", submit(&chat, &"x".repeat(5_000_000))).await;
    assert_eq!(refused["phrase"], "`text` has 5000000 bytes; at most 4194304 are allowed");
    let long = json!({ "resource": "Search", "query": "x".repeat(5_000) });
    let told = world.failed_read(long).await;
    assert!(told.contains("at most 4096 characters"), "{told}");
    let cursor = json!({ "resource": "Chats", "cursor": "A".repeat(1_000_000) });
    assert!(world.failed_read(cursor).await.contains("begin again"));
}

#[tokio::test]
async fn numbers_mean_the_same_however_they_are_written() {
    let world = world().await;
    let chat = chat(&world).await;
    let rename = |revision: Value| json!({ "operation": "Rename", "chatId": chat, "title": "T", "expectedRevision": revision });
    for wrong in [json!(1.5), json!(-1), json!("1"), json!(1e300)] {
        let refused = world.rejected("app_chats", rename(wrong.clone())).await;
        assert_eq!(refused["status"], "Refused", "{wrong}");
    }
    world.ok("app_chats", rename(json!(1.0))).await;
    world.read(json!({ "resource": "Chats", "limit": 1.0 })).await;
}

#[tokio::test]
async fn a_stream_outlives_lines_that_are_no_requests() {
    let world = world().await;
    let (client_end, server_end) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(server_end);
    let server = world.server.clone();
    let served = tokio::spawn(async move {
        server.serve_stream(read, write, Caller::person(), CancellationToken::new()).await
    });
    let (read, mut write) = tokio::io::split(client_end);
    let mut lines = BufReader::new(read).lines();
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "t", "version": "1" } } });
    write.write_all(format!("{begin}\n").as_bytes()).await.unwrap();
    assert!(lines.next_line().await.unwrap().unwrap().contains("serverInfo"));
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    write.write_all(format!("{ready}\n").as_bytes()).await.unwrap();

    let list = |id: u32, argument: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"app_read","arguments":{{"resource":"Projects"{argument}}}}}}}"#
        )
    };
    let deep = format!(r#","cursor":{}{}"#, "[".repeat(100_000), "]".repeat(100_000));
    let hostile = ["{", "null", "[]", "\u{0}", &list(7, r#","cursor":"\ud800""#), &list(8, &deep)];
    for line in hostile {
        write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    write.write_all(format!("{}\n", list(9, "")).as_bytes()).await.unwrap();
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        if answer["id"] == 9 {
            assert_eq!(answer["result"]["isError"], false, "{answer}");
            break;
        }
        assert!(answer.get("error").is_some(), "{answer}");
    }
    drop((write, lines));
    served.await.unwrap().unwrap();
}

/// An event of a run that no program knows, as a later version may have written it.
async fn write_unknown(world: &World, chat: &str) {
    let chat: ChatId = chat.parse().unwrap();
    let event_type = EventType(0x7fff);
    let unknown = EventData { event_type, version: 1, codec: 1, payload: Default::default() };
    let append = Append {
        stream: RunId::random().stream(chat),
        expected: Expectation::NoStream,
        events: vec![unknown],
    };
    let commit = Commit {
        root: chat.root(),
        operation: OperationId::random(),
        fingerprint: Fingerprint::of(b"unknown"),
        appends: vec![append],
        checks: vec![],
        meta: Default::default(),
    };
    world.log.append(commit).await.unwrap();
}

#[tokio::test]
async fn a_projection_that_stopped_fails_only_the_reads_that_use_it() {
    let world = world().await;
    let chat = chat(&world).await;
    world.submit(&chat, "before").await;
    write_unknown(&world, &chat).await;
    for resource in ["Projects", "Chats"] {
        world.read(json!({ "resource": resource })).await;
    }
    world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let found = world.read(json!({ "resource": "Search", "query": "before" })).await;
    assert!(!found["items"].as_array().unwrap().is_empty());
    let told = world.failed_read(json!({ "resource": "Runs" })).await;
    assert!(told.contains("The runs projection stopped") && told.contains("0x7fff"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_operation_by_many_connections_takes_effect_once() {
    let world = world().await;
    let chat = chat(&world).await;
    let mut once = submit(&chat, "once");
    once["operationId"] = json!(Uuid::now_v7());
    once["wait"] = json!(true);
    let clients = join_all((0..8).map(|_| {
        let server = world.server.with_caller(Caller::person());
        async move { connect(&server, Era::Modern).await }
    }));
    let clients = clients.await;
    let answers = join_all(clients.iter().map(|client| call(client, "app_runs", once.clone())));
    let mut fresh = 0;
    for answer in answers.await {
        assert_eq!(answer.is_error, Some(false), "{}", text(&answer));
        let content = answer.structured_content.unwrap();
        assert_eq!(content["document"]["run"]["status"], "Completed", "{content}");
        fresh += usize::from(content["replayed"] == false);
    }
    assert_eq!(fresh, 1);
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    assert_eq!(ids(&history).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_races_with_the_end_of_a_turn_leaves_the_branch_idle() {
    let world = world().await;
    let chat = chat(&world).await;
    let stop = json!({ "operation": "Stop", "branchId": chat });
    for round in 0..40 {
        let mut waiting = submit(&chat, &format!("round {round}"));
        waiting["wait"] = json!(true);
        let (ended, _) =
            tokio::join!(world.ok("app_runs", waiting), world.ok("app_runs", stop.clone()));
        let status = ended["document"]["run"]["status"].as_str().unwrap();
        assert!(matches!(status, "Completed" | "Stopped"), "{ended}");
    }
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(read["items"][0]["branches"][0]["status"], "Idle");
    let runs = world.read(json!({ "resource": "Runs", "chatId": chat, "limit": 100 })).await;
    assert_eq!(runs["items"].as_array().unwrap().len(), 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundreds_of_branches_of_one_message_are_all_there() {
    const BRANCHES: usize = 200;
    let world = world().await;
    let chat = chat(&world).await;
    let first = world.submit(&chat, "the root").await;
    let fork = json!({
        "operation": "Submit", "mode": "Fork", "chatId": chat, "text": "another way",
        "fromMessageId": first["document"]["messageId"], "wait": true,
    });
    let forks = join_all((0..BRANCHES).map(|_| world.ok("app_runs", fork.clone()))).await;
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let branches = read["items"][0]["branches"].as_array().unwrap();
    assert_eq!(branches.len(), BRANCHES + 1);
    assert!(branches.iter().all(|branch| branch["status"] == "Idle"));
    let last = json!({ "resource": "Messages", "branchId": forks[7]["document"]["branchId"] });
    let history = world.read(last).await;
    assert_eq!(ids(&history).len(), 3);
    assert_eq!(history["items"][0]["id"], first["document"]["messageId"]);
}
