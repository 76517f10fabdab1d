//! What waits for a person.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use scripta_actors::{ModelError, ModelEvent, ModelRequest, Models, demo};
use scripta_events::domain::ConnectionId;
use serde_json::{Value, json};

use crate::turns::{TURN_BEGINS, held, submit};
use crate::world::{World, named, world_with};

/// A model that never answers.
struct Broken;

impl Models for Broken {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        demo::Demo.resolve(wanted, model)
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        stream::iter([Err(ModelError::permanent("the model is out of order"))]).boxed()
    }
}

async fn attention(world: &World, more: Value) -> Value {
    let mut read = json!({ "resource": "Attention" });
    let entries = more.as_object().unwrap().iter();
    entries.for_each(|(name, value)| read[name] = value.clone());
    world.read(read).await
}

#[tokio::test]
async fn a_paused_branch_waits_for_a_person_until_it_goes_on() {
    let (world, hold, chat) = held().await;
    let none = attention(&world, json!({})).await;
    assert_eq!(
        (&none["items"], &none["phrase"]),
        (&json!([]), &json!("Nothing waits for a person"))
    );
    let begun = world.ok("app_runs", submit(&chat, "One")).await;
    world.goes_on(&begun, TURN_BEGINS).await;
    world.ok("app_runs", submit(&chat, "Two")).await;
    assert_eq!(attention(&world, json!({})).await["items"], json!([]));
    world.ok("app_runs", json!({ "operation": "Stop", "branchId": chat })).await;
    let paused = attention(&world, json!({})).await;
    insta::assert_json_snapshot!("paused", named(&paused["items"]));
    let project = paused["items"][0]["projectId"].clone();
    let other = world.project("Other").await;
    for narrowed in [json!({ "projectId": project }), json!({ "chatId": chat })] {
        assert_eq!(attention(&world, narrowed).await["items"], paused["items"]);
    }
    assert_eq!(attention(&world, json!({ "projectId": other })).await["items"], json!([]));
    let then = paused["position"].to_string();
    hold.let_go();
    world.ok("app_runs", json!({ "operation": "SkipFailed", "branchId": chat })).await;
    assert_eq!(attention(&world, json!({})).await["items"], json!([]));
    assert_eq!(attention(&world, json!({ "asOf": then })).await["items"], paused["items"]);
}

#[tokio::test]
async fn a_failed_turn_waits_for_a_person_until_its_chat_is_gone() {
    let world = world_with(Arc::new(Broken)).await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "Hello").await;
    let failed = attention(&world, json!({})).await;
    insta::assert_json_snapshot!("failed", named(&failed["items"]));
    let delete = json!({
        "operation": "Delete", "chatId": chat, "expectedRevision": 1, "dryRun": false,
    });
    world.ok("app_chats", delete).await;
    assert_eq!(attention(&world, json!({})).await["items"], json!([]));
}
