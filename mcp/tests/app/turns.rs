//! Turns that take their time: queueing, waiting, stopping.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use scripta_actors::{ModelError, ModelEvent, ModelRequest, Models, demo};
use scripta_events::domain::ConnectionId;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::world::{PATIENCE, World, call, connect, id, text, world, world_with};

/// A model that says "So far", and then nothing until it is let go.
struct Held {
    let_go: watch::Receiver<bool>,
    asked: watch::Sender<u32>,
}

/// What holds the model back.
pub struct Hold {
    let_go: watch::Sender<bool>,
    asked: watch::Receiver<u32>,
}

impl Hold {
    /// Every turn, from now on, ends by itself.
    pub fn let_go(&self) {
        self.let_go.send_replace(true);
    }

    /// Turns that begin from now on are held back again.
    pub fn hold_back(&self) {
        self.let_go.send_replace(false);
    }

    /// Waits until the model was asked so many times in all: it has what it answers.
    pub async fn asked(&self, times: u32) {
        let mut asked = self.asked.clone();
        let enough = asked.wait_for(|asked| *asked >= times);
        tokio::time::timeout(PATIENCE, enough).await.unwrap().unwrap();
    }
}

impl Models for Held {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        demo::Demo.resolve(wanted, model)
    }

    fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.asked.send_modify(|asked| *asked += 1);
        let mut let_go = self.let_go.clone();
        let begin = stream::iter([Ok(ModelEvent::Text("So far".to_owned()))]);
        let end = stream::once(async move {
            drop(let_go.wait_for(|gone| *gone).await);
            Ok(ModelEvent::Done { usage: None })
        });
        begin.chain(end).boxed()
    }
}

/// What a turn writes after its first commit, until its model holds it back: its tools, and that
/// it asks.
pub const TURN_BEGINS: u64 = 2;

pub async fn held() -> (World, Hold, String) {
    let (let_go, is_let_go) = watch::channel(false);
    let (asked, was_asked) = watch::channel(0);
    let world = world_with(Arc::new(Held { let_go: is_let_go, asked })).await;
    let hold = Hold { let_go, asked: was_asked };
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    (world, hold, chat)
}

pub fn submit(chat: &str, text: &str) -> Value {
    json!({ "operation": "Submit", "chatId": chat, "text": text })
}

#[tokio::test]
async fn what_comes_meanwhile_is_queued_and_has_its_turn() {
    let (world, hold, chat) = held().await;
    let first = world.ok("app_runs", submit(&chat, "One")).await;
    assert_eq!(first["phrase"], "Submitted the message; its turn is running");
    assert_eq!(first["document"]["run"]["status"], "Running");
    let second = world.ok("app_runs", submit(&chat, "Two")).await;
    assert_eq!(second["phrase"], "Queued the message behind the turn that is running");
    let third = world.ok("app_runs", submit(&chat, "Three")).await;
    assert_eq!(third["phrase"], "Queued the message behind one other message");
    assert_eq!(third["document"]["run"]["status"], "Queued");
    assert_eq!(third["document"].get("runId"), None);

    let branch = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(branch["items"][0]["branches"][0]["status"], "Running");
    assert_eq!(branch["items"][0]["branches"][0]["queued"], 2);

    hold.let_go();
    let last = world.submit(&chat, "Four").await;
    assert_eq!(last["document"]["run"]["status"], "Completed");
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    assert_eq!(history["items"].as_array().unwrap().len(), 8);
    assert_eq!(history["items"][2]["id"], second["document"]["messageId"]);
}

#[tokio::test]
async fn a_wait_that_runs_out_gives_the_status_of_then() {
    let (world, hold, chat) = held().await;
    let mut patient = submit(&chat, "One");
    patient["wait"] = json!(true);
    patient["waitTimeoutMs"] = json!(1000);
    patient["operationId"] = json!(uuid::Uuid::now_v7());
    let waited = world.ok("app_runs", patient.clone()).await;
    assert_eq!(waited["phrase"], "Submitted the message; its turn is still running after 1 s");
    assert_eq!(waited["document"]["run"]["status"], "Running");
    // The repeat waits again, and gives the run's present status.
    hold.let_go();
    let again = world.ok("app_runs", patient).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"]["run"]["status"], "Completed");
}

#[tokio::test]
async fn a_wait_is_answered_by_its_own_turn_only() {
    let (world, hold, chat) = held().await;
    hold.let_go();
    let first = world.submit(&chat, "One").await;
    assert_eq!(first["document"]["run"]["status"], "Completed");
    hold.hold_back();
    let letting_go = async {
        hold.asked(2).await;
        hold.let_go();
    };
    let (second, ()) = futures::join!(world.submit(&chat, "Two"), letting_go);
    assert_eq!(second["phrase"], "Submitted the message; its turn has completed");
    assert_ne!(second["document"]["runId"], first["document"]["runId"]);

    // One that waits in the queue hears of the queue's end, or that it needs a person.
    hold.hold_back();
    let third = world.ok("app_runs", submit(&chat, "Three")).await;
    hold.asked(3).await;
    let stop = async {
        let queued = |page: &Value| page["items"][0]["branches"][0]["queued"] == 1;
        world.until(json!({ "resource": "Chat", "chatId": chat }), queued).await;
        world.ok("app_runs", json!({ "operation": "Stop", "branchId": chat })).await
    };
    let (fourth, stopped) = futures::join!(world.submit(&chat, "Four"), stop);
    assert_eq!(stopped["document"]["runId"], third["document"]["runId"]);
    assert_eq!(fourth["document"]["run"]["status"], "Queued");
    assert_eq!(fourth["document"]["run"]["waitingFor"]["kind"], "GoOn");
    assert_eq!(fourth["document"].get("runId"), None);
    let waiting = submit(&chat, "Five");
    let clear = async {
        let queued = |page: &Value| page["items"][0]["branches"][0]["queued"] == 2;
        world.until(json!({ "resource": "Chat", "chatId": chat }), queued).await;
        world.ok("app_runs", json!({ "operation": "ClearQueue", "branchId": chat })).await
    };
    world.ok("app_runs", json!({ "operation": "Resume", "branchId": chat })).await;
    let patient = async {
        let mut waiting = waiting;
        waiting["wait"] = json!(true);
        world.ok("app_runs", waiting).await
    };
    let (cleared, _) = futures::join!(patient, clear);
    assert_eq!(
        cleared["phrase"],
        "Submitted the message; it was taken out of the queue before its turn"
    );
    assert_eq!(cleared["document"].get("run"), None);
}

#[tokio::test]
async fn a_stop_keeps_what_there_was() {
    let (world, _hold, chat) = held().await;
    let started = world.ok("app_runs", submit(&chat, "One")).await;
    let queued = world.ok("app_runs", submit(&chat, "Two")).await;
    let stop = json!({
        "operation": "Stop", "branchId": chat, "operationId": uuid::Uuid::now_v7(),
    });
    let stopped = world.ok("app_runs", stop.clone()).await;
    assert_eq!(
        stopped["phrase"],
        "Stopped the turn; 1 queued message waits; the branch is paused, since its last turn was \
         stopped or failed: app_runs Resume goes on with it, SkipFailed with what is queued"
    );
    assert_eq!(stopped["document"]["run"]["status"], "Stopped");
    assert_eq!(stopped["document"]["runId"], started["document"]["runId"]);
    let again = world.ok("app_runs", stop).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"], stopped["document"]);

    let chat_now = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let branch = &chat_now["items"][0]["branches"][0];
    assert_eq!(branch["status"], "Paused");
    assert_eq!(branch["pausedBecause"], "its last turn was stopped");
    // Whoever waits for the queued message hears that it needs a person, at once.
    let mut waiting = submit(&chat, "Two");
    waiting["operationId"] = queued["document"]["messageId"].clone();
    waiting["wait"] = json!(true);
    let told = world.ok("app_runs", waiting).await;
    assert!(told["phrase"].as_str().unwrap().contains("the branch is paused"), "{told:#}");
    let runs = world.read(json!({ "resource": "Runs", "branchId": chat })).await;
    assert_eq!(runs["items"][0]["status"], "Stopped");
}

#[tokio::test]
async fn skipping_a_stopped_turn_goes_on_with_the_queue() {
    let (world, hold, chat) = held().await;
    world.ok("app_runs", submit(&chat, "One")).await;
    let second = world.ok("app_runs", submit(&chat, "Two")).await;
    let skip = |operation: uuid::Uuid| json!({ "operation": "SkipFailed", "branchId": chat, "operationId": operation });
    // A running branch has nothing to skip, and neither has an idle one.
    let running = call(&world.client, "app_runs", skip(uuid::Uuid::now_v7())).await;
    assert_eq!(running.is_error, Some(true));
    assert!(text(&running).contains("A turn is running in this branch; stop it first"));
    world.ok("app_runs", json!({ "operation": "Stop", "branchId": chat })).await;
    let third = world.ok("app_runs", submit(&chat, "Three")).await;
    assert!(third["phrase"].as_str().unwrap().ends_with(
        "behind one other message; the branch is paused, since its last turn was stopped or \
         failed: app_runs Resume goes on with it, SkipFailed with what is queued"
    ));

    let operation = uuid::Uuid::now_v7();
    let skipped = world.ok("app_runs", skip(operation)).await;
    assert_eq!(skipped["phrase"], "Started the next turn; 1 more wait");
    assert_eq!(skipped["document"]["messageId"], second["document"]["messageId"]);
    assert_eq!(skipped["document"]["run"]["status"], "Running");
    let again = world.ok("app_runs", skip(operation)).await;
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &skipped["document"]));

    hold.let_go();
    let last = world.submit(&chat, "Four").await;
    assert_eq!(last["document"]["run"]["status"], "Completed");
    let idle = world.rejected("app_runs", skip(uuid::Uuid::now_v7())).await;
    assert_eq!(idle["phrase"], "Nothing waits in this branch; submit a message instead");
}

#[tokio::test]
async fn a_run_does_not_wait_for_its_own_branch() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let submitted = world.submit(&chat, "One").await;
    let scope = scripta_mcp::RunScope {
        project: project.parse().unwrap(),
        chat: chat.parse().unwrap(),
        branch: chat.parse().unwrap(),
        run: id(&submitted["document"]["runId"]).parse().unwrap(),
    };
    let server = world.server.with_caller(scripta_mcp::Caller::run(scope));
    let client = connect(&server, crate::world::Era::Modern).await;
    let mut own = submit(&chat, "Two");
    own["wait"] = json!(true);
    let refused = call(&client, "app_runs", own).await;
    assert_eq!(refused.is_error, Some(true));
    assert!(text(&refused).contains("wait for its own branch"), "{}", text(&refused));
    // Another branch is fine, and its message names the run's branch as its sender.
    let other = world.chat(&project, "Other").await;
    let mut fine = submit(&other, "Three");
    fine["wait"] = json!(true);
    let sent = call(&client, "app_runs", fine).await;
    assert_eq!(sent.is_error, Some(false), "{}", text(&sent));
    let history = world.read(json!({ "resource": "Messages", "chatId": other })).await;
    let sender = &history["items"][0]["sender"];
    assert_eq!(sender, &json!({ "kind": "Branch", "chatId": chat, "branchId": chat }));
}
