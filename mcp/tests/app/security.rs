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

fn http_server(headers: Value) -> Value {
    json!({
        "name": "ext", "transport": "StreamableHttp", "url": "https://h/mcp", "headers": headers,
        "enabled": true,
    })
}

fn set_server(server: Value, expected: u64) -> Value {
    json!({ "operation": "SetToolServer", "server": server, "expectedRevision": expected })
}

/// Everything that was ever written: a secret in it would stay for ever.
async fn whole_log(world: &World) -> String {
    use futures::StreamExt;
    let until = scripta_events::log::Filter::until(*world.log.head().borrow());
    let events = world.log.read_all(Default::default(), until);
    let texts = events.map(|event| {
        let event = event.unwrap();
        String::from_utf8_lossy(&event.payload).into_owned() + &String::from_utf8_lossy(&event.meta)
    });
    texts.collect::<Vec<_>>().await.concat()
}

#[tokio::test]
async fn a_tool_server_is_set_with_secrets_that_nothing_returns() {
    use scripta_mcp::{SecretName, SecretStore};
    let world = world().await;
    let with = http_server(json!({ "Authorization": "Bearer s3cret" }));
    let other = http_server(json!({ "Authorization": "Bearer an0ther" }));
    let first = keeps_the_rules(&world, set_server(with.clone(), 0), set_server(other, 0)).await;
    let made = first["document"].clone();
    assert_eq!(made["headers"], json!({ "authorization": "" }), "a header has one spelling");
    let name = SecretName::Header(id(&made["id"]).parse().unwrap(), "authorization".to_owned());
    let stored = |world: &World| world.secrets.get(&name).map(|it| it.reveal().to_owned());
    assert_eq!(stored(&world).as_deref(), Some("Bearer s3cret"));

    // What was read can be sent back: a blank keeps what is stored.
    let mut changed = made.clone();
    changed["prefix"] = json!("x");
    let answer = world.ok(TOOL, set_server(changed, 1)).await;
    assert_eq!(answer["revision"], 2);
    assert_eq!(stored(&world).as_deref(), Some("Bearer s3cret"));
    let conflict = world.rejected(TOOL, set_server(made.clone(), 1)).await;
    assert_eq!(conflict["document"], answer["document"]);

    let log = whole_log(&world).await;
    assert!(!log.contains("s3cret") && !log.contains("an0ther"));
    let read = settings(&world).await;
    assert!(!read.to_string().contains("s3cret"));
    assert_eq!(read["toolServers"][2]["hasCredential"], true);

    let delete = json!({
        "operation": "DeleteToolServer", "serverId": made["id"], "expectedRevision": 2,
    });
    let mut other = delete.clone();
    other["serverId"] = json!(NOBODY);
    let deleted = keeps_the_rules(&world, delete.clone(), other).await;
    assert_eq!(deleted["document"]["deleted"], true);
    assert_eq!(stored(&world), None);
    assert!(world.rejected(TOOL, delete).await["phrase"].to_string().contains("was deleted"));
}

#[tokio::test]
async fn a_secret_that_is_left_out_is_gone_and_no_other_spelling_stays() {
    use scripta_mcp::SecretStore;
    let world = world().await;
    let both = http_server(json!({ "Authorization": "s3cret", "x-token": "t0ken" }));
    let made = world.ok(TOOL, set_server(both, 0)).await["document"].clone();
    let server = id(&made["id"]).parse().unwrap();
    assert_eq!(world.secrets.names(server).len(), 2);
    let credential = json!({
        "operation": "SetCredential", "serverId": made["id"], "header": "AUTHORIZATION",
        "secret": "newer",
    });
    let set = world.ok(TOOL, credential).await;
    assert_eq!(set["document"]["headers"], json!({ "authorization": "", "x-token": "" }));
    let mut less = set["document"].clone();
    less["headers"] = json!({ "authorization": "" });
    world.ok(TOOL, set_server(less.clone(), 1)).await;
    let names = world.secrets.names(server);
    let newer = world.secrets.get(names.first().unwrap()).unwrap();
    assert_eq!((names.len(), newer.reveal()), (1, "newer"));

    // What a crash between the fact and the secrets left is taken away by the repeat.
    let delete = json!({
        "operation": "DeleteToolServer", "serverId": made["id"], "expectedRevision": 2,
        "operationId": uuid::Uuid::now_v7(),
    });
    world.ok(TOOL, delete.clone()).await;
    let left = [(names.first().unwrap().clone(), Some(newer))];
    world.secrets.change(&left).unwrap();
    assert_eq!(world.ok(TOOL, delete).await["replayed"], true);
    assert!(world.secrets.names(server).is_empty());
}

#[tokio::test]
async fn values_that_no_header_and_no_variable_can_have_are_refused() {
    let world = world().await;
    let with = |headers| set_server(http_server(headers), 0);
    let local = |env| {
        let server = json!({
            "name": "local", "transport": "Stdio", "command": "x", "env": env, "enabled": true,
        });
        set_server(server, 0)
    };
    let long = "x".repeat(8_193);
    let table = [
        (with(json!({ "a": "x\r\nHost: evil" })), "control characters"),
        (with(json!({ "a": long })), "8193 characters"),
        (with(json!({ "A": "1", "a": "2" })), "twice"),
        (local(json!({ "A": "x\0" })), "NUL"),
        (local(json!({ "A": long })), "8193 characters"),
    ];
    for (arguments, why) in table {
        let told = world.rejected(TOOL, arguments).await["phrase"].to_string();
        assert!(told.contains(why), "{told}");
    }
    // A key of several lines is one that a variable can have.
    world.ok(TOOL, local(json!({ "KEY": "-----BEGIN\nx\n-----END" }))).await;
}

#[tokio::test]
async fn bundled_servers_are_disabled_and_never_deleted() {
    let world = world().await;
    let mut app = settings(&world).await["toolServers"][0].clone();
    let delete = json!({
        "operation": "DeleteToolServer", "serverId": app["id"], "expectedRevision": 0,
    });
    assert!(world.rejected(TOOL, delete).await["phrase"].to_string().contains("can't be deleted"));
    app["enabled"] = json!(false);
    let set = world.ok(TOOL, set_server(app.clone(), 0)).await;
    assert_eq!((&set["revision"], &set["document"]["enabled"]), (&json!(1), &json!(false)));
    app["name"] = json!("mine");
    assert_eq!(world.rejected(TOOL, set_server(app, 1)).await["status"], "Refused");
}

#[tokio::test]
async fn a_secret_is_stored_and_cleared_and_never_returned() {
    use scripta_mcp::{SecretName, SecretStore};
    let world = world().await;
    let made = world.ok(TOOL, set_connection(connection("one"), 0)).await;
    let one = id(&made["document"]["id"]);
    let name = SecretName::Connection(one.parse().unwrap());
    let stored = || world.secrets.get(&name).map(|it| it.reveal().to_owned());
    let set = |secret: &str| json!({ "operation": "SetCredential", "connectionId": one, "secret": secret });
    let mut first = set("s3cret-1");
    let answer = keeps_the_rules(&world, first.clone(), set("s3cret-2")).await;
    assert_eq!(answer["document"]["hasCredential"], true);
    assert!(!answer.to_string().contains("s3cret"));
    assert_eq!(stored().as_deref(), Some("s3cret-1"));

    // The repeat of an older call doesn't bring an older secret back.
    first["operationId"] = json!(uuid::Uuid::now_v7());
    world.ok(TOOL, first.clone()).await;
    world.ok(TOOL, set("s3cret-3")).await;
    assert_eq!(world.ok(TOOL, first).await["replayed"], true);
    assert_eq!(stored().as_deref(), Some("s3cret-3"));
    assert!(!whole_log(&world).await.contains("s3cret"));
    // The document is the same, whatever its secret is.
    assert_eq!(settings(&world).await["connections"][0]["revision"], 1);

    let clear = json!({ "operation": "ClearCredential", "connectionId": one });
    let cleared = world.ok(TOOL, clear.clone()).await;
    assert_eq!(cleared["document"]["hasCredential"], false);
    assert_eq!(stored(), None);
    let head = *world.log.head().borrow();
    world.ok(TOOL, clear).await;
    assert_eq!(*world.log.head().borrow(), head);
    for wrong in [
        json!({ "operation": "SetCredential", "connectionId": NOBODY, "secret": "s3cret" }),
        json!({ "operation": "SetCredential", "connectionId": one, "secret": 53 }),
        json!({ "operation": "SetCredential", "connectionId": one, "secret": "s3cret\n" }),
        json!({
            "operation": "SetCredential", "connectionId": one, "header": "H", "secret": "s3cret",
        }),
        json!({ "operation": "SetCredential", "serverId": NOBODY, "secret": "s3cret" }),
    ] {
        let phrase = world.rejected(TOOL, wrong).await["phrase"].to_string();
        assert!(!phrase.contains("s3cret") && !phrase.contains("53"), "{phrase}");
    }
}

#[tokio::test]
async fn global_policies_and_grants_are_one_document() {
    let world = world().await;
    let policy = |decision: &str| {
        json!({
            "operation": "SetToolPolicy", "scope": "Global", "server": "app", "tool": "app_chats",
            "policy": { "decision": decision, "rules": [
                { "argument": "operation", "equals": ["Rename"], "decision": "Allow" },
            ] },
        })
    };
    let answer = keeps_the_rules(&world, policy("Ask"), policy("Deny")).await;
    let document = &answer["document"];
    assert_eq!(
        (&document["revision"], &document["policies"][0]["server"]),
        (&json!(1), &json!("app"))
    );

    // What was read can be sent back, changed.
    let mut security = document.clone();
    security["grants"] = json!([{ "path": "/srv", "capabilities": ["Write", "Read"] }]);
    let set = |security: &Value, expected: u64| {
        json!({
            "operation": "SetGlobalSecurity", "security": security, "expectedRevision": expected,
        })
    };
    let answer = keeps_the_rules(&world, set(&security, 1), set(document, 1)).await;
    let grant = &answer["document"]["grants"][0];
    assert_eq!(
        (&grant["name"], &grant["capabilities"]),
        (&json!("srv"), &json!(["Read", "Write"]))
    );
    let conflict = world.rejected(TOOL, set(document, 1)).await;
    assert_eq!(conflict["document"], answer["document"]);
    assert_eq!(settings(&world).await["security"], answer["document"]);
    let mut unknown = policy("Deny");
    unknown["server"] = json!("nobody");
    assert!(world.rejected(TOOL, unknown).await["phrase"].to_string().contains("no tool server"));
}
