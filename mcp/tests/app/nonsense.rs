//! Nonsense in every argument of every operation: refused or taken, always with an answer.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::operations::{Scene, rows};
use crate::world::{World, call, text};

/// How deep JSON may come in: the parser of a transport takes no more.
const DEPTH: usize = 120;

/// The longest sentence that a refusal may be, in characters: what was sent is not sent back.
const LONGEST: usize = 2_000;

fn nonsense() -> Vec<(&'static str, Value)> {
    let mut deep = json!([]);
    for _ in 0..DEPTH {
        deep = json!([deep]);
    }
    let wide: Map<String, Value> = (0..10_000).map(|n| (format!("k{n}"), json!(n))).collect();
    vec![
        ("null", Value::Null),
        ("true", json!(true)),
        ("a negative number", json!(-1)),
        ("a huge number", json!(1e300)),
        ("the greatest integer", json!(u64::MAX)),
        ("nothing", json!("")),
        ("NUL", json!("a\0b")),
        ("right to left", json!("\u{202e}txet\u{202c} \u{fdfd}")),
        ("noncharacters", json!("\u{ffff}\u{10ffff}")),
        ("a path out", json!("../../../../etc/passwd")),
        ("a megabyte", json!("x".repeat(1 << 20))),
        ("JSON text", json!("[[[[[[[[{\"a\":1}]]]]]]]]")),
        ("depth", deep),
        ("10,000 elements", json!(vec![0; 10_000])),
        ("10,000 members", Value::Object(wide)),
    ]
}

/// Texts that a schema may let through, so that each operation must cope with them.
fn odd_texts() -> Vec<(&'static str, Value)> {
    let short = |(_, value): &(&str, Value)| value.as_str().is_some_and(|text| text.len() < 1_000);
    nonsense().into_iter().filter(short).collect()
}

/// Calls with one argument replaced, and with one that isn't there.
fn spoilt<'a>(
    good: &Value,
    names: impl Iterator<Item = &'a String> + Clone,
    values: Vec<(&'static str, Value)>,
) -> Vec<(String, Value)> {
    let mut calls = Vec::new();
    for (what, value) in values {
        for name in names.clone().map(String::as_str).chain(["noSuchArgument"]) {
            let mut call = good.clone();
            call[name] = value.clone();
            calls.push((format!("{name}: {what}"), call));
        }
    }
    calls
}

/// The tools that were told every nonsense in every argument, which their schemas refuse alike for
/// all operations.
type Told = BTreeSet<String>;

async fn survives(world: &World, told: &mut Told, tool: &str, good: &Value) {
    // Nothing is deleted for real here: the scene is needed to the end.
    let harmless = |name: &&String| *name != "dryRun";
    let mut calls = Vec::new();
    if told.insert(tool.to_owned()) {
        let tools = world.client.list_all_tools().await.unwrap();
        let schema = &tools.iter().find(|it| it.name == *tool).unwrap().input_schema;
        let names = schema["properties"].as_object().unwrap().keys().filter(harmless);
        calls.extend(spoilt(good, names, nonsense()));
    }
    let own = good.as_object().unwrap().keys().filter(harmless);
    calls.extend(spoilt(good, own, odd_texts()));
    for (what, arguments) in calls {
        let answer = call(&world.client, tool, arguments).await;
        if answer.is_error == Some(true) {
            let said = text(&answer);
            let operation = &good["operation"];
            let shown: String = said.chars().take(200).collect();
            assert!(said.chars().count() < LONGEST, "{tool} {operation} {what}: {shown}");
            for leak in ["panicked", "src/", ".rs:", "Error {"] {
                assert!(!said.contains(leak), "{tool} {operation} {what}: {said}");
            }
        }
    }
}

#[tokio::test]
async fn every_argument_of_every_operation_survives_nonsense() {
    let scene = Scene::new().await;
    let mut told = Told::new();
    for row in rows() {
        survives(&scene.world, &mut told, row.tool, &row.call(&scene)).await;
    }
    let chat = &scene.ids["chatId"];
    let branch = |operation: &str| json!({ "operation": operation, "branchId": chat });
    for operation in ["Stop", "ClearQueue", "Resume", "SkipFailed", "Rebase", "MarkRead"] {
        survives(&scene.world, &mut told, "app_runs", &branch(operation)).await;
    }
    for operation in ["UpdateQueued", "RemoveQueued"] {
        survives(&scene.world, &mut told, "app_runs", &branch(operation)).await;
    }
    let aside = json!({
        "operation": "Submit", "mode": "Aside", "branchId": chat, "text": "By the way",
    });
    survives(&scene.world, &mut told, "app_runs", &aside).await;
    let navigate = json!({ "projectId": scene.ids["projectId"], "chatId": chat });
    survives(&scene.world, &mut told, "app_navigate", &navigate).await;
    for resource in scene.world.input_enum("app_read", "resource") {
        survives(
            &scene.world,
            &mut told,
            "app_read",
            &json!({ "resource": resource, "chatId": chat }),
        )
        .await;
    }
    // It all still works.
    let read = json!({ "resource": "Chat", "chatId": chat });
    assert_eq!(scene.world.read(read).await["items"][0]["id"], *chat);
}

/// The memory of this process that is resident, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn fifty_megabytes_are_refused_and_let_go() {
    let scene = Scene::new().await;
    let (project, chat) = (&scene.ids["projectId"], &scene.ids["chatId"]);
    let huge = "x".repeat(50 << 20);
    let calls = [
        ("app_runs", json!({ "operation": "Submit", "chatId": chat, "text": huge })),
        ("app_projects", json!({ "operation": "Create", "name": huge })),
        (
            "app_instructions",
            json!({
                "operation": "Replace", "projectId": project, "text": huge, "expectedRevision": 0,
            }),
        ),
        ("app_read", json!({ "resource": "Search", "query": huge })),
        ("app_read", json!({ "resource": "Chats", "cursor": huge })),
        ("app_security", json!({ "operation": "SetCredential", "secret": huge })),
    ];
    let before = resident();
    for round in 0..3 {
        for (tool, arguments) in &calls {
            let answer = call(&scene.world.client, tool, arguments.clone()).await;
            assert_eq!(answer.is_error, Some(true));
            assert!(text(&answer).len() < LONGEST, "{tool} in round {round}");
        }
    }
    let grown = resident().saturating_sub(before);
    // Each call holds it a few times over; what stays would be 900 MB.
    assert!(grown < 400 << 20, "{grown} bytes stayed");
}
