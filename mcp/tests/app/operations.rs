//! One table over all operations that change something: what each of them promises, so that none
//! is forgotten. What branches do, `app_runs`, has a table of its own beside this one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::contract::{NOBODY, Operation, applies_once, conflicts, refused};
use crate::security::connection;
use crate::world::{World, id, world};

/// What there is in a world that an operation can be about.
pub struct Scene {
    pub world: World,
    /// By the names that arguments have for them.
    pub ids: BTreeMap<&'static str, String>,
    folder: tempfile::TempDir,
}

/// How many events the sweep after a project's deletion writes: one for each of its chats.
const SWEPT: u64 = 2;

/// One operation.
pub struct Row {
    pub tool: &'static str,
    operation: &'static str,
    /// Its own arguments, beside the ids that it names and the revision it expects.
    arguments: fn(&Scene) -> Value,
    /// The things that it is about: the first is the one that may be unknown or deleted.
    about: &'static [&'static str],
    /// The revision that it expects; `None` where it takes none.
    expects: Option<u64>,
    /// Arguments that make another operation of it.
    other: fn(&Scene) -> Value,
    /// An argument of the tool that it does not take.
    foreign: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A dry run of it is refused.
    Changes,
    /// A dry run of it is what it does unless told otherwise.
    Destroys,
}

const fn row(
    tool: &'static str,
    operation: &'static str,
    about: &'static [&'static str],
    arguments: fn(&Scene) -> Value,
    other: fn(&Scene) -> Value,
) -> Row {
    Row {
        tool,
        operation,
        arguments,
        about,
        expects: None,
        other,
        foreign: "text",
        kind: Kind::Changes,
    }
}

impl Row {
    const fn expecting(self, revision: u64) -> Row {
        Row { expects: Some(revision), ..self }
    }

    const fn foreign(self, foreign: &'static str) -> Row {
        Row { foreign, ..self }
    }

    const fn destroying(self) -> Row {
        Row { kind: Kind::Destroys, ..self }
    }

    /// The call, about the things of a scene.
    pub fn call(&self, scene: &Scene) -> Value {
        let mut call = (self.arguments)(scene);
        call["operation"] = json!(self.operation);
        for name in self.about {
            call[*name] = json!(scene.ids[name]);
        }
        if let Some(revision) = self.expects {
            call["expectedRevision"] = json!(revision);
        }
        call
    }
}

/// A value that the argument of this name may have.
fn sample(name: &str) -> Value {
    match name {
        "connection" => connection("sample"),
        "settings" => json!({}),
        "pinned" | "stopRuns" => json!(true),
        "scope" => json!("Workspace"),
        name if name.ends_with("Id") => json!(NOBODY),
        _ => json!("x"),
    }
}

fn nothing(_: &Scene) -> Value {
    json!({})
}

fn title(_: &Scene) -> Value {
    json!({ "title": "New" })
}

fn other_title(_: &Scene) -> Value {
    json!({ "title": "Other" })
}

fn security(_: &Scene) -> Value {
    json!({ "security": { "grants": [{ "path": "/srv", "capabilities": ["Read"] }] } })
}

fn other_security(_: &Scene) -> Value {
    json!({ "security": { "servers": [{ "server": "app", "enabled": true }] } })
}

fn server(name: &str) -> Value {
    json!({
        "name": name, "transport": "StreamableHttp", "url": "https://h/mcp", "enabled": true,
    })
}

fn policy(scope: &str, decision: &str) -> Value {
    json!({
        "scope": scope, "server": "app", "tool": "app_chats", "policy": { "decision": decision },
    })
}

pub fn rows() -> Vec<Row> {
    vec![
        row("app_projects", "Create", &[], |_| json!({ "name": "P" }), |_| json!({ "name": "Q" }))
            .foreign("stopRuns"),
        row(
            "app_projects",
            "Update",
            &["projectId"],
            |_| json!({ "name": "P" }),
            |_| json!({ "name": "Q" }),
        )
        .expecting(1)
        .foreign("stopRuns"),
        row("app_projects", "Delete", &["projectId"], nothing, |_| json!({ "stopRuns": true }))
            .expecting(1)
            .foreign("name")
            .destroying(),
        row("app_chats", "Create", &["projectId"], title, other_title).foreign("chatId"),
        row("app_chats", "Rename", &["chatId"], title, other_title)
            .expecting(1)
            .foreign("projectId"),
        row(
            "app_chats",
            "Pin",
            &["chatId"],
            |_| json!({ "pinned": true }),
            |_| json!({ "pinned": false }),
        )
        .expecting(1)
        .foreign("title"),
        row(
            "app_chats",
            "SetEndpoint",
            &["chatId"],
            |_| json!({ "connectionId": "builtin:demo" }),
            |_| json!({ "model": "m" }),
        )
        .expecting(1)
        .foreign("title"),
        row("app_chats", "RenameBranch", &["branchId"], title, other_title).foreign("pinned"),
        row(
            "app_chats",
            "Delete",
            &["chatId"],
            nothing,
            |scene| json!({ "chatId": scene.ids["otherChatId"] }),
        )
        .expecting(1)
        .foreign("title")
        .destroying(),
        row("app_chats", "DeleteBranch", &["branchId"], nothing, |_| json!({ "keepForks": true }))
            .expecting(1)
            .foreign("title")
            .destroying(),
        row(
            "app_memory",
            "Create",
            &["projectId"],
            |_| json!({ "scope": "Project", "title": "T", "text": "X" }),
            |_| json!({ "text": "Y" }),
        )
        .foreign("memoryId"),
        row("app_memory", "Update", &["memoryId"], title, other_title)
            .expecting(1)
            .foreign("scope"),
        row(
            "app_memory",
            "Delete",
            &["memoryId"],
            nothing,
            |scene| json!({ "memoryId": scene.ids["otherMemoryId"] }),
        )
        .expecting(1)
        .foreign("title"),
        row(
            "app_instructions",
            "Replace",
            &["projectId"],
            |_| json!({ "text": "Be brief." }),
            |_| json!({ "text": "Be long." }),
        )
        .expecting(0)
        .foreign("colour"),
        row(
            "app_resources",
            "Create",
            &["projectId"],
            |scene| json!({ "path": scene.folder.path(), "kind": "Directory" }),
            |_| json!({ "path": "/" }),
        )
        .foreign("name"),
        row(
            "app_resources",
            "Retire",
            &["resourceId"],
            nothing,
            |scene| json!({ "resourceId": scene.ids["otherResourceId"] }),
        )
        .expecting(1)
        .foreign("name"),
        row(
            "app_resources",
            "CreateReview",
            &["chatId", "messageId"],
            |_| json!({ "name": "R", "files": ["a"] }),
            |_| json!({ "name": "S" }),
        )
        .foreign("path"),
        row(
            "app_resources",
            "UpdateReview",
            &["reviewId"],
            |_| json!({ "name": "New" }),
            |_| json!({ "name": "Other" }),
        )
        .expecting(1)
        .foreign("path"),
        row(
            "app_security",
            "SetGlobalSettings",
            &[],
            |_| json!({ "settings": { "name": "W" } }),
            |_| json!({ "settings": { "name": "V" } }),
        )
        .expecting(0)
        .foreign("connection"),
        row(
            "app_security",
            "SetConnection",
            &[],
            |_| json!({ "connection": connection("one") }),
            |_| json!({ "connection": connection("two") }),
        )
        .expecting(0)
        .foreign("settings"),
        row(
            "app_security",
            "DeleteConnection",
            &["connectionId"],
            nothing,
            |scene| json!({ "connectionId": scene.ids["otherConnectionId"] }),
        )
        .expecting(1)
        .foreign("settings"),
        row(
            "app_security",
            "SetGlobalSecurity",
            &[],
            |_| json!({ "security": { "servers": [], "policies": [], "grants": [] } }),
            |_| json!({ "security": { "servers": [{ "server": "app", "enabled": true }] } }),
        )
        .expecting(0)
        .foreign("settings"),
        row(
            "app_security",
            "SetToolServer",
            &[],
            |_| json!({ "server": server("one") }),
            |_| json!({ "server": server("two") }),
        )
        .expecting(0)
        .foreign("settings"),
        row(
            "app_security",
            "DeleteToolServer",
            &["serverId"],
            nothing,
            |scene| json!({ "serverId": scene.ids["otherServerId"] }),
        )
        .expecting(1)
        .foreign("settings"),
        row(
            "app_security",
            "SetToolPolicy",
            &[],
            |_| policy("Global", "Deny"),
            |_| policy("Global", "Allow"),
        )
        .foreign("settings"),
        row(
            "app_security",
            "SetToolPolicy",
            &["projectId"],
            |_| policy("Project", "Deny"),
            |_| policy("Project", "Allow"),
        )
        .foreign("chatId"),
        row(
            "app_security",
            "SetToolPolicy",
            &["chatId"],
            |_| policy("Chat", "Deny"),
            |_| policy("Chat", "Allow"),
        )
        .foreign("projectId"),
        row("app_security", "SetProjectSecurity", &["projectId"], security, other_security)
            .expecting(1)
            .foreign("chatId"),
        row("app_security", "SetChatSecurity", &["chatId"], security, other_security)
            .expecting(1)
            .foreign("projectId"),
        row(
            "app_security",
            "AddDirectoryGrant",
            &["projectId"],
            |_| json!({ "path": "/srv", "capabilities": ["Read"] }),
            |_| json!({ "path": "/opt" }),
        )
        .expecting(1)
        .foreign("grantId"),
        row(
            "app_security",
            "RemoveDirectoryGrant",
            &["projectId", "grantId"],
            nothing,
            |_| json!({ "grantId": NOBODY }),
        )
        .expecting(1)
        .foreign("path"),
        row(
            "app_security",
            "SetCredential",
            &["connectionId"],
            |_| json!({ "secret": "s3cret" }),
            |_| json!({ "secret": "other" }),
        )
        .foreign("settings"),
        row(
            "app_security",
            "ClearCredential",
            &["connectionId"],
            nothing,
            |scene| json!({ "connectionId": scene.ids["otherConnectionId"] }),
        )
        .foreign("settings"),
    ]
}

impl Scene {
    pub async fn new() -> Scene {
        let world = world().await;
        let mut scene = Scene { world, ids: BTreeMap::new(), folder: tempfile::tempdir().unwrap() };
        let project = scene.world.project("Work").await;
        let chat = scene.world.chat(&project, "Notes").await;
        let other_chat = scene.world.chat(&project, "Others").await;
        let answered = scene.world.submit(&chat, "Hello").await;
        let fork = json!({
            "operation": "Submit", "chatId": chat, "mode": "Fork", "text": "Or else",
            "fromMessageId": answered["document"]["messageId"], "wait": true,
        });
        let forked = scene.world.ok("app_runs", fork).await;
        let history = scene.world.read(json!({ "resource": "Messages", "chatId": chat })).await;
        let messages = history["items"].as_array().unwrap();
        let message = messages.iter().find(|message| message["role"] == "Assistant").unwrap();
        let branch = id(&forked["document"]["branchId"]);
        scene.ids.extend([
            ("projectId", project),
            ("chatId", chat),
            ("otherChatId", other_chat),
            ("branchId", branch),
            ("messageId", id(&message["id"])),
        ]);
        scene.make_more().await;
        scene
    }

    async fn make_more(&mut self) {
        let (project, chat) = (self.ids["projectId"].clone(), self.ids["chatId"].clone());
        let remember = json!({
            "operation": "Create", "scope": "Project", "projectId": project, "title": "T",
            "text": "X",
        });
        let refer = |path: &str| {
            json!({
                "operation": "Create", "projectId": project, "path": path, "kind": "Directory",
            })
        };
        let review = json!({
            "operation": "CreateReview", "chatId": chat, "messageId": self.ids["messageId"],
            "name": "R", "files": ["a"],
        });
        let connect = |name: &str| {
            json!({
                "operation": "SetConnection", "connection": connection(name), "expectedRevision": 0,
            })
        };
        let serve = |name: &str| json!({ "operation": "SetToolServer", "server": server(name), "expectedRevision": 0 });
        let makings = [
            ("memoryId", "app_memory", remember.clone()),
            ("otherMemoryId", "app_memory", remember),
            ("resourceId", "app_resources", refer("/")),
            ("otherResourceId", "app_resources", refer("/usr")),
            ("reviewId", "app_resources", review),
            ("connectionId", "app_security", connect("first")),
            ("otherConnectionId", "app_security", connect("second")),
            ("serverId", "app_security", serve("first")),
            ("otherServerId", "app_security", serve("second")),
        ];
        let granted = self.world.may_read(&project, "/").await;
        self.ids.insert("grantId", id(&granted["document"]["grants"][0]["id"]));
        for (name, tool, arguments) in makings {
            let made = self.world.ok(tool, arguments).await;
            self.ids.insert(name, id(&made["document"]["id"]));
        }
    }

    /// Deletes what an argument names, or what it belongs to.
    async fn delete(&self, name: &str) {
        let of = |tool, operation, name| {
            let mut delete = json!({ "operation": operation, "expectedRevision": 1 });
            delete[name] = json!(self.ids[name]);
            (tool, delete)
        };
        let (tool, mut delete) = match name {
            "projectId" | "resourceId" => of("app_projects", "Delete", "projectId"),
            "chatId" | "reviewId" => of("app_chats", "Delete", "chatId"),
            "branchId" => of("app_chats", "DeleteBranch", "branchId"),
            "memoryId" => of("app_memory", "Delete", "memoryId"),
            "connectionId" => of("app_security", "DeleteConnection", "connectionId"),
            "serverId" => of("app_security", "DeleteToolServer", "serverId"),
            other => panic!("nothing deletes {other}"),
        };
        if matches!(tool, "app_projects" | "app_chats") {
            delete["dryRun"] = json!(false);
        }
        let done = self.world.ok(tool, delete).await;
        if tool == "app_projects" {
            self.world.goes_on(&done, SWEPT).await;
        }
    }
}

#[tokio::test]
async fn every_operation_stands_in_a_table() {
    let world = world().await;
    let tools = world.client.list_all_tools().await.unwrap();
    let mut known: BTreeSet<(String, String)> =
        rows().iter().map(|row| (row.tool.to_owned(), row.operation.to_owned())).collect();
    for tool in tools {
        let operations = tool.input_schema["properties"].get("operation");
        // What only reads, or has one thing to do; and what has a table of its own.
        let Some(operations) = operations.filter(|_| tool.name != "app_runs") else { continue };
        for operation in operations["enum"].as_array().unwrap() {
            let pair = (tool.name.to_string(), id(operation));
            assert!(known.remove(&pair), "{pair:?} has no row");
        }
    }
    assert!(known.is_empty(), "there is no {known:?}");
}

#[tokio::test]
async fn every_operation_is_applied_once_and_refused_as_it_should_be() {
    for row in rows() {
        let scene = Scene::new().await;
        let call = row.call(&scene);
        match row.kind {
            Kind::Changes => {
                let other = (row.other)(&scene);
                let foreign = (row.foreign, sample(row.foreign));
                let operation =
                    Operation { tool: row.tool, arguments: call.clone(), other, foreign };
                applies_once(&scene.world, operation, 0).await;
            }
            Kind::Destroys => destroys_once(&row, &scene, &call).await,
        }
        if row.expects.is_some()
            && row.kind == Kind::Changes
            && !row.operation.starts_with("Delete")
        {
            // What is new has no revision that could be stale.
            if !matches!(row.operation, "SetConnection" | "SetToolServer") {
                conflicts(&scene.world, row.tool, call).await;
            }
        }
    }
}

/// The same for what is rehearsed unless told otherwise.
async fn destroys_once(row: &Row, scene: &Scene, call: &Value) {
    let world = &scene.world;
    let with = |name: &str, value: Value| {
        let mut more = call.clone();
        more[name] = value;
        more
    };
    let planned = world.ok(row.tool, call.clone()).await;
    assert_eq!(planned["status"], "Planned", "{planned:#}");
    let odd = refused(world, row.tool, with(row.foreign, sample(row.foreign))).await;
    assert!(odd.contains(row.foreign), "{odd}");
    conflicts(world, row.tool, with("expectedRevision", json!(77))).await;
    let mut real = with("dryRun", json!(false));
    real["operationId"] = json!(Uuid::now_v7());
    let first = world.ok(row.tool, real.clone()).await;
    let mut head = *world.log.head().borrow();
    if row.operation == "Delete" && row.tool == "app_projects" {
        world.goes_on(&first, SWEPT).await;
        head = *world.log.head().borrow();
    }
    let again = world.ok(row.tool, real.clone()).await;
    let later = world.successor().await.ok(row.tool, real.clone()).await;
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &first["document"]));
    assert_eq!(later, again);
    let entries = (row.other)(scene);
    for (name, value) in entries.as_object().unwrap() {
        real[name] = value.clone();
    }
    let reused = refused(world, row.tool, real).await;
    assert!(reused.contains("other arguments"), "{reused}");
    assert_eq!(*world.log.head().borrow(), head);
}

#[tokio::test]
async fn what_is_unknown_is_not_found_and_what_was_deleted_is_gone() {
    for row in rows() {
        let Some(subject) = row.about.first() else { continue };
        let scene = Scene::new().await;
        let mut unknown = row.call(&scene);
        unknown[*subject] = json!(NOBODY);
        let told = refused(&scene.world, row.tool, unknown).await;
        let here = told.starts_with("There is no") || told.contains("does not belong to");
        assert!(here, "{} {}: {told}", row.tool, row.operation);

        scene.delete(subject).await;
        let told = refused(&scene.world, row.tool, row.call(&scene)).await;
        assert!(told.contains("was deleted"), "{} {}: {told}", row.tool, row.operation);
    }
}
