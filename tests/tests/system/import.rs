//! Bringing in a ChatGPT export.

use scripta_tests::export::{self, Conversation};
use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};
use serde_json::{Value, json};

use crate::says::{history, id_of, position, read, roles, text_of};

/// One question, two answers (the person asked again), and the talk going on after the second.
fn branched() -> Conversation {
    Conversation::new("11111111-aaaa-4bbb-8ccc-000000000001", "On owls")
        .say("u1", "root", "user", "Why do owls turn their heads?")
        .say("a1", "u1", "assistant", "Because their eyes are fixed.")
        .say("a2", "u1", "assistant", "Their eyes cannot move in their sockets.")
        .say("u2", "a2", "user", "How far?")
        .say("a3", "u2", "assistant", "Up to 270 degrees.")
}

#[tokio::test]
async fn a_branched_export_comes_in_whole_and_once() {
    let data = DataFolder::new();
    let folder = tempfile::tempdir().unwrap();
    let path = export::write(folder.path(), &[branched()]);
    let path = path.to_str().unwrap();
    let report = data.run(&["import", path, "--project", "Old talks", "--json"]).expect_code(0);
    assert!(report.stdout.contains('5'), "five messages are reported: {}", report.stdout);

    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    check_owls(&client).await;
    let before = position(&client).await;

    // Beside the running server, through it; and from the folder that the file lies in.
    data.run(&["import", path, "--project", "Old talks"]).expect_code(0);
    let folder = folder.path().to_str().unwrap();
    data.run(&["import", folder, "--project", "Old talks"]).expect_code(0);
    assert_eq!(position(&client).await, before, "a second import adds nothing");
    check_owls(&client).await;
    server.stop().await;

    data.run(&["import", path, "--project", "Old talks"]).expect_code(0);
    let found = data.run(&["search", "--json", "270 degrees"]).expect_code(0);
    assert_eq!(found.stdout.matches("messageId").count(), 1, "{}", found.stdout);
    data.run(&["log", "verify"]).expect_code(0);
}

async fn check_owls(client: &Client) {
    let chats = read(client, json!({ "resource": "Chats" })).await;
    assert_eq!(chats.len(), 1);
    assert_eq!(chats[0]["title"], "On owls");
    let chat = id_of(&chats[0]);
    let shown = read(client, json!({ "resource": "Chat", "chatId": chat })).await;
    let branches = shown[0]["branches"].as_array().expect("branches").clone();
    assert_eq!(branches.len(), 2, "the current path, and a fork for the other leaf: {shown:?}");
    let main = history(client, &chat).await;
    assert_eq!(roles(&main), ["User", "Assistant", "User", "Assistant"]);
    assert_eq!(text_of(&main[1]), "Their eyes cannot move in their sockets.");
    assert_eq!(text_of(&main[3]), "Up to 270 degrees.");
    let other = history(client, &id_of(&branches[1])).await;
    assert_eq!(roles(&other), ["User", "Assistant"]);
    assert_eq!(text_of(&other[1]), "Because their eyes are fixed.");
    assert_eq!(other[0]["id"], main[0]["id"], "the question is shared, not copied");
    assert_eq!(main[0]["createdAt"].as_str().map(|time| &time[..4]), Some("2023"), "{}", main[0]);
}

/// A newer export of the same conversation adds what is new.
#[tokio::test]
async fn a_newer_export_adds_what_is_new() {
    let data = DataFolder::new();
    let folder = tempfile::tempdir().unwrap();
    let import = |conversation: Conversation| {
        let path = export::write(folder.path(), &[conversation]);
        data.run(&["import", path.to_str().unwrap()]).expect_code(0)
    };
    import(branched());
    import(branched().say("u3", "a3", "user", "Thanks, owl expert."));
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chats = read(&client, json!({ "resource": "Chats" })).await;
    assert_eq!(chats.len(), 1, "{chats:?}");
    let texts: Vec<String> =
        history(&client, &id_of(&chats[0])).await.iter().map(text_of).collect();
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert_eq!(texts[4], "Thanks, owl expert.");
    server.stop().await;
}

/// One bad conversation is reported, and the rest goes in; a file that is no export is refused.
#[tokio::test]
async fn what_is_no_export_is_refused() {
    let data = DataFolder::new();
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("note.txt", "Dear diary"),
        ("object.json", "{\"some\": \"object\"}"),
        ("array.json", "[1, 2, 3]"),
        ("empty.json", ""),
        ("half.json", "[{\"mapping\": {"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let ended = data.run(&["import", path]);
        assert_ne!(ended.code, Some(0), "{name} was taken for an export: {}", ended.stdout);
        assert!(ended.stderr.contains(name), "{name} is not named: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
    data.run(&["import", "nowhere.json"]).expect_refusal(1, &["nowhere.json"]);

    let good = export::write(folder.path(), &[branched()]);
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(&good).unwrap()).unwrap();
    all.as_array_mut().unwrap().insert(0, json!({ "title": "Broken", "mapping": 7 }));
    std::fs::write(&good, all.to_string()).unwrap();
    let ended = data.run(&["import", good.to_str().unwrap()]);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains("Broken"), "{ended:?}");
    let found = data.run(&["search", "--json", "owls turn"]).expect_code(0);
    assert_eq!(found.stdout.matches("messageId").count(), 1, "{}", found.stdout);
}
