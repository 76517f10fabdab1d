//! Long-term memory.

use scripta_events::domain::RunId;
use scripta_mcp::{Caller, RunScope};
use serde_json::{Value, json};

use crate::contract::{NOBODY, Operation, applies_as_promised, conflicts, refused};
use crate::world::{Era, Listener, World, call, connect, id, ids, named, world, world_with};

const TOOL: &str = "app_memory";

async fn remember(world: &World, project: Option<&str>, title: &str, pinned: bool) -> String {
    let scope = if project.is_some() { "Project" } else { "Workspace" };
    let mut create = json!({
        "operation": "Create", "scope": scope, "title": title, "text": format!("About {title}."),
        "pinned": pinned,
    });
    if let Some(project) = project {
        create["projectId"] = json!(project);
    }
    id(&world.ok(TOOL, create).await["document"]["id"])
}

#[tokio::test]
async fn an_entry_is_made_changed_and_deleted() {
    let world = world().await;
    let project = world.project("Work").await;
    let create = Operation {
        tool: TOOL,
        arguments: json!({
            "operation": "Create", "scope": "Project", "projectId": project, "title": "Tea",
            "text": "Green, at four.", "tags": ["taste"],
        }),
        other: json!({ "title": "Coffee" }),
        foreign: ("memoryId", json!(NOBODY)),
    };
    let made = applies_as_promised(&world, create).await;
    insta::assert_json_snapshot!("memory_created", named(&made));
    let entry = id(&made["document"]["id"]);
    let read = json!({ "resource": "Memory", "memoryId": entry });
    assert_eq!(world.read(read.clone()).await["items"][0], made["document"]);

    let update = json!({
        "operation": "Update", "memoryId": entry, "text": "Black.", "pinned": true,
        "expectedRevision": 1,
    });
    let operation = Operation {
        tool: TOOL,
        arguments: update.clone(),
        other: json!({ "text": "White." }),
        foreign: ("scope", json!("Workspace")),
    };
    let updated = applies_as_promised(&world, operation).await;
    assert_eq!((&updated["revision"], &updated["document"]["title"]), (&json!(2), &json!("Tea")));
    assert_eq!(world.read(read.clone()).await["items"][0], updated["document"]);
    let conflict = conflicts(&world, TOOL, update.clone()).await;
    assert_eq!(conflict["document"], updated["document"]);

    let delete = json!({ "operation": "Delete", "memoryId": entry, "expectedRevision": 2 });
    let operation = Operation {
        tool: TOOL,
        arguments: delete.clone(),
        other: json!({ "memoryId": NOBODY }),
        foreign: ("title", json!("Tea")),
    };
    conflicts(
        &world,
        TOOL,
        json!({ "operation": "Delete", "memoryId": entry, "expectedRevision": 1 }),
    )
    .await;
    // Another entry's deletion is another operation; an entry that isn't there is found missing
    // before that.
    let other = remember(&world, None, "Other", false).await;
    let operation = Operation { other: json!({ "memoryId": other }), ..operation };
    let deleted = applies_as_promised(&world, operation).await;
    insta::assert_json_snapshot!("memory_deleted", named(&deleted));

    // Gone, not unknown, whatever the revision.
    let gone = refused(&world, TOOL, delete).await;
    assert!(gone.ends_with("was deleted; app_read Memory lists what there is"), "{gone}");
    let gone = refused(&world, TOOL, update).await;
    assert!(gone.contains("was deleted"), "{gone}");
    let gone = world.failed_read(read).await;
    assert!(gone.contains("was deleted"), "{gone}");
    let all = world.read(json!({ "resource": "Memory" })).await;
    assert_eq!(ids(&all), [other]);
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_a_sentence() {
    let world = world().await;
    let project = world.project("Work").await;
    let entry = remember(&world, Some(&project), "Tea", false).await;
    let create = |more: Value| {
        let mut create = json!({ "operation": "Create", "title": "T", "text": "X" });
        let entries = more.as_object().unwrap().iter();
        entries.for_each(|(name, value)| create[name] = value.clone());
        create
    };
    let table = [
        create(json!({})),
        create(json!({ "scope": "Project" })),
        create(json!({ "scope": "Workspace", "projectId": project })),
        create(json!({ "scope": "Project", "projectId": NOBODY })),
        create(json!({ "scope": "Workspace", "text": " " })),
        create(json!({ "scope": "Workspace", "text": "€".repeat(6_000) })),
        create(json!({ "scope": "Workspace", "tags": ["a", "a"] })),
        create(json!({ "scope": "Workspace", "tags": ["t".repeat(65)] })),
        create(json!({ "scope": "Workspace", "title": "two\nlines" })),
        json!({ "operation": "Update", "memoryId": entry, "expectedRevision": 1 }),
        json!({ "operation": "Update", "memoryId": entry, "title": "T" }),
        json!({
            "operation": "Update", "memoryId": NOBODY, "title": "T", "expectedRevision": 1,
        }),
        json!({ "operation": "Delete", "memoryId": NOBODY, "expectedRevision": 1 }),
    ];
    let mut told = Vec::new();
    for arguments in table {
        told.push(refused(&world, TOOL, arguments).await);
    }
    for read in [
        json!({ "resource": "Memory", "memoryId": NOBODY }),
        json!({ "resource": "Memory", "projectId": NOBODY }),
        json!({ "resource": "Memory", "scope": "Project" }),
        json!({ "resource": "Memory", "scope": "Workspace", "projectId": project }),
    ] {
        told.push(world.failed_read(read).await);
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn it_is_listed_by_creation_for_the_workspace_a_project_or_all() {
    let world = world().await;
    let (work, home) = (world.project("Work").await, world.project("Home").await);
    let first = remember(&world, Some(&work), "First", false).await;
    let second = remember(&world, None, "Second", true).await;
    let third = remember(&world, Some(&home), "Third", false).await;
    let fourth = remember(&world, Some(&work), "Fourth", true).await;
    for (arguments, expected) in [
        (json!({}), vec![&first, &second, &third, &fourth]),
        (json!({ "scope": "Workspace" }), vec![&second]),
        (json!({ "scope": "Project", "projectId": work }), vec![&first, &fourth]),
        (json!({ "projectId": home }), vec![&third]),
    ] {
        let mut read = arguments;
        read["resource"] = json!("Memory");
        let page = world.read(read).await;
        assert_eq!(ids(&page).iter().collect::<Vec<_>>(), expected);
    }

    // Page by page, who is on the listing is fixed; what is deleted meanwhile drops out.
    let mut read = json!({ "resource": "Memory", "limit": 1 });
    let page = world.read(read.clone()).await;
    assert_eq!((ids(&page), &page["truncated"]), (vec![first.clone()], &json!(true)));
    remember(&world, None, "Fifth", false).await;
    let delete = json!({ "operation": "Delete", "memoryId": second, "expectedRevision": 1 });
    world.ok(TOOL, delete).await;
    let mut rest = Vec::new();
    read["cursor"] = page["nextCursor"].clone();
    while read["cursor"].is_string() {
        let page = world.read(read.clone()).await;
        rest.extend(ids(&page));
        read["cursor"] = page["nextCursor"].clone();
    }
    assert_eq!(rest, [third, fourth]);

    // In a run, an omitted project is its own.
    let chat = world.chat(&work, "Notes").await;
    let scope = RunScope {
        project: work.parse().unwrap(),
        chat: chat.parse().unwrap(),
        branch: chat.parse().unwrap(),
        run: RunId::random(),
    };
    let server = world.server.with_caller(Caller::run(scope));
    let client = connect(&server, Era::Modern).await;
    let own = call(&client, "app_read", json!({ "resource": "Memory" })).await;
    assert_eq!(ids(&own.structured_content.unwrap()).len(), 2);
    let workspace = json!({ "resource": "Memory", "scope": "workspace" });
    let workspace = call(&client, "app_read", workspace).await;
    assert_eq!(ids(&workspace.structured_content.unwrap()).len(), 1);
}

#[tokio::test]
async fn it_goes_with_its_project() {
    let world = world().await;
    let project = world.project("Work").await;
    let entry = remember(&world, Some(&project), "Tea", false).await;
    let kept = remember(&world, None, "Kept", false).await;
    let delete = json!({
        "operation": "Delete", "projectId": project, "expectedRevision": 1, "dryRun": false,
    });
    world.ok("app_projects", delete).await;
    assert_eq!(ids(&world.read(json!({ "resource": "Memory" })).await), [kept]);
    for read in [
        json!({ "resource": "Memory", "memoryId": entry }),
        json!({ "resource": "Memory", "projectId": project }),
        json!({ "resource": "Instructions", "projectId": project }),
    ] {
        let gone = world.failed_read(read).await;
        assert!(gone.contains("was deleted"), "{gone}");
    }
    for change in [
        json!({ "operation": "Delete", "memoryId": entry, "expectedRevision": 1 }),
        json!({
            "operation": "Create", "scope": "Project", "projectId": project, "title": "T",
            "text": "X",
        }),
    ] {
        let gone = refused(&world, TOOL, change).await;
        assert!(gone.contains("was deleted"), "{gone}");
    }
}

#[tokio::test]
async fn a_turn_begins_with_the_instructions_and_what_is_remembered_the_pinned_first() {
    let listener = Listener::new();
    let world = world_with(listener.clone()).await;
    let (work, home) = (world.project("Work").await, world.project("Home").await);
    remember(&world, Some(&work), "Plain of work", false).await;
    remember(&world, None, "Plain of all", false).await;
    remember(&world, Some(&work), "Pinned of work", true).await;
    let unpinned = remember(&world, None, "Pinned of all", true).await;
    remember(&world, Some(&home), "Pinned of home", true).await;
    let replace = json!({
        "operation": "Replace", "projectId": work, "text": "Be brief.", "expectedRevision": 0,
    });
    world.ok("app_instructions", replace).await;
    let chat = world.chat(&work, "Notes").await;
    world.submit(&chat, "Hello").await;
    let told = listener.last();
    assert!(told.starts_with(&format!("You are in projectId {work}, chatId {chat}")), "{told}");
    let (_, told) = told.split_once("\n\n").unwrap();
    insta::assert_snapshot!("briefing", told);

    let unpin = json!({
        "operation": "Update", "memoryId": unpinned, "pinned": false, "expectedRevision": 1,
    });
    world.ok(TOOL, unpin).await;
    world.submit(&chat, "Hello again").await;
    let told = listener.last();
    let order = ["Pinned of work", "Plain of all", "Pinned of all", "Plain of work"];
    let places: Vec<_> = order.iter().map(|title| told.find(&format!("## {title}"))).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{told}");
    assert!(!told.contains("home"));
}
