//! A project's instructions.

use scripta_mcp::{Caller, RunScope};
use serde_json::json;

use crate::contract::{NOBODY, Operation, applies_as_promised, conflicts, refused};
use crate::world::{Era, call, connect, named, world};

const TOOL: &str = "app_instructions";

#[tokio::test]
async fn instructions_are_replaced_whole_under_a_revision_of_their_own() {
    let world = world().await;
    let project = world.project("Work").await;
    let read = json!({ "resource": "Instructions", "projectId": project });
    let none = world.read(read.clone()).await;
    assert_eq!((&none["items"][0]["text"], &none["items"][0]["revision"]), (&json!(""), &json!(0)));

    let replace = |text: &str, revision: u64| {
        json!({
            "operation": "Replace", "projectId": project, "text": text,
            "expectedRevision": revision,
        })
    };
    let operation = Operation {
        tool: TOOL,
        arguments: replace("Be brief.", 0),
        other: json!({ "text": "Be long." }),
        foreign: ("name", json!("N")),
    };
    let first = applies_as_promised(&world, operation).await;
    insta::assert_json_snapshot!("instructions_replaced", named(&first));
    let there = world.read(read.clone()).await;
    assert_eq!(there["items"][0], first["document"]);

    let conflict = conflicts(&world, TOOL, replace("Be long.", 0)).await;
    assert_eq!((&conflict["document"], &conflict["revision"]), (&first["document"], &json!(1)));
    // They are a document of their own: the project's revision stays.
    let one = world.read(json!({ "resource": "Project", "projectId": project })).await;
    assert_eq!(
        (&one["items"][0]["revision"], &one["items"][0]["id"]),
        (&json!(1), &json!(project))
    );

    let same = world.ok(TOOL, replace("Be brief.", 1)).await;
    assert_eq!(same["phrase"], "Project 'Work' had these instructions already");
    let gone = world.ok(TOOL, replace("", 1)).await;
    assert_eq!((&gone["document"]["text"], &gone["revision"]), (&json!(""), &json!(2)));
    assert_eq!(world.read(read).await["phrase"], "The project has no instructions");
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_sentence() {
    let world = world().await;
    let project = world.project("Work").await;
    let replace = |project: &str, text: String| {
        json!({
            "operation": "Replace", "projectId": project, "text": text, "expectedRevision": 0,
        })
    };
    let table = [
        replace(NOBODY, "Be brief.".to_owned()),
        replace(&project, "€".repeat(30_000)),
        json!({ "operation": "Replace", "projectId": project, "text": "T" }),
        json!({ "operation": "Replace", "projectId": project, "expectedRevision": 0 }),
    ];
    let mut told = Vec::new();
    for arguments in table {
        told.push(refused(&world, TOOL, arguments).await);
    }
    told.push(world.failed_read(json!({ "resource": "Instructions" })).await);
    told.push(world.failed_read(json!({ "resource": "Instructions", "projectId": NOBODY })).await);
    told.push(world.failed_read(json!({ "resource": "Project", "projectId": NOBODY })).await);
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn a_run_reads_those_of_its_own_project() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "Hello").await;
    let scope = RunScope {
        project: project.parse().unwrap(),
        chat: chat.parse().unwrap(),
        branch: chat.parse().unwrap(),
        run: scripta_events::domain::RunId::random(),
    };
    let server = world.server.with_caller(Caller::run(scope));
    let client = connect(&server, Era::Modern).await;
    for resource in ["Instructions", "Project"] {
        let own = call(&client, "app_read", json!({ "resource": resource })).await;
        let page = own.structured_content.unwrap();
        assert_eq!(page["items"][0]["id"], json!(project), "{page:#}");
    }
}
