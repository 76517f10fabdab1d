//! Deleting chats, branches and projects: rehearsed first, and gone everywhere afterwards.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::contract::{NOBODY, conflicts, refused};
use crate::turns::{TURN_BEGINS, held};
use crate::world::{World, id, ids, named, world};

/// A rehearsal unless told otherwise; then applied; then repeated with the same answer.
async fn deletes_as_promised(world: &World, tool: &str, arguments: &Value) -> (Value, Value) {
    let head = *world.log.head().borrow();
    let planned = world.ok(tool, arguments.clone()).await;
    assert_eq!(planned["status"], "Planned", "{planned:#}");
    assert_eq!(*world.log.head().borrow(), head, "a dry run wrote something");
    let mut for_real = arguments.clone();
    for_real["dryRun"] = json!(false);
    let mut stale = for_real.clone();
    stale["expectedRevision"] = json!(77);
    conflicts(world, tool, stale).await;
    let mut stale = arguments.clone();
    stale["expectedRevision"] = json!(77);
    conflicts(world, tool, stale).await;
    let mut foreign = for_real.clone();
    foreign["title"] = json!("T");
    assert!(refused(world, tool, foreign).await.contains("`title`"));
    for_real["operationId"] = json!(Uuid::now_v7());
    let done = world.ok(tool, for_real.clone()).await;
    assert_eq!(done["status"], "Applied", "{done:#}");
    assert_eq!(done.get("effect"), None);
    assert_eq!(done["document"]["revision"], done["revision"]);
    let again = world.ok(tool, for_real.clone()).await;
    assert_eq!(again["replayed"], true);
    for field in ["status", "document", "phrase", "revision", "position"] {
        assert_eq!(again[field], done[field], "{field}");
    }
    // Under another operation id there is nothing left to delete, rehearsed or not.
    for_real["operationId"] = json!(Uuid::now_v7());
    assert!(refused(world, tool, for_real).await.contains("was deleted"));
    assert!(refused(world, tool, arguments.clone()).await.contains("was deleted"));
    (planned, done)
}

async fn gone_reads(world: &World, reads: &[Value]) {
    for read in reads {
        let told = world.failed_read(read.clone()).await;
        assert!(told.contains("was deleted"), "{read}: {told}");
    }
}

#[tokio::test]
async fn a_deleted_chat_is_gone_and_what_was_answered_before_still_is() {
    let world = world().await;
    let project = world.project("Work").await;
    let create = json!({
        "operation": "Create", "projectId": project, "title": "Goes", "operationId": Uuid::now_v7(),
    });
    let made = world.ok("app_chats", create.clone()).await;
    let chat = id(&made["document"]["id"]);
    let submit = json!({
        "operation": "Submit", "branchId": chat, "text": "quokka", "operationId": Uuid::now_v7(),
        "wait": true,
    });
    let submitted = world.ok("app_runs", submit.clone()).await;
    let stays = world.chat(&project, "Stays").await;

    let delete = json!({ "operation": "Delete", "chatId": chat, "expectedRevision": 1 });
    let (planned, done) = deletes_as_promised(&world, "app_chats", &delete).await;
    insta::assert_json_snapshot!("chat_delete_planned", named(&planned));
    insta::assert_json_snapshot!("chat_deleted", named(&done));

    assert_eq!(
        ids(&world.read(json!({ "resource": "Chats" })).await),
        std::slice::from_ref(&stays)
    );
    for read in [
        json!({ "resource": "Search", "query": "quokka", "roles": ["User", "Assistant"] }),
        json!({ "resource": "Runs" }),
    ] {
        assert_eq!(world.read(read).await["items"], json!([]));
    }
    let projects = world.read(json!({ "resource": "Projects" })).await;
    assert_eq!(projects["items"][0]["chats"], 1);
    let reads = [
        json!({ "resource": "Chat", "chatId": chat }),
        json!({ "resource": "Messages", "chatId": chat }),
        json!({ "resource": "Messages", "branchId": chat }),
        json!({ "resource": "Runs", "chatId": chat }),
        json!({ "resource": "Search", "query": "quokka", "chatId": chat }),
    ];
    gone_reads(&world, &reads).await;
    for (tool, arguments) in [
        (
            "app_chats",
            json!({ "operation": "Rename", "chatId": chat, "title": "T", "expectedRevision": 1 }),
        ),
        ("app_chats", json!({ "operation": "RenameBranch", "branchId": chat, "title": "T" })),
        ("app_runs", json!({ "operation": "Submit", "chatId": chat, "text": "Hi" })),
        (
            "app_runs",
            json!({ "operation": "Submit", "mode": "Fork", "chatId": chat, "text": "Hi" }),
        ),
        ("app_runs", json!({ "operation": "Stop", "branchId": chat })),
    ] {
        assert!(refused(&world, tool, arguments).await.contains("was deleted"));
    }
    let unknown = json!({ "operation": "Delete", "chatId": NOBODY, "expectedRevision": 1 });
    assert!(refused(&world, "app_chats", unknown).await.contains("There is no chat"));

    let again = world.ok("app_chats", create).await;
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &made["document"]));
    let again = world.ok("app_runs", submit).await;
    assert_eq!(again["replayed"], true);
    assert_eq!(again["document"]["runId"], submitted["document"]["runId"]);
}

#[tokio::test]
async fn a_branch_goes_and_its_forks_may_keep_what_they_share() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "One").await;
    let fork = async |from: &str, title: &str| {
        let fork = json!({
            "operation": "Submit", "mode": "Fork", "branchId": from, "text": title, "title": title,
            "wait": true,
        });
        id(&world.ok("app_runs", fork).await["document"]["branchId"])
    };
    let outer = fork(&chat, "zebra outer").await;
    let inner = fork(&outer, "zebra inner").await;
    let delete = |branch: &str, more: Value| {
        let mut delete =
            json!({ "operation": "DeleteBranch", "branchId": branch, "expectedRevision": 1 });
        more.as_object().unwrap().iter().for_each(|(name, value)| delete[name] = value.clone());
        delete
    };
    for more in [json!({}), json!({ "dryRun": false })] {
        let told = refused(&world, "app_chats", delete(&outer, more)).await;
        assert!(told.contains(&inner) && told.contains("keepForks"), "{told}");
    }
    let told = refused(&world, "app_chats", delete(&chat, json!({ "keepForks": true }))).await;
    assert!(told.contains("first branch"), "{told}");
    let kept = delete(&outer, json!({ "keepForks": true }));
    let (planned, done) = deletes_as_promised(&world, "app_chats", &kept).await;
    insta::assert_json_snapshot!("branch_delete_planned", named(&planned));
    insta::assert_json_snapshot!("branch_deleted", named(&done));

    let history = world.read(json!({ "resource": "Messages", "branchId": inner })).await;
    assert_eq!(history["items"].as_array().unwrap().len(), 6);
    gone_reads(&world, &[json!({ "resource": "Messages", "branchId": outer })]).await;
    let shown = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let shown = &shown["items"][0];
    assert_eq!((&shown["branchCount"], &shown["messages"]), (&json!(2), &json!(6)));
    assert_eq!(shown["branches"].as_array().unwrap().len(), 2);
    let search = json!({ "resource": "Search", "query": "zebra", "roles": ["User"] });
    let found = world.read(search.clone()).await;
    let branches: Vec<&Value> =
        found["items"].as_array().unwrap().iter().map(|hit| &hit["branchId"]).collect();
    assert_eq!(branches, [&json!(inner), &json!(inner)]);
    world.submit_to(&inner, "More").await;

    let rest = delete(&inner, json!({ "dryRun": false }));
    world.ok("app_chats", rest).await;
    assert_eq!(world.read(search).await["items"], json!([]));
    let unknown = delete(NOBODY, json!({}));
    assert!(refused(&world, "app_chats", unknown).await.contains("There is no branch"));
}

#[tokio::test]
async fn a_running_turn_is_stopped_with_its_chat() {
    let (world, _hold, chat) = held().await;
    let submit = json!({ "operation": "Submit", "chatId": chat, "text": "One" });
    let first = world.ok("app_runs", submit.clone()).await;
    world.goes_on(&first, TURN_BEGINS).await;
    world.ok("app_runs", submit).await;
    let delete = json!({ "operation": "Delete", "chatId": chat, "expectedRevision": 1 });
    let (planned, _) = deletes_as_promised(&world, "app_chats", &delete).await;
    let effect = json!({ "chats": 1, "branches": 1, "messages": 1, "queued": 1, "running": 1 });
    assert_eq!(planned["effect"], effect);
    assert_eq!(world.read(json!({ "resource": "Runs" })).await["items"], json!([]));
}

#[tokio::test]
async fn a_deleted_project_is_gone_and_its_chats_are_swept() {
    let (world, _hold, chat) = held().await;
    let of = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let project = id(&of["items"][0]["projectId"]);
    let second = world.chat(&project, "Second").await;
    let other = world.project("Other").await;
    let stays = world.chat(&other, "Stays").await;
    let submit = json!({ "operation": "Submit", "chatId": chat, "text": "One" });
    world.goes_on(&world.ok("app_runs", submit).await, TURN_BEGINS).await;

    let delete = json!({ "operation": "Delete", "projectId": project, "expectedRevision": 1 });
    let told = refused(&world, "app_projects", delete.clone()).await;
    assert!(told.contains("stopRuns"), "{told}");
    let mut delete = delete;
    delete["stopRuns"] = json!(true);
    let planned = world.ok("app_projects", delete.clone()).await;
    insta::assert_json_snapshot!("project_delete_planned", named(&planned));
    let mut stale = delete.clone();
    stale["expectedRevision"] = json!(7);
    conflicts(&world, "app_projects", stale).await;
    let mut foreign = delete.clone();
    foreign["name"] = json!("N");
    assert!(refused(&world, "app_projects", foreign).await.contains("`name`"));
    delete["dryRun"] = json!(false);
    delete["operationId"] = json!(Uuid::now_v7());
    let done = world.ok("app_projects", delete.clone()).await;
    insta::assert_json_snapshot!("project_deleted", named(&done));

    assert_eq!(ids(&world.read(json!({ "resource": "Projects" })).await), [other]);
    assert_eq!(ids(&world.read(json!({ "resource": "Chats" })).await), [stays]);
    assert_eq!(world.read(json!({ "resource": "Runs" })).await["items"], json!([]));
    let reads = [
        json!({ "resource": "Chats", "projectId": project }),
        json!({ "resource": "Chat", "chatId": second }),
        json!({ "resource": "Messages", "chatId": chat }),
        json!({ "resource": "Search", "query": "One", "projectId": project }),
    ];
    gone_reads(&world, &reads).await;
    let again = world.ok("app_projects", delete.clone()).await;
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &done["document"]));
    // The sweep goes on meanwhile.
    let create = json!({ "operation": "Create", "projectId": project });
    let submit = json!({ "operation": "Submit", "chatId": second, "text": "Hi" });
    for (tool, arguments) in [("app_chats", create), ("app_runs", submit)] {
        let result = crate::world::call(&world.client, tool, arguments).await;
        assert!(crate::world::text(&result).contains("was deleted"));
    }
    // Both chats' own deletions, the stopped run's event and its turn's, the project's before.
    let before = done["position"].as_u64().unwrap();
    let swept = async {
        let mut head = world.log.head();
        drop(head.wait_for(|head| head.0 >= before + 4).await);
    };
    tokio::time::timeout(Duration::from_secs(20), swept).await.unwrap();
    delete["operationId"] = json!(Uuid::now_v7());
    let result = crate::world::call(&world.client, "app_projects", delete).await;
    assert!(crate::world::text(&result).contains("was deleted"));
    let unknown = json!({ "operation": "Delete", "projectId": NOBODY, "expectedRevision": 1 });
    let told = refused(&world, "app_projects", unknown).await;
    assert!(told.contains("There is no project"), "{told}");
}
