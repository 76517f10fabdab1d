//! Pages and cursors.

use serde_json::{Value, json};

use crate::world::{World, ids, world};

/// All ids of a listing, read page by page; `between` runs after each page.
async fn all(world: &World, query: Value) -> (Vec<Vec<String>>, Vec<Value>) {
    let mut pages = Vec::new();
    let mut answers = Vec::new();
    let mut query = query;
    loop {
        let page = world.read(query.clone()).await;
        assert_eq!(page["truncated"], json!(page.get("nextCursor").is_some()));
        pages.push(ids(&page));
        let next = page.get("nextCursor").cloned();
        answers.push(page);
        match next {
            Some(cursor) => query["cursor"] = cursor,
            None => return (pages, answers),
        }
    }
}

#[tokio::test]
async fn messages_come_newest_page_first_and_each_page_in_reading_order() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    for text in ["One", "Two", "Three"] {
        world.submit(&chat, text).await;
    }
    let whole = ids(&world.read(json!({ "resource": "Messages", "chatId": chat })).await);
    assert_eq!(whole.len(), 6);
    let newest = json!({ "resource": "Messages", "chatId": chat, "limit": 4 });
    let (pages, answers) = all(&world, newest).await;
    assert_eq!(pages, [whole[2..].to_vec(), whole[..2].to_vec()]);
    assert_eq!(answers[0]["phrase"], "Read 4 messages; more by nextCursor (4 a page)");
    assert_eq!(answers[1]["phrase"], "Read 2 messages");
    let oldest =
        json!({ "resource": "Messages", "chatId": chat, "limit": 4, "order": "oldestfirst" });
    let (pages, _) = all(&world, oldest).await;
    assert_eq!(pages, [whole[..4].to_vec(), whole[4..].to_vec()]);
}

#[tokio::test]
async fn a_chain_is_fixed_at_its_first_page() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "One").await;
    for order in ["NewestFirst", "OldestFirst"] {
        let mut query = json!({
            "resource": "Messages", "chatId": chat, "limit": 1, "order": order,
        });
        let whole = ids(&world.read(json!({ "resource": "Messages", "chatId": chat })).await);
        let mut seen = Vec::new();
        loop {
            let page = world.read(query.clone()).await;
            seen.extend(ids(&page));
            world.submit(&chat, "Meanwhile").await;
            match page.get("nextCursor") {
                Some(cursor) => query["cursor"] = cursor.clone(),
                None => break,
            }
        }
        seen.sort();
        let mut whole = whole;
        whole.sort();
        assert_eq!(seen, whole, "{order}");
    }
}

#[tokio::test]
async fn a_listing_is_fixed_at_its_first_page() {
    let world = world().await;
    let project = world.project("Work").await;
    let mut chats = Vec::new();
    for title in ["A", "B", "C"] {
        chats.push(world.chat(&project, title).await);
    }
    let query = json!({ "resource": "Chats", "limit": 1 });
    let first = world.read(query.clone()).await;
    // The last one becomes the first, and a new one comes before all.
    world.submit(&chats[0], "Hello").await;
    world.chat(&project, "D").await;
    let mut next = query.clone();
    next["cursor"] = first["nextCursor"].clone();
    next["limit"] = json!(10);
    let rest = world.read(next.clone()).await;
    assert_eq!(ids(&first), [chats[2].clone()]);
    assert_eq!(ids(&rest), [chats[1].clone(), chats[0].clone()]);
    // A page can be read again.
    assert_eq!(ids(&world.read(next).await), ids(&rest));
}

#[tokio::test]
async fn projects_come_by_name_and_runs_newest_first() {
    let world = world().await;
    let b = world.project("beta").await;
    let a = world.project("Alpha").await;
    assert_eq!(ids(&world.read(json!({ "resource": "Projects" })).await), [a, b.clone()]);
    let chat = world.chat(&b, "Notes").await;
    let first = world.submit(&chat, "One").await;
    let second = world.submit(&chat, "Two").await;
    let (pages, _) = all(&world, json!({ "resource": "Runs", "limit": 1 })).await;
    let run = |submitted: &Value| vec![submitted["document"]["runId"].as_str().unwrap().to_owned()];
    assert_eq!(pages, [run(&second), run(&first)]);
}

#[tokio::test]
async fn a_page_ends_at_its_characters_and_always_has_its_first_item() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let huge = "x".repeat(300_000);
    world.submit(&chat, &huge).await;
    let page = world
        .read(json!({
            "resource": "Messages", "chatId": chat, "order": "OldestFirst",
        }))
        .await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert_eq!(page["items"][0]["parts"][0]["text"].as_str().unwrap().len(), 300_000);
    assert_eq!(page["truncated"], true);
}

#[tokio::test]
async fn a_search_goes_on_where_its_page_ended() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let mut sent = Vec::new();
    for number in 1..=3 {
        let submitted = world.submit(&chat, &format!("quokka number {number}")).await;
        sent.push(submitted["document"]["messageId"].clone());
    }
    let mut query = json!({
        "resource": "Search", "query": "quokka", "roles": ["User"], "limit": 2, "chatId": chat,
    });
    let first = world.read(query.clone()).await;
    world.submit(&chat, "quokka number 4").await;
    query["cursor"] = first["nextCursor"].clone();
    let second = world.read(query).await;
    let messages = |page: &Value| -> Vec<Value> {
        page["items"].as_array().unwrap().iter().map(|hit| hit["messageId"].clone()).collect()
    };
    assert_eq!(messages(&first), sent[..2]);
    assert_eq!(messages(&second), sent[2..]);
}

#[tokio::test]
async fn a_cursor_of_another_query_or_a_changed_one_is_refused() {
    let world = world().await;
    for name in ["A", "B"] {
        world.project(name).await;
    }
    let query = json!({ "resource": "Projects", "limit": 1 });
    let cursor = world.read(query).await["nextCursor"].as_str().unwrap().to_owned();
    let other = json!({ "resource": "Chats", "limit": 1, "cursor": cursor });
    insta::assert_snapshot!("cursor_of_another_query", world.failed_read(other).await);
    let mut changed = cursor.clone();
    changed.replace_range(60..61, if &cursor[60..61] == "A" { "B" } else { "A" });
    let forged = json!({ "resource": "Projects", "cursor": changed });
    insta::assert_snapshot!("cursor_forged", world.failed_read(forged).await);
    let nonsense = json!({ "resource": "Projects", "cursor": "next" });
    insta::assert_snapshot!("cursor_forged", world.failed_read(nonsense).await);
}
