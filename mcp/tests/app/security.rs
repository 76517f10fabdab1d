//! `app_security`: what is configured, and by whom.

use serde_json::{Value, json};

use crate::world::{World, id, world};

const TOOL: &str = "app_security";
const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

pub fn connection(name: &str) -> Value {
    json!({
        "name": name, "provider": "OpenAi", "baseUrl": "http://127.0.0.1:9/v1", "model": "m",
        "enabled": true,
    })
}

fn set_connection(connection: Value, expected: u64) -> Value {
    json!({ "operation": "SetConnection", "connection": connection, "expectedRevision": expected })
}

async fn settings(world: &World) -> Value {
    world.read(json!({ "resource": "Settings" })).await["items"][0].clone()
}

/// What holds of every operation that names a revision: it is repeated, refused and in conflict
/// as all are.
pub async fn keeps_the_rules(world: &World, call: Value, other: Value) -> Value {
    let with = |call: &Value, name: &str, value: Value| {
        let mut call = call.clone();
        call[name] = value;
        call
    };
    let operation = json!(uuid::Uuid::now_v7());
    world.rejected(TOOL, with(&call, "dryRun", json!(true))).await;
    let foreign = world.rejected(TOOL, with(&call, "chatId", json!(NOBODY))).await;
    assert!(foreign["phrase"].as_str().unwrap().contains("`chatId`"), "{foreign}");
    let call = with(&call, "operationId", operation.clone());
    let first = world.ok(TOOL, call.clone()).await;
    assert_eq!((&first["status"], &first["replayed"]), (&json!("Applied"), &json!(false)));
    let head = *world.log.head().borrow();
    let again = world.ok(TOOL, call.clone()).await;
    assert_eq!(again["replayed"], true);
    for member in ["document", "revision", "position"] {
        assert_eq!(again[member], first[member], "{member}");
    }
    assert_eq!(*world.log.head().borrow(), head);
    let reused = world.rejected(TOOL, with(&other, "operationId", operation)).await;
    assert!(reused["phrase"].as_str().unwrap().contains("other arguments"), "{reused}");
    first
}

#[tokio::test]
async fn a_connection_is_set_read_changed_and_deleted() {
    let world = world().await;
    let first = keeps_the_rules(
        &world,
        set_connection(connection("one"), 0),
        set_connection(connection("two"), 0),
    )
    .await;
    let made = first["document"].clone();
    let one = id(&made["id"]);
    assert_eq!((&made["revision"], &made["hasCredential"]), (&json!(1), &json!(false)));
    assert_eq!(settings(&world).await["connections"], json!([made.clone()]));

    // What was read can be sent back, changed.
    let mut changed = made.clone();
    changed["rating"] = json!(4);
    changed["default"] = json!(true);
    changed["options"] = json!({ "temperature": 0.5 });
    let answer =
        keeps_the_rules(&world, set_connection(changed, 1), set_connection(made.clone(), 1)).await;
    assert_eq!((&answer["revision"], &answer["document"]["rating"]), (&json!(2), &json!(4)));
    let conflict = world.rejected(TOOL, set_connection(made, 1)).await;
    assert_eq!((&conflict["status"], &conflict["revision"]), (&json!("Conflict"), &json!(2)));
    assert_eq!(conflict["document"], answer["document"]);

    let delete = json!({ "operation": "DeleteConnection", "connectionId": one });
    let mut stale = delete.clone();
    stale["expectedRevision"] = json!(1);
    assert_eq!(world.rejected(TOOL, stale).await["status"], "Conflict");
    let mut delete = delete;
    delete["expectedRevision"] = json!(2);
    let mut other = delete.clone();
    other["connectionId"] = json!(NOBODY);
    let deleted = keeps_the_rules(&world, delete.clone(), other.clone()).await;
    assert_eq!(deleted["document"], json!({ "id": one, "revision": 3, "deleted": true }));
    let gone = world.rejected(TOOL, delete).await;
    assert!(gone["phrase"].as_str().unwrap().contains("was deleted"), "{gone}");
    let absent = world.rejected(TOOL, other).await;
    assert!(absent["phrase"].as_str().unwrap().contains("There is no connection"), "{absent}");
    assert_eq!(settings(&world).await["connections"], json!([]));
}

#[tokio::test]
async fn the_global_settings_are_one_document() {
    let world = world().await;
    assert_eq!(settings(&world).await["revision"], 0);
    let set = |name: &str, expected: u64| {
        json!({
            "operation": "SetGlobalSettings", "expectedRevision": expected,
            "settings": { "name": name, "maxCallsPerRun": 9 },
        })
    };
    let answer = keeps_the_rules(&world, set("Mine", 0), set("Yours", 0)).await;
    assert_eq!(answer["document"]["settings"]["name"], "Mine");
    let conflict = world.rejected(TOOL, set("Yours", 0)).await;
    assert_eq!(conflict["document"], answer["document"]);
    let read = settings(&world).await;
    assert_eq!((&read["revision"], &read["limits"]["maxCallsPerRun"]), (&json!(1), &json!(9)));
}

#[tokio::test]
async fn the_global_security_is_one_document() {
    let world = world().await;
    let set = |decision: &str, expected: u64| {
        json!({
            "operation": "SetGlobalSecurity", "expectedRevision": expected,
            "security": {
                "servers": [{ "server": "app", "enabled": true }],
                "policies": [{ "server": "app", "tool": "app_chats", "decision": decision }],
                "grants": [{ "path": "/srv/birds", "capabilities": ["Read"] }],
            },
        })
    };
    let answer = keeps_the_rules(&world, set("Allow", 0), set("Deny", 0)).await;
    assert_eq!(answer["document"]["policies"][0]["decision"], "Allow");
    assert_eq!(answer["document"]["grants"][0]["path"], "/srv/birds");
    let conflict = world.rejected(TOOL, set("Deny", 0)).await;
    assert_eq!(conflict["document"], answer["document"]);
    assert_eq!(world.ok(TOOL, set("Deny", 1)).await["revision"], 2);
}

#[tokio::test]
async fn a_bundled_server_cannot_be_deleted() {
    let world = world().await;
    let servers = settings(&world).await["toolServers"].clone();
    let server = &servers[0];
    let delete = json!({
        "operation": "DeleteToolServer", "serverId": server["id"],
        "expectedRevision": server["revision"],
    });
    let refused = world.rejected(TOOL, delete).await;
    assert!(refused["phrase"].as_str().unwrap().contains("comes with the program"), "{refused}");
    assert_eq!(settings(&world).await["toolServers"], servers);
    let unknown = json!({
        "operation": "DeleteToolServer", "serverId": NOBODY, "expectedRevision": 1,
    });
    world.rejected(TOOL, unknown).await;
}

#[tokio::test]
async fn wrong_settings_are_refused_with_a_sentence() {
    let world = world().await;
    let with = |name: &str, value: Value| {
        let mut connection = connection("one");
        connection[name] = value;
        set_connection(connection, 0)
    };
    let table = [
        json!({}),
        json!({ "operation": "SetConnection", "expectedRevision": 0 }),
        json!({ "operation": "SetConnection", "connection": connection("one") }),
        json!({ "operation": "SetConnection", "connection": {}, "expectedRevision": 0 }),
        json!({ "operation": "SetConnection", "connection": "s3cret", "expectedRevision": 0 }),
        set_connection(connection("one"), 3),
        with("provider", json!("Nobody")),
        with("rating", json!(6)),
        with("baseUrl", json!("h")),
        with("baseUrl", json!("http://me:s3cret@h/v1")),
        with("options", json!({ "headers": { "Authorization": "s3cret" } })),
        with("apiKey", json!("s3cret")),
        with("id", json!(NOBODY)),
        with("name", json!("builtin:mine")),
        json!({ "operation": "DeleteConnection", "connectionId": "one", "expectedRevision": 1 }),
    ];
    let mut told = Vec::new();
    for arguments in table {
        let answer = world.rejected(TOOL, arguments.clone()).await;
        let phrase = answer["phrase"].as_str().unwrap();
        assert!(!phrase.contains("s3cret"), "{phrase}");
        told.push(format!("{arguments}\n  {phrase}"));
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn settings_are_read_as_they_are_from_the_start() {
    let world = world().await;
    insta::assert_json_snapshot!(settings(&world).await);
}
