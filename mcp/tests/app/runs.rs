//! Every operation of `app_runs` keeps what all operations promise.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::contract::{NOBODY, Operation, applies_once, refused};
use crate::queue::{of, with};
use crate::turns::{Hold, TURN_BEGINS, held, submit};
use crate::world::{World, id, named};

const TOOL: &str = "app_runs";

/// A chat whose turns are held back, and what its operations answered.
struct Scene {
    world: World,
    hold: Hold,
    chat: String,
    /// Another chat: what names it is another operation.
    elsewhere: String,
    answers: Vec<Value>,
    shown: BTreeSet<String>,
}

impl Scene {
    async fn new() -> Scene {
        let (world, hold, chat) = held().await;
        let project = world.project("Elsewhere").await;
        let elsewhere = world.chat(&project, "Elsewhere").await;
        Scene { world, hold, chat, elsewhere, answers: vec![], shown: BTreeSet::new() }
    }

    /// Something that is only on the way to what is to be shown.
    async fn first(&self, arguments: Value) -> Value {
        self.world.ok(TOOL, arguments).await
    }

    async fn shows(&mut self, arguments: Value, later: u64) -> Value {
        let operation = arguments["operation"].as_str().unwrap();
        let mode = arguments["mode"].as_str().map(|mode| format!(" {mode}"));
        let name = format!("{operation}{}", mode.unwrap_or_default());
        let other = match operation {
            "Submit" | "UpdateQueued" => json!({ "text": "Another" }),
            "RemoveQueued" | "MarkRead" => json!({ "messageId": NOBODY }),
            _ => json!({ "branchId": self.elsewhere }),
        };
        let foreign = match operation {
            "Submit" => ("messageId", json!(NOBODY)),
            _ => ("title", json!("T")),
        };
        let operation = Operation { tool: TOOL, arguments, other, foreign };
        let answer = applies_once(&self.world, operation, later).await;
        let (phrase, document) = (&answer["phrase"], &answer["document"]);
        self.answers.push(json!({ "operation": name, "phrase": phrase, "document": document }));
        self.shown.insert(name);
        answer
    }

    fn of(&self, operation: &str) -> Value {
        of(operation, &self.chat)
    }

    fn about(&self, operation: &str, message: &Value) -> Value {
        with(self.of(operation), "messageId", message.clone())
    }

    fn submit(&self, mode: &str, text: &str) -> Value {
        json!({ "operation": "Submit", "mode": mode, "chatId": self.chat, "text": text })
    }
}

/// Each row begins where the one before it left the branch.
#[tokio::test]
async fn every_operation_keeps_its_promises() {
    let mut scene = Scene::new().await;
    scene.shows(scene.submit("Enqueue", "One"), TURN_BEGINS).await;
    scene.hold.asked(1).await;
    scene.shows(scene.submit("Aside", "By the way"), 0).await;
    let second = scene.first(submit(&scene.chat, "Two")).await["document"]["messageId"].clone();
    let update = with(scene.about("UpdateQueued", &second), "text", "Two, better");
    scene.shows(update, 0).await;
    scene.shows(scene.about("RemoveQueued", &second), 0).await;
    scene.first(submit(&scene.chat, "Three")).await;
    scene.shows(scene.of("ClearQueue"), 0).await;
    scene.first(submit(&scene.chat, "Four")).await;
    scene.shows(scene.of("Stop"), 0).await;
    scene.shows(scene.of("SkipFailed"), TURN_BEGINS).await;

    scene.first(scene.of("Stop")).await;
    scene.shows(scene.of("Resume"), 0).await;
    scene.shows(scene.submit("Interrupt", "Five"), TURN_BEGINS).await;
    scene.first(scene.of("Stop")).await;
    scene.shows(scene.submit("Reject", "Six"), TURN_BEGINS).await;
    scene.first(scene.of("Stop")).await;
    scene.first(with(submit(&scene.chat, "Seven"), "onlyIfHead", NOBODY)).await;
    let rebased = scene.shows(scene.of("Rebase"), TURN_BEGINS).await;
    let message = rebased["document"]["messageId"].clone();
    scene.shows(scene.about("MarkRead", &message), 0).await;
    scene.shows(scene.submit("Fork", "Eight"), TURN_BEGINS).await;

    let names = scene.world.input_enum(TOOL, "operation");
    let modes = scene.world.input_enum(TOOL, "mode").into_iter();
    let modes = modes.map(|mode| format!("Submit {mode}"));
    let names = names.into_iter().filter(|name| name != "Submit").chain(modes).collect();
    assert_eq!(scene.shown, names, "an operation was forgotten here");
    insta::assert_json_snapshot!("every_operation_of_app_runs", named(&json!(scene.answers)));
}

/// Every operation, on a branch, with a message where it needs one.
fn all(branch: &str, message: &str) -> Vec<Value> {
    let plain = ["Stop", "ClearQueue", "Resume", "SkipFailed", "Rebase", "MarkRead"];
    let modes = ["Enqueue", "Aside", "Interrupt", "Reject", "Fork"];
    let about = |operation| with(of(operation, branch), "messageId", message);
    let update = with(about("UpdateQueued"), "text", "Hi");
    let plain = plain.into_iter().map(|operation| of(operation, branch));
    let modes = modes.into_iter().map(|mode| submit_to(branch, mode));
    plain.chain(modes).chain([update, about("RemoveQueued"), about("MarkRead")]).collect()
}

fn submit_to(branch: &str, mode: &str) -> Value {
    with(with(of("Submit", branch), "mode", mode), "text", "Hi")
}

#[tokio::test]
async fn an_unknown_branch_or_message_is_not_found_by_any_operation() {
    let (world, _hold, chat) = held().await;
    for arguments in all(NOBODY, NOBODY) {
        let told = refused(&world, TOOL, arguments.clone()).await;
        assert!(told.starts_with("There is no branch"), "{arguments}: {told}");
    }
    for arguments in all(&chat, NOBODY) {
        if arguments.get("messageId").is_some() {
            let told = refused(&world, TOOL, arguments.clone()).await;
            assert!(told.starts_with("There is no"), "{arguments}: {told}");
        }
    }
}

/// A branch with a turn, a queue and an aside is deleted, by itself, with its chat or with its
/// project, whose sweep writes so many events after it.
async fn deleted(tool: &str, swept: u64, deletion: impl Fn(&[String; 3]) -> Value) {
    let (world, hold, chat) = held().await;
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let project = id(&read["items"][0]["projectId"]);
    let said = world.ok(TOOL, submit(&chat, "One")).await;
    world.goes_on(&said, TURN_BEGINS).await;
    hold.asked(1).await;
    world.ok(TOOL, json!({ "operation": "Stop", "branchId": chat })).await;
    let fork = with(submit_to(&chat, "Fork"), "operationId", Uuid::now_v7().to_string());
    let forked = world.ok(TOOL, fork.clone()).await;
    world.goes_on(&forked, TURN_BEGINS).await;
    hold.asked(2).await;
    let branch = id(&forked["document"]["branchId"]);
    let queued = world.ok(TOOL, submit_to(&branch, "Enqueue")).await;
    let queued = id(&queued["document"]["messageId"]);
    world.ok(TOOL, submit_to(&branch, "Aside")).await;

    let delete = with(deletion(&[project, chat, branch.clone()]), "expectedRevision", 1);
    let done = world.ok(tool, with(delete, "dryRun", false)).await;
    world.goes_on(&done, swept).await;
    for arguments in all(&branch, &queued) {
        let told = refused(&world, TOOL, arguments.clone()).await;
        assert!(told.contains("was deleted"), "{arguments}: {told}");
    }
    let again = world.ok(TOOL, fork).await;
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &forked["document"]));
}

#[tokio::test]
async fn a_deleted_branch_is_gone_to_every_operation() {
    deleted("app_chats", 0, |[_, _, branch]| of("DeleteBranch", branch)).await;
}

#[tokio::test]
async fn a_branch_of_a_deleted_chat_is_gone_to_every_operation() {
    let delete = |[_, chat, _]: &[String; 3]| json!({ "operation": "Delete", "chatId": chat });
    deleted("app_chats", 0, delete).await;
}

#[tokio::test]
async fn a_branch_of_a_deleted_project_is_gone_to_every_operation() {
    let delete = |[project, ..]: &[String; 3]| {
        let delete = json!({ "operation": "Delete", "projectId": project });
        with(delete, "stopRuns", true)
    };
    // The chat's own deletion, and what ends its turn and its run.
    deleted("app_projects", 3, delete).await;
}
