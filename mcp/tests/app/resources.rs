//! References to files and directories, and reviews of change sets.

use scripta_events::domain::RunId;
use scripta_mcp::{Caller, RunScope};
use serde_json::{Value, json};

use crate::contract::{NOBODY, Operation, applies_as_promised, conflicts, refused};
use crate::world::{Era, Listener, World, call, connect, id, ids, named, world, world_with};

const TOOL: &str = "app_resources";

/// A folder with a file and a link to it.
fn folder() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/a.rs"), "fn a() {}").unwrap();
    std::os::unix::fs::symlink(root.join("src/a.rs"), root.join("link")).unwrap();
    (dir, root.to_str().unwrap().to_owned())
}

fn create(project: &str, path: &str, kind: &str) -> Value {
    json!({ "operation": "Create", "projectId": project, "path": path, "kind": kind })
}

#[tokio::test]
async fn the_same_path_is_the_same_resource_until_it_is_retired() {
    let world = world().await;
    let project = world.project("Work").await;
    let (_dir, root) = folder();
    world.may_read(&project, "/").await;
    let operation = Operation {
        tool: TOOL,
        arguments: create(&project, &format!("{root}/src/a.rs"), "File"),
        other: json!({ "path": "/" }),
        foreign: ("name", json!("N")),
    };
    let made = applies_as_promised(&world, operation).await;
    let resource = id(&made["document"]["id"]);
    assert_eq!(made["document"]["path"], format!("{root}/src/a.rs"));

    // By a link it is the same; the receipt names it, so that a repeat answers the same.
    let mut linked = create(&project, &format!("{root}/link"), "File");
    let again = world.ok(TOOL, linked.clone()).await;
    assert_eq!(again["document"], made["document"]);
    assert!(again["phrase"].as_str().unwrap().ends_with("already"));
    linked["operationId"] = json!(uuid::Uuid::now_v7());
    let first = world.ok(TOOL, linked.clone()).await;
    std::fs::remove_file(format!("{root}/link")).unwrap();
    let repeat = world.ok(TOOL, linked).await;
    assert_eq!(repeat["replayed"], true);
    assert_eq!(repeat["document"], first["document"]);

    let retire = json!({ "operation": "Retire", "resourceId": resource, "expectedRevision": 1 });
    let operation = Operation {
        tool: TOOL,
        arguments: retire.clone(),
        other: json!({ "resourceId": NOBODY }),
        foreign: ("path", json!("/")),
    };
    // An unknown resource is found missing before the operation id is looked at.
    let other = create(&project, &root, "Directory");
    let other = id(&world.ok(TOOL, other).await["document"]["id"]);
    let operation = Operation { other: json!({ "resourceId": other }), ..operation };
    let retired = applies_as_promised(&world, operation).await;
    let shown = retired.to_string().replace(&root, "<root>");
    insta::assert_json_snapshot!("resource_retired", named(&serde_json::from_str(&shown).unwrap()));
    let conflict = conflicts(&world, TOOL, retire).await;
    assert_eq!(conflict["document"], retired["document"]);
    let again = json!({ "operation": "Retire", "resourceId": resource, "expectedRevision": 2 });
    let again = world.ok(TOOL, again).await;
    assert!(again["phrase"].as_str().unwrap().ends_with("was retired already"));

    // The path is free for a new one, and the retired one is listed, marked.
    let new = world.ok(TOOL, create(&project, &format!("{root}/src/a.rs"), "File")).await;
    let read = json!({ "resource": "Resources", "projectId": project });
    let page = world.read(read).await;
    assert_eq!(ids(&page), [resource, other, id(&new["document"]["id"])]);
    let marks: Vec<_> = page["items"].as_array().unwrap().iter().map(|it| &it["retired"]).collect();
    assert_eq!(marks, [&json!(true), &json!(false), &json!(false)]);
    assert_eq!(page["items"][0], retired["document"]);
    // None of it moves the project's own revision.
    let one = world.read(json!({ "resource": "Project", "projectId": project })).await;
    assert_eq!(one["items"][0]["revision"], 1);
}

#[tokio::test]
async fn a_resource_is_there_is_what_it_is_said_to_be_and_is_readable() {
    let world = world().await;
    let (_dir, root) = folder();
    let (_other_dir, other) = folder();
    let make = json!({ "operation": "Create", "name": "Work", "directories": [root] });
    let project = id(&world.ok("app_projects", make).await["document"]["id"]);
    world.ok(TOOL, create(&project, &format!("{root}/src"), "Directory")).await;
    let table = [
        create(NOBODY, &root, "Directory"),
        create(&project, "src", "Directory"),
        create(&project, &format!("{root}/none"), "File"),
        create(&project, &format!("{root}/src"), "File"),
        create(&project, &format!("{root}/src/../../"), "Directory"),
        create(&project, &other, "Directory"),
        json!({ "operation": "Create", "projectId": project, "path": root }),
        json!({ "operation": "Retire", "resourceId": NOBODY, "expectedRevision": 1 }),
        json!({ "operation": "Retire", "resourceId": NOBODY }),
    ];
    let mut told = Vec::new();
    let parent = std::path::Path::new(&root).parent().unwrap().to_str().unwrap();
    for arguments in table {
        let phrase = refused(&world, TOOL, arguments).await;
        let phrase = phrase.replace(&root, "<root>").replace(&other, "<other>");
        told.push(phrase.replace(&format!("'{parent}'"), "'<parent>'"));
    }
    told.push(world.failed_read(json!({ "resource": "Resources", "projectId": NOBODY })).await);
    insta::assert_snapshot!(told.join("\n"));
}

/// A chat with an assistant message, whose change set the test makes up.
async fn answered(world: &World) -> (String, String, String) {
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    world.submit(&chat, "Change it").await;
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let of = |role: &str| {
        let mut messages = history["items"].as_array().unwrap().iter();
        id(&messages.find(|message| message["role"] == role).unwrap()["id"])
    };
    (chat, of("User"), of("Assistant"))
}

#[tokio::test]
async fn a_review_is_made_and_changed_and_does_not_move_its_chat() {
    let world = world().await;
    let (chat, _, message) = answered(&world).await;
    let operation = Operation {
        tool: TOOL,
        arguments: json!({
            "operation": "CreateReview", "chatId": chat, "messageId": message,
            "name": "First look", "files": ["src/a.rs", "src/b.rs"],
            "comments": [{ "file": "src/b.rs", "line": 3, "text": "Why?" },
                         { "file": "src/b.rs", "text": "Nice." }],
        }),
        other: json!({ "name": "Second look" }),
        foreign: ("path", json!("/")),
    };
    let made = applies_as_promised(&world, operation).await;
    insta::assert_json_snapshot!("review_created", named(&made));
    let review = id(&made["document"]["id"]);
    let read = json!({ "resource": "Review", "reviewId": review });
    assert_eq!(world.read(read.clone()).await["items"][0], made["document"]);

    let update = json!({
        "operation": "UpdateReview", "reviewId": review, "comments": [], "expectedRevision": 1,
    });
    let operation = Operation {
        tool: TOOL,
        arguments: update.clone(),
        other: json!({ "name": "Second look" }),
        foreign: ("chatId", json!(chat)),
    };
    let updated = applies_as_promised(&world, operation).await;
    assert_eq!((&updated["revision"], &updated["document"]["comments"]), (&json!(2), &json!([])));
    let conflict = conflicts(&world, TOOL, update).await;
    assert_eq!(conflict["document"], updated["document"]);
    assert_eq!(world.read(read).await["items"][0], updated["document"]);
    let one = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    assert_eq!(one["items"][0]["revision"], 1);

    let second = json!({
        "operation": "CreateReview", "chatId": chat, "messageId": message, "name": "B",
        "files": ["b"],
    });
    let second = id(&world.ok(TOOL, second).await["document"]["id"]);
    let mut read = json!({ "resource": "Reviews", "chatId": chat, "limit": 1 });
    let page = world.read(read.clone()).await;
    assert_eq!(ids(&page), std::slice::from_ref(&review));
    read["cursor"] = page["nextCursor"].clone();
    assert_eq!(ids(&world.read(read).await), std::slice::from_ref(&second));

    // In a run, an omitted chat is its own.
    let project = id(&one["items"][0]["projectId"]);
    let scope = RunScope {
        project: project.parse().unwrap(),
        chat: chat.parse().unwrap(),
        branch: chat.parse().unwrap(),
        run: RunId::random(),
    };
    let server = world.server.with_caller(Caller::run(scope));
    let client = connect(&server, Era::Modern).await;
    let own = call(&client, "app_read", json!({ "resource": "Reviews" })).await;
    assert_eq!(ids(&own.structured_content.unwrap()), [review, second]);
    let own = call(&client, "app_read", json!({ "resource": "Resources" })).await;
    assert_eq!(own.is_error, Some(false));
}

#[tokio::test]
async fn a_review_that_cannot_be_is_refused_with_a_sentence() {
    let world = world().await;
    let (chat, asked, message) = answered(&world).await;
    let project = world.project("Other").await;
    let other = world.chat(&project, "Other").await;
    let make = |chat: &str, message: &str, more: Value| {
        let mut make = json!({
            "operation": "CreateReview", "chatId": chat, "messageId": message, "name": "N",
            "files": ["a"],
        });
        let entries = more.as_object().unwrap().iter();
        entries.for_each(|(name, value)| make[name] = value.clone());
        make
    };
    let table = [
        make(NOBODY, &message, json!({})),
        make(&other, &message, json!({})),
        make(&chat, NOBODY, json!({})),
        make(&chat, &asked, json!({})),
        make(&chat, &message, json!({ "files": [] })),
        make(&chat, &message, json!({ "files": ["a", "a"] })),
        make(&chat, &message, json!({ "comments": [{ "file": "b", "text": "x" }] })),
        make(&chat, &message, json!({ "comments": [{ "file": "a", "text": " " }] })),
        make(&chat, &message, json!({ "comments": [{ "text": "x" }] })),
        make(&chat, &message, json!({ "comments": [{ "file": "a", "text": "x", "by": "me" }] })),
        make(&chat, &message, json!({ "name": " " })),
        json!({ "operation": "UpdateReview", "reviewId": NOBODY, "name": "N", "expectedRevision": 1 }),
        json!({ "operation": "UpdateReview", "reviewId": NOBODY, "expectedRevision": 1 }),
    ];
    let mut told = Vec::new();
    for arguments in table {
        let phrase = refused(&world, TOOL, arguments).await;
        let phrase = phrase.replace(&message, "<message>").replace(&other, "<other chat>");
        told.push(phrase.replace(&chat, "<chat>"));
    }
    told.push(world.failed_read(json!({ "resource": "Review", "reviewId": NOBODY })).await);
    told.push(world.failed_read(json!({ "resource": "Review" })).await);
    told.push(world.failed_read(json!({ "resource": "Reviews", "chatId": NOBODY })).await);
    insta::assert_snapshot!(told.join("\n"));
}

fn with(arguments: &Value, name: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[name] = value;
    arguments
}

#[tokio::test]
async fn they_go_with_their_project_and_chat() {
    let world = world().await;
    let (chat, _, message) = answered(&world).await;
    let page = world.read(json!({ "resource": "Projects" })).await;
    let project = id(&page["items"][0]["id"]);
    let (_dir, root) = folder();
    world.may_read(&project, &root).await;
    let make = create(&project, &root, "Directory");
    let resource = id(&world.ok(TOOL, make.clone()).await["document"]["id"]);
    let review = json!({
        "operation": "CreateReview", "chatId": chat, "messageId": message, "name": "N",
        "files": ["a"], "operationId": uuid::Uuid::now_v7(),
    });
    let made = world.ok(TOOL, review.clone()).await;
    let update = json!({
        "operation": "UpdateReview", "reviewId": made["document"]["id"], "name": "M",
        "expectedRevision": 1,
    });
    let delete = json!({
        "operation": "Delete", "chatId": chat, "expectedRevision": 1, "dryRun": false,
    });
    world.ok("app_chats", delete).await;
    let again = world.ok(TOOL, review.clone()).await;
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &made["document"]));
    let mut new = review;
    new["operationId"] = json!(uuid::Uuid::now_v7());
    // Nobody is asked to decide again about what is gone.
    let stale = with(&update, "expectedRevision", json!(7));
    for arguments in [new, update, stale] {
        assert!(refused(&world, TOOL, arguments).await.contains("was deleted"));
    }
    for read in [
        json!({ "resource": "Review", "reviewId": made["document"]["id"] }),
        json!({ "resource": "Reviews", "chatId": chat }),
    ] {
        assert!(world.failed_read(read).await.contains("was deleted"));
    }

    let delete = json!({
        "operation": "Delete", "projectId": project, "expectedRevision": 1, "dryRun": false,
    });
    world.ok("app_projects", delete).await;
    let retire = json!({ "operation": "Retire", "resourceId": resource, "expectedRevision": 1 });
    let rename = json!({
        "operation": "Update", "projectId": project, "name": "N", "expectedRevision": 1,
    });
    assert!(refused(&world, "app_projects", rename).await.contains("was deleted"));
    for arguments in [make, retire] {
        assert!(refused(&world, TOOL, arguments).await.contains("was deleted"));
    }
    let all = world.read(json!({ "resource": "Resources" })).await;
    assert_eq!(all["items"], json!([]));
    let read = json!({ "resource": "Resources", "projectId": project });
    assert!(world.failed_read(read).await.contains("was deleted"));
}

#[tokio::test]
async fn what_is_attached_to_a_message_is_told_to_the_model_as_it_is_then() {
    let listener = Listener::new();
    let world = world_with(listener.clone()).await;
    let (chat, _, message) = answered(&world).await;
    assert!(!listener.last().contains("attached"));
    let projects = world.read(json!({ "resource": "Projects" })).await;
    let project = id(&projects["items"][0]["id"]);
    let (_dir, root) = folder();
    world.may_read(&project, &root).await;
    let made = world.ok(TOOL, create(&project, &format!("{root}/src/a.rs"), "File")).await;
    let resource = id(&made["document"]["id"]);
    let review = json!({
        "operation": "CreateReview", "chatId": chat, "messageId": message, "name": "Look",
        "files": ["a.rs"], "comments": [{ "file": "a.rs", "line": 7, "text": "Why?" }],
    });
    let review = id(&world.ok(TOOL, review).await["document"]["id"]);
    let submit = |resource: &str, review: &str, mode: &str| {
        json!({
            "operation": "Submit", "chatId": chat, "text": "Look here", "mode": mode,
            "resourceIds": [resource], "reviewIds": [review], "wait": true,
        })
    };
    world.ok("app_runs", submit(&resource, &review, "Enqueue")).await;
    let told = listener.last();
    assert!(told.contains(&format!("- the file {root}/src/a.rs (resource {resource})")), "{told}");
    assert!(told.contains("- a.rs\n    - line 7: Why?"), "{told}");
    let history = world.read(json!({ "resource": "Messages", "chatId": chat })).await;
    let messages = history["items"].as_array().unwrap();
    let sent = messages.iter().rfind(|message| message["role"] == "User").unwrap();
    assert_eq!((&sent["refs"], &sent["reviews"]), (&json!([resource]), &json!([review])));

    // A later turn has the review as it is then, and a retired resource where it was attached.
    let update = json!({
        "operation": "UpdateReview", "reviewId": review, "expectedRevision": 1,
        "comments": [{ "file": "a.rs", "text": "Now I see." }],
    });
    world.ok(TOOL, update).await;
    let retire = json!({ "operation": "Retire", "resourceId": resource, "expectedRevision": 1 });
    world.ok(TOOL, retire).await;
    world.submit(&chat, "And now?").await;
    let told = listener.last();
    assert!(told.contains("- a.rs\n    - Now I see.") && told.contains(&resource), "{told}");

    // What can't be attached, in every way to submit.
    let other = world.project("Other").await;
    world.may_read(&other, &root).await;
    let made = world.ok(TOOL, create(&other, &root, "Directory")).await;
    let elsewhere = id(&made["document"]["id"]);
    for mode in ["Enqueue", "Fork", "Aside", "Interrupt", "Reject"] {
        for (resource, review, word) in [
            (&*resource, &*review, "was retired"),
            (&*elsewhere, &*review, "no resource of the project"),
            (NOBODY, &*review, "no resource of the project"),
        ] {
            let phrase = refused(&world, "app_runs", submit(resource, review, mode)).await;
            assert!(phrase.contains(word), "{mode}: {phrase}");
        }
        let mut only_review = submit(NOBODY, NOBODY, mode);
        only_review.as_object_mut().unwrap().remove("resourceIds");
        let phrase = refused(&world, "app_runs", only_review).await;
        assert!(phrase.contains("no review in the chat"), "{mode}: {phrase}");
    }
}
