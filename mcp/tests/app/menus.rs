//! Resources and prompts: what clients show in their own menus.

use rmcp::ClientHandler;
use rmcp::model::{
    GetPromptRequestParams, ReadResourceRequestParams, ResourceContents,
    ResourceUpdatedNotificationParam, ServerNotification, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RoleClient};
use scripta_mcp::Caller;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::contract::NOBODY;
use crate::world::{Era, PATIENCE, World, connect, connect_as, id, world};

async fn at(world: &World, uri: &str) -> Result<Value, String> {
    let read = world.client.read_resource(ReadResourceRequestParams::new(uri)).await;
    let read = read.map_err(|error| error.to_string())?;
    match &read.contents[..] {
        [ResourceContents::TextResourceContents { uri: told, mime_type, text, .. }] => {
            assert_eq!((told.as_str(), mime_type.as_deref()), (uri, Some("application/json")));
            Ok(serde_json::from_str(text).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_there_is_listed_and_read_as_app_read_reads_it() {
    let world = world().await;
    let project = world.project("Work").await;
    let mut chats = Vec::new();
    for number in 0..101 {
        chats.push(world.chat(&project, &format!("Chat {number}")).await);
    }
    let remember = json!({
        "operation": "Create", "scope": "Workspace", "title": "Tea", "text": "Green.",
    });
    let memory = id(&world.ok("app_memory", remember).await["document"]["id"]);
    world.submit(&chats[0], "Hello").await;

    let all = world.client.list_all_resources().await.unwrap();
    assert_eq!(all.len(), 1 + 2 * chats.len() + 1);
    let uris: Vec<&str> = all.iter().map(|resource| &*resource.uri).collect();
    assert_eq!(uris[0], format!("scripta://project/{project}"));
    // The one that was written to last comes first.
    assert_eq!(uris[1], format!("scripta://chat/{}", chats[0]));
    assert_eq!(uris[2], format!("scripta://branch/{}/messages", chats[0]));
    assert_eq!(uris[uris.len() - 1], format!("scripta://memory/{memory}"));
    assert_eq!(all[2].title.as_deref(), Some("Messages of 'Chat 0'"));
    let wrong = rmcp::model::PaginatedRequestParams::default().with_cursor(Some("x".to_owned()));
    let wrong = world.client.list_resources(Some(wrong)).await.unwrap_err();
    assert!(wrong.to_string().contains("begin again"), "{wrong}");

    let first = async |arguments| world.read(arguments).await["items"][0].clone();
    let read = at(&world, uris[0]).await.unwrap();
    assert_eq!(read, first(json!({ "resource": "Project", "projectId": project })).await);
    let read = at(&world, uris[1]).await.unwrap();
    assert_eq!(read, first(json!({ "resource": "Chat", "chatId": chats[0] })).await);
    let read = at(&world, uris[uris.len() - 1]).await.unwrap();
    assert_eq!(read, first(json!({ "resource": "Memory", "memoryId": memory })).await);
    let read = at(&world, uris[2]).await.unwrap();
    assert_eq!(read, world.read(json!({ "resource": "Messages", "chatId": chats[0] })).await);

    let delete = json!({
        "operation": "Delete", "chatId": chats[1], "expectedRevision": 1, "dryRun": false,
    });
    world.ok("app_chats", delete).await;
    for (uri, word) in [
        (format!("scripta://chat/{}", chats[1]), "was deleted"),
        (format!("scripta://branch/{}/messages", chats[1]), "was deleted"),
        (format!("scripta://chat/{NOBODY}"), "no chat"),
        (format!("scripta://memory/{NOBODY}"), "no memory entry"),
        ("scripta://chat/7".to_owned(), "nothing at"),
        ("file:///etc/passwd".to_owned(), "nothing at"),
    ] {
        let refused = at(&world, &uri).await.unwrap_err();
        assert!(refused.contains(word), "{uri}: {refused}");
    }
}

#[tokio::test]
async fn ids_are_completed_by_name() {
    let world = world().await;
    let (work, home) = (world.project("Work").await, world.project("Homework").await);
    let (tea, _coffee) = (world.chat(&work, "Tea").await, world.chat(&home, "Coffee").await);
    let submitted = world.submit(&tea, "Hello").await;
    let fork = json!({
        "operation": "Submit", "chatId": tea, "mode": "Fork", "title": "Green", "text": "Or else",
        "fromMessageId": submitted["document"]["messageId"],
    });
    let branch = id(&world.ok("app_runs", fork).await["document"]["branchId"]);
    let complete = async |template: &str, typed: &str| {
        let found = world.client.complete_resource_simple(template, "id", typed).await;
        found.unwrap()
    };
    assert_eq!(complete("scripta://project/{id}", "WORK").await, [home.clone(), work.clone()]);
    assert_eq!(complete("scripta://project/{id}", &work).await, std::slice::from_ref(&work));
    assert_eq!(complete("scripta://chat/{id}", "ea").await, std::slice::from_ref(&tea));
    assert_eq!(complete("scripta://chat/{id}", "").await.len(), 2);
    assert_eq!(complete("scripta://branch/{id}/messages", "gree").await, [branch]);
    assert_eq!(complete("scripta://branch/{id}/messages", "tea").await.len(), 2);
    assert!(complete("scripta://memory/{id}", "x").await.is_empty());
    assert!(complete("scripta://room/{id}", "x").await.is_empty());
    let prompt = world.client.complete_prompt_simple("chat-compact", "chatId", "tea").await;
    assert_eq!(prompt.unwrap(), [tea]);
    let prompt = world.client.complete_prompt_simple("project-create", "folder", "/").await;
    assert!(prompt.unwrap().is_empty());
    let templates = world.client.list_all_resource_templates().await.unwrap();
    insta::assert_json_snapshot!("resource_templates", templates);
}

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    let world = world().await;
    let prompts = world.client.list_all_prompts().await.unwrap();
    insta::assert_json_snapshot!("prompts", prompts);
    let arguments = json!({ "chatId": "C" }).as_object().unwrap().clone();
    let params = GetPromptRequestParams::new("chat-compact").with_arguments(arguments);
    let prompt = world.client.get_prompt(params).await.unwrap();
    let text = &prompt.messages[0].content.as_text().unwrap().text;
    insta::assert_snapshot!("chat_compact", text);
}

/// A client that keeps what it is told.
struct Ear(UnboundedSender<String>);

impl ClientHandler for Ear {
    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.send(params.uri).unwrap();
    }
}

async fn heard(ear: &mut UnboundedReceiver<String>) -> String {
    tokio::time::timeout(PATIENCE, ear.recv()).await.expect("a notification").unwrap()
}

#[tokio::test]
#[expect(deprecated, reason = "clients of the older protocol still subscribe so")]
async fn an_older_client_hears_of_what_it_subscribed_to() {
    let world = world().await;
    let project = world.project("Work").await;
    let (chat, other) = (world.chat(&project, "Tea").await, world.chat(&project, "O").await);
    let (told, mut ear) = unbounded_channel();
    let server = world.server.with_caller(Caller::person());
    let client = connect_as(Ear(told), &server, Era::Legacy).await;
    let uris = [format!("scripta://chat/{chat}"), format!("scripta://project/{project}")];
    for uri in &uris {
        client.subscribe(SubscribeRequestParams::new(uri.clone())).await.unwrap();
        // Twice is once.
        client.subscribe(SubscribeRequestParams::new(uri.clone())).await.unwrap();
    }
    let rename = |chat: &str, revision: u64| {
        json!({
            "operation": "Rename", "chatId": chat, "title": format!("At {revision}"),
            "expectedRevision": revision,
        })
    };
    world.ok("app_chats", rename(&other, 1)).await;
    world.ok("app_chats", rename(&chat, 1)).await;
    assert_eq!(heard(&mut ear).await, uris[0]);
    client.unsubscribe(UnsubscribeRequestParams::new(uris[0].clone())).await.unwrap();
    world.ok("app_chats", rename(&chat, 2)).await;
    let update = json!({
        "operation": "Update", "projectId": project, "name": "Play", "expectedRevision": 1,
    });
    world.ok("app_projects", update).await;
    assert_eq!(heard(&mut ear).await, uris[1]);
    let refused = client.subscribe(SubscribeRequestParams::new("scripta://x")).await.unwrap_err();
    assert!(refused.to_string().contains("nothing at"), "{refused}");
}

#[tokio::test]
async fn a_client_of_today_listens_for_what_it_names() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Tea").await;
    let messages = format!("scripta://branch/{chat}/messages");
    let uris = [messages.clone(), "scripta://room/7".to_owned()];
    let filter = SubscriptionFilter::builder().resource_subscriptions(uris).build();
    let mut listening = world.client.listen(filter).await.unwrap();
    let accepted = listening.acknowledged().resource_subscriptions.clone();
    assert_eq!(accepted, Some(vec![messages.clone()]));
    // A title is no message.
    let rename = json!({
        "operation": "Rename", "chatId": chat, "title": "T", "expectedRevision": 1,
    });
    world.ok("app_chats", rename).await;
    let submitted = world.submit(&chat, "Hello").await;
    let told = tokio::time::timeout(PATIENCE, listening.next()).await.unwrap().unwrap();
    match told {
        Some(ServerNotification::ResourceUpdatedNotification(update)) => {
            assert_eq!(update.params.uri, messages);
        }
        other => panic!("{other:?}"),
    }
    // What it then reads has what it was told of.
    let read = at(&world, &messages).await.unwrap();
    let asked = &submitted["document"]["messageId"];
    assert!(read["items"].as_array().unwrap().iter().any(|it| it["id"] == *asked));
    listening.cancel().await.unwrap();
}

#[tokio::test]
async fn without_a_key_nothing_is_shown() {
    let world = world().await;
    let visitor =
        connect(&world.server.with_callers(std::sync::Arc::new(|_| None)), Era::Legacy).await;
    let refused = visitor.list_resources(None).await.unwrap_err();
    assert!(refused.to_string().contains("X-API-Key"), "{refused}");
    let read = visitor.read_resource(ReadResourceRequestParams::new("scripta://chat/x")).await;
    assert!(read.unwrap_err().to_string().contains("X-API-Key"));
    let completed = visitor.complete_prompt_simple("chat-fork", "chatId", "").await;
    assert!(completed.unwrap_err().to_string().contains("X-API-Key"));
}
