//! Reads of the past, and reads that wait.

use serde_json::{Value, json};

use crate::world::{World, id, world};

/// What was answered at a time, and to what.
struct Recorded {
    query: Value,
    answer: Value,
}

/// Reads everything there is, as it is now.
async fn record(world: &World, projects: &[String], chats: &[String], all: &mut Vec<Recorded>) {
    let mut queries = vec![
        json!({ "resource": "Projects" }),
        json!({ "resource": "Chats", "limit": 1_000 }),
        json!({ "resource": "Runs", "limit": 1_000 }),
        json!({ "resource": "Memory" }),
        json!({ "resource": "Resources" }),
        json!({ "resource": "Attention" }),
        json!({ "resource": "Settings" }),
    ];
    for project in projects {
        queries.push(json!({ "resource": "Project", "projectId": project }));
        queries.push(json!({ "resource": "Instructions", "projectId": project }));
        queries.push(json!({ "resource": "Chats", "projectId": project, "limit": 1_000 }));
    }
    for chat in chats {
        queries.push(json!({ "resource": "Chat", "chatId": chat }));
        queries.push(json!({ "resource": "Runs", "chatId": chat }));
        queries.push(json!({ "resource": "Reviews", "chatId": chat }));
        let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
        for branch in read["items"][0]["branches"].as_array().unwrap() {
            let branch = id(&branch["id"]);
            queries.push(json!({ "resource": "Messages", "branchId": branch, "limit": 1_000 }));
        }
    }
    for query in queries {
        all.push(Recorded { answer: world.read(query.clone()).await, query });
    }
}

#[tokio::test]
async fn what_was_read_once_is_read_again() {
    let world = world().await;
    let (mut projects, mut chats, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..6 {
        match round % 3 {
            0 => {
                let project = world.project(&format!("Project {round}")).await;
                world.may_read(&project, "/").await;
                projects.push(project);
            }
            1 => {
                let project = projects.last().unwrap();
                chats.push(world.chat(project, &format!("Chat {round}")).await);
                let replace = json!({
                    "operation": "Replace", "projectId": project, "expectedRevision": 0,
                    "text": format!("Round {round}"),
                });
                world.ok("app_instructions", replace).await;
                let remember = json!({
                    "operation": "Create", "scope": "Project", "projectId": project,
                    "title": format!("Round {round}"), "text": "Remember it",
                });
                world.ok("app_memory", remember).await;
                let refer = json!({
                    "operation": "Create", "projectId": project, "path": "/", "kind": "Directory",
                });
                world.ok("app_resources", refer).await;
                let update = json!({
                    "operation": "Update", "projectId": project, "name": format!("Project {round}"),
                    "expectedRevision": 1,
                });
                world.ok("app_projects", update).await;
            }
            _ => {
                let chat = chats.last().unwrap();
                let submitted = world.submit(chat, &format!("Message {round}")).await;
                let fork = json!({
                    "operation": "Submit", "chatId": chat, "mode": "Fork", "text": "Or else",
                    "fromMessageId": submitted["document"]["messageId"], "wait": true,
                });
                world.ok("app_runs", fork).await;
                let rename = json!({
                    "operation": "Rename", "chatId": chat, "title": format!("Renamed {round}"),
                    "expectedRevision": 1,
                });
                world.ok("app_chats", rename).await;
                let read = json!({ "resource": "Messages", "chatId": chat });
                let messages = world.read(read).await["items"].as_array().unwrap().clone();
                let answer = messages.iter().find(|it| it["role"] == "Assistant").unwrap();
                let review = json!({
                    "operation": "CreateReview", "chatId": chat, "messageId": answer["id"],
                    "name": format!("Round {round}"), "files": ["a"],
                });
                world.ok("app_resources", review).await;
            }
        }
        record(&world, &projects, &chats, &mut recorded).await;
    }
    assert!(recorded.len() > 50);
    for Recorded { mut query, mut answer } in recorded {
        // The store of secrets has no past.
        if query["resource"] == "Settings" {
            for server in answer["items"][0]["toolServers"].as_array_mut().unwrap() {
                server["hasCredential"] = json!(null);
            }
        }
        query["asOf"] = json!(answer["position"].to_string());
        assert_eq!(world.read(query.clone()).await, answer, "{query}");
    }
}

#[tokio::test]
async fn a_time_is_a_moment_too() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Before").await;
    let made = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let time = made["items"][0]["createdAt"].clone();
    world.submit(&chat, "Hello").await;
    let query = json!({ "resource": "Chat", "chatId": chat, "asOf": time });
    assert_eq!(world.read(query).await, made);
    let long_ago = json!({ "resource": "Projects", "asOf": "2001-01-01T00:00:00Z" });
    assert_eq!(world.read(long_ago).await["items"], json!([]));
}

#[tokio::test]
async fn pages_of_the_past_go_on_by_their_cursor() {
    let world = world().await;
    let project = world.project("Work").await;
    for title in ["A", "B", "C"] {
        world.chat(&project, title).await;
    }
    let whole = world.read(json!({ "resource": "Chats" })).await;
    world.chat(&project, "D").await;
    let mut query =
        json!({ "resource": "Chats", "limit": 1, "asOf": whole["position"].to_string() });
    let mut items = Vec::new();
    loop {
        let page = world.read(query.clone()).await;
        items.extend(page["items"].as_array().unwrap().clone());
        match page.get("nextCursor") {
            Some(cursor) => query["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(json!(items), whole["items"]);
}

#[tokio::test]
async fn what_was_not_there_yet_is_not_found_and_the_future_is_refused() {
    let world = world().await;
    let project = world.project("Work").await;
    let before = world.read(json!({ "resource": "Projects" })).await["position"].to_string();
    let chat = world.chat(&project, "Notes").await;
    let early = json!({ "resource": "Chat", "chatId": chat, "asOf": before });
    let refused = world.failed_read(early).await;
    assert!(refused.contains(&format!("here is no chat {chat}")), "{refused}");
    let future = json!({ "resource": "Chats", "asOf": "1000000" });
    let refused = world.failed_read(future).await;
    assert!(refused.contains("before 1000000"), "{refused}");
    let search = json!({ "resource": "Search", "query": "x", "asOf": before });
    assert!(world.failed_read(search).await.contains("leave asOf out"));
}

#[tokio::test]
async fn a_read_waits_for_a_position() {
    let world = world().await;
    let project = world.project("Work").await;
    let head = world.log.head().borrow().0;
    // One more than there is: the chat that is made while the read waits has two.
    let waiting = json!({ "resource": "Chats", "waitFor": head + 1 });
    let (read, _) = tokio::join!(world.read(waiting), world.chat(&project, "Notes"));
    assert_eq!(read["items"][0]["title"], "Notes");
}
