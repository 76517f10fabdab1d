//! What waits in a branch: changed, removed, put before, meant for a head, read.

use serde_json::{Value, json};

use crate::contract::NOBODY;
use crate::turns::{TURN_BEGINS, held, submit};
use crate::world::{World, id, ids, world};

pub fn of(operation: &str, branch: &str) -> Value {
    json!({ "operation": operation, "branchId": branch })
}

pub fn with(mut arguments: Value, name: &str, value: impl Into<Value>) -> Value {
    arguments[name] = value.into();
    arguments
}

async fn branch(world: &World, chat: &str) -> Value {
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    read["items"][0]["branches"][0].clone()
}

async fn texts(world: &World, chat: &str) -> Vec<String> {
    let read = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let items = read["items"].as_array().unwrap().iter();
    items.map(|item| id(&item["parts"][0]["text"])).collect()
}

/// Until the branch is idle: what is queued has had its turn.
async fn settle(world: &World, chat: &str) {
    let read = json!({ "resource": "Chat", "chatId": chat });
    let rests = |page: &Value| {
        let branch = &page["items"][0]["branches"][0];
        branch["status"] == "Idle" && branch["queued"] == 0
    };
    world.until(read, rests).await;
}

/// Submits, and waits until the model holds the turn back.
async fn begin(world: &World, chat: &str, text: &str) -> Value {
    let begun = world.ok("app_runs", submit(chat, text)).await;
    world.goes_on(&begun, TURN_BEGINS).await;
    begun
}

#[tokio::test]
async fn what_is_queued_is_changed_removed_and_cleared() {
    let (world, hold, chat) = held().await;
    world.ok("app_runs", submit(&chat, "One")).await;
    let mut queued = vec![];
    for text in ["Two", "Three", "Four"] {
        let made = world.ok("app_runs", submit(&chat, text)).await;
        queued.push(id(&made["document"]["messageId"]));
    }
    assert_eq!(branch(&world, &chat).await["queue"], json!(queued));

    let update = with(of("UpdateQueued", &chat), "messageId", queued[1].clone());
    let update = with(update, "text", "Three, better");
    let changed = world.ok("app_runs", update.clone()).await;
    assert_eq!(changed["phrase"], "Changed the queued message");
    assert_eq!(changed["document"]["run"]["status"], "Queued");
    let same = world.ok("app_runs", update).await;
    assert_eq!(same["phrase"], "The queued message said that already");

    let remove = with(of("RemoveQueued", &chat), "messageId", queued[0].clone());
    let removed = world.ok("app_runs", remove.clone()).await;
    assert_eq!(removed["phrase"], "Removed the message from the queue; 2 more wait");
    let gone = world.rejected("app_runs", remove).await;
    assert!(gone["phrase"].as_str().unwrap().starts_with("There is no queued message"), "{gone}");
    assert_eq!(branch(&world, &chat).await["queue"], json!(queued[1..]));

    hold.let_go();
    settle(&world, &chat).await;
    let said = texts(&world, &chat).await;
    assert_eq!(said, ["One", "So far", "Three, better", "So far", "Four", "So far"]);
    let late = with(of("RemoveQueued", &chat), "messageId", queued[1].clone());
    let late = world.rejected("app_runs", late).await;
    assert!(late["phrase"].as_str().unwrap().contains("is no longer queued"), "{late}");
    let nothing = world.ok("app_runs", of("ClearQueue", &chat)).await;
    assert_eq!(nothing["phrase"], "Nothing was queued");
}

#[tokio::test]
async fn a_cleared_queue_leaves_the_turn_alone_and_a_paused_branch_idle() {
    let (world, _hold, chat) = held().await;
    world.ok("app_runs", submit(&chat, "One")).await;
    world.ok("app_runs", submit(&chat, "Two")).await;
    let cleared = world.ok("app_runs", of("ClearQueue", &chat)).await;
    assert_eq!(cleared["document"]["run"]["status"], "Running");
    world.ok("app_runs", submit(&chat, "Three")).await;
    let stopped = world.ok("app_runs", of("Stop", &chat)).await;
    let waiting = &stopped["document"]["run"]["waitingFor"];
    assert_eq!(waiting["kind"], "GoOn");
    assert!(waiting["text"].as_str().unwrap().contains("Resume goes on with it"), "{waiting}");
    let cleared = world.ok("app_runs", of("ClearQueue", &chat)).await;
    assert_eq!(cleared["document"]["run"]["status"], "Stopped");
    assert_eq!(cleared["document"]["run"].get("waitingFor"), None);
    assert_eq!(branch(&world, &chat).await["status"], "Idle");
}

#[tokio::test]
async fn reject_is_for_an_idle_branch() {
    let (world, hold, chat) = held().await;
    let reject = |text: &str| with(submit(&chat, text), "mode", "Reject");
    let started = world.ok("app_runs", reject("One")).await;
    assert_eq!(started["document"]["run"]["status"], "Running");
    world.goes_on(&started, TURN_BEGINS).await;
    let refused = world.rejected("app_runs", reject("Two")).await;
    assert!(refused["phrase"].as_str().unwrap().starts_with("The branch is not idle"), "{refused}");
    hold.let_go();
    settle(&world, &chat).await;
    world.ok("app_runs", with(reject("Three"), "wait", true)).await;
}

#[tokio::test]
async fn an_interrupt_goes_before_what_is_queued() {
    let (world, hold, chat) = held().await;
    let first = world.ok("app_runs", submit(&chat, "One")).await;
    world.ok("app_runs", submit(&chat, "Two")).await;
    let interrupt = with(submit(&chat, "Now"), "mode", "Interrupt");
    let done = world.ok("app_runs", interrupt).await;
    assert_eq!(
        done["phrase"],
        "Stopped the running turn. Submitted the message; its turn is running"
    );
    hold.let_go();
    settle(&world, &chat).await;
    let said = texts(&world, &chat).await;
    assert_eq!(said[0], "One");
    assert_eq!(said[said.len() - 4..], ["Now", "So far", "Two", "So far"]);
    let runs = world.read(json!({ "resource": "Runs", "branchId": chat })).await;
    let states: Vec<_> = runs["items"].as_array().unwrap().iter().collect();
    assert_eq!(states[2]["id"], first["document"]["runId"]);
    assert_eq!(states[2]["status"], "Stopped");
    assert_eq!(states.len(), 3);
}

#[tokio::test]
async fn an_aside_starts_no_turn_and_is_in_the_history() {
    let (world, hold, chat) = held().await;
    let aside = |text: &str| with(with(submit(&chat, text), "mode", "Aside"), "wait", true);
    let idle = world.ok("app_runs", aside("Before")).await;
    assert!(idle["phrase"].as_str().unwrap().contains("no turn is running"), "{idle}");
    assert_eq!(idle["document"].get("runId"), None);
    begin(&world, &chat, "One").await;
    hold.asked(1).await;
    // It answers at once although it is told to wait.
    let meanwhile = world.ok("app_runs", aside("Meanwhile")).await;
    assert!(meanwhile["phrase"].as_str().unwrap().contains("the running turn reads it"));
    assert_eq!(meanwhile["document"]["run"]["status"], "Running");
    assert_eq!(texts(&world, &chat).await, ["Before", "One"]);
    hold.let_go();
    let read = json!({ "resource": "Messages", "chatId": chat });
    world.until(read, |page| ids(page).len() == 4).await;
    // The model asked for nothing more: the aside comes after its answer, and starts no turn.
    assert_eq!(texts(&world, &chat).await, ["Before", "One", "So far", "Meanwhile"]);
    assert_eq!(branch(&world, &chat).await["status"], "Idle");
}

#[tokio::test]
async fn a_message_for_another_head_waits_for_a_rebase() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "One").await;
    let head = id(&branch(&world, &chat).await["headMessageId"]);
    let meant = |text: &str, head: &str| with(submit(&chat, text), "onlyIfHead", head);
    // An aside moves no head that anybody has to have seen.
    world.ok("app_runs", with(submit(&chat, "By the way"), "mode", "Aside")).await;
    let right = world.ok("app_runs", with(meant("Two", &head), "wait", true)).await;
    assert_eq!(right["document"]["run"]["status"], "Completed");

    let stale = world.ok("app_runs", with(meant("Three", &head), "wait", true)).await;
    assert_eq!(stale["document"]["run"]["status"], "Queued");
    assert_eq!(stale["document"]["run"]["waitingFor"]["kind"], "Rebase");
    let paused = branch(&world, &chat).await;
    assert_eq!(paused["status"], "Paused");
    assert_eq!(paused["pausedBecause"], "its next message was meant for another head");
    let skipped = world.rejected("app_runs", of("SkipFailed", &chat)).await;
    assert!(skipped["phrase"].as_str().unwrap().contains("Rebase"), "{skipped}");

    let rebased = world.ok("app_runs", of("Rebase", &chat)).await;
    assert_eq!(rebased["document"]["messageId"], stale["document"]["messageId"]);
    assert_eq!(rebased["phrase"], "Rebased the message. Started the next turn; 0 more wait");
    settle(&world, &chat).await;
    let refused = world.rejected("app_runs", of("Rebase", &chat)).await;
    assert!(refused["phrase"].as_str().unwrap().contains("waits for a rebase"), "{refused}");
    // Taking it out is the other way.
    let stale = world.ok("app_runs", meant("Four", NOBODY)).await;
    let remove =
        with(of("RemoveQueued", &chat), "messageId", stale["document"]["messageId"].clone());
    world.ok("app_runs", remove).await;
    assert_eq!(branch(&world, &chat).await["status"], "Idle");
}

#[tokio::test]
async fn a_stopped_turn_resumes_in_the_same_run() {
    let (world, hold, chat) = held().await;
    let first = begin(&world, &chat, "One").await;
    let running = world.rejected("app_runs", of("Resume", &chat)).await;
    assert!(running["phrase"].as_str().unwrap().starts_with("A turn is running"), "{running}");
    world.ok("app_runs", submit(&chat, "Two")).await;
    world.ok("app_runs", of("Stop", &chat)).await;
    hold.let_go();
    let resumed = world.ok("app_runs", of("Resume", &chat)).await;
    assert_eq!(resumed["document"]["runId"], first["document"]["runId"]);
    assert_eq!(resumed["document"]["messageId"], first["document"]["messageId"]);
    assert_eq!(resumed["document"]["run"]["status"], "Running");
    settle(&world, &chat).await;
    let said = texts(&world, &chat).await;
    assert_eq!(said[said.len() - 3..], ["So far", "Two", "So far"]);
    let runs = world.read(json!({ "resource": "Runs", "branchId": chat })).await;
    assert_eq!(ids(&runs).len(), 2);
    assert_eq!(runs["items"][1]["status"], "Completed");
    let over = world.rejected("app_runs", of("Resume", &chat)).await;
    assert!(over["phrase"].as_str().unwrap().contains("nothing to go on with"), "{over}");
}

#[tokio::test]
async fn what_was_read_is_counted() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    let empty = world.ok("app_runs", of("MarkRead", &chat)).await;
    assert_eq!(empty["phrase"], "There is nothing to read in this branch");
    world.submit(&chat, "One").await;
    // The person's own message needs no reading; the answer does.
    assert_eq!(branch(&world, &chat).await["unread"], 1);
    world.submit(&chat, "Two").await;
    assert_eq!(branch(&world, &chat).await["unread"], 3);
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let second = ids(&history)[1].clone();
    let mark = of("MarkRead", &chat);
    let some = with(mark.clone(), "messageId", second);
    let marked = world.ok("app_runs", some).await;
    assert_eq!(marked["phrase"], "Marked the branch as read up to that message");
    assert_eq!(branch(&world, &chat).await["unread"], 2);
    world.ok("app_runs", mark.clone()).await;
    assert_eq!(branch(&world, &chat).await["unread"], 0);
    let again = world.ok("app_runs", mark).await;
    assert_eq!(again["phrase"], "Marked the branch as read");
    // A fork begins with what it shares as read, and may be marked there.
    let fork = json!({
        "operation": "Submit", "mode": "Fork", "chatId": chat, "text": "Other", "wait": true,
    });
    let fork = id(&world.ok("app_runs", fork).await["document"]["branchId"]);
    let shared = with(of("MarkRead", &fork), "messageId", ids(&history)[0].clone());
    world.ok("app_runs", shared).await;
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(read["items"][0]["branches"][1]["unread"], 5);
}

#[tokio::test]
async fn a_message_keeps_what_it_was_submitted_with() {
    let (world, hold, chat) = held().await;
    world.ok("app_runs", submit(&chat, "One")).await;
    let attached = json!({
        "operation": "Submit", "chatId": chat, "text": "Two", "interactive": false,
        "intent": "Question", "resourceIds": [], "reviewIds": [], "presetIds": [],
    });
    world.ok("app_runs", attached).await;
    hold.let_go();
    settle(&world, &chat).await;
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let message = &history["items"][2];
    assert_eq!(message["intent"], "Question");
    let runs = world.read(json!({ "resource": "Runs", "chatId": chat })).await;
    assert_eq!(runs["items"][0]["interactive"], false);
    assert_eq!(runs["items"][1]["interactive"], true);
}
