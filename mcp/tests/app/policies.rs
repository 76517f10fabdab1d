//! Policies: shown where they hold, and what runs go by.

use scripta_actors::{ToolRequest, Toolbox};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::sessions::{context, request, run_of};
use crate::turns::held;
use crate::world::{World, world};

fn policy(scope: &str, id: &str, tool: &str, policy: Value) -> Value {
    let mut set = json!({
        "operation": "SetToolPolicy", "scope": scope, "server": "app", "tool": tool,
        "policy": policy,
    });
    match scope {
        "Project" => set["projectId"] = json!(id),
        "Chat" => set["chatId"] = json!(id),
        _ => {}
    }
    set
}

async fn set(world: &World, arguments: Value) -> Value {
    world.ok("app_security", arguments).await
}

#[tokio::test]
async fn the_narrowest_policy_holds_and_project_and_chat_show_it() {
    let world = world().await;
    let project = world.project("Work").await;
    let chat = world.chat(&project, "Notes").await;
    set(&world, policy("Global", "", "app_chats", json!({ "decision": "Deny" }))).await;
    let rules = json!({
        "decision": "Ask",
        "rules": [{ "argument": "operation", "equals": ["Rename"], "decision": "Allow" }],
    });
    let bound = set(&world, policy("Project", &project, "app_chats", rules)).await;
    // The policy binds its server to the project.
    let binding = &bound["document"]["servers"][0];
    assert_eq!((&binding["server"], &binding["transport"]), (&json!("app"), &json!("InProcess")));
    let in_chat = set(&world, policy("Chat", &chat, "app_memory", json!({ "decision": "Allow" })));
    let in_chat = in_chat.await;
    assert_eq!((&in_chat["revision"], &in_chat["document"]["revision"]), (&json!(2), &json!(2)));

    let read = world.read(json!({ "resource": "Project", "projectId": project })).await;
    let shown = &read["items"][0];
    assert_eq!(shown["revision"], 1, "the security has a revision of its own");
    assert_eq!(shown["security"], bound["document"]);
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let shown = &read["items"][0];
    assert_eq!(shown["revision"], 2, "a chat's security is a part of it");
    assert_eq!(shown["security"], in_chat["document"]);
    let held: Vec<_> = shown["effectivePolicies"].as_array().unwrap().iter().collect();
    let scopes: Vec<_> =
        held.iter().map(|it| (&it["tool"], &it["scope"], &it["revision"])).collect();
    assert_eq!(
        scopes,
        [
            (&json!("app_chats"), &json!("Project"), &json!(1)),
            (&json!("app_memory"), &json!("Chat"), &json!(2)),
        ]
    );
}

#[tokio::test]
async fn a_run_goes_by_the_policies_of_the_moment() {
    let world = world().await;
    let (run, chat) = context(&world).await;
    let project = run.project.to_string();
    let session = world.toolbox.open(run).await.unwrap();
    let call = async |tool: &str, arguments: Value| {
        let request = request(tool, arguments);
        let outcome = session.call(request, CancellationToken::new()).await;
        (!outcome.is_error, outcome.text)
    };
    let rename = |revision: u64| {
        json!({
            "operation": "Rename", "chatId": chat, "title": format!("At {revision}"),
            "expectedRevision": revision,
        })
    };
    let (made, told) = call("app_chats", rename(1)).await;
    assert!(!made && told.contains("has no policy"), "{told}");
    let rules = json!({
        "decision": "Ask",
        "rules": [{ "argument": "operation", "equals": ["Rename"], "decision": "Allow" }],
    });
    set(&world, policy("Project", &project, "app_chats", rules)).await;
    // The same request is the same operation, and takes effect once.
    let once = request("app_chats", rename(1));
    for replayed in [false, true] {
        let outcome = session.call(once.clone(), CancellationToken::new()).await;
        assert!(!outcome.is_error, "{}", outcome.text);
        assert!(outcome.text.contains(&format!("\"replayed\":{replayed}")), "{}", outcome.text);
    }
    let delete = json!({ "operation": "Delete", "chatId": chat, "expectedRevision": 2 });
    let (made, told) = call("app_chats", delete).await;
    assert!(!made);
    assert!(told.contains("the policy of app_chats of this project (revision 1) asks"), "{told}");
    // What the tool would put right is put right before the rules look at it.
    let rules = json!({
        "decision": "Allow",
        "rules": [
            { "argument": "operation", "equals": ["Delete"], "decision": "Deny" },
            { "argument": "chatId", "equals": [chat], "decision": "Deny" },
        ],
    });
    set(&world, policy("Project", &project, "app_chats", rules)).await;
    let delete = json!({
        "operation": "delete", "chatId": chat, "expectedRevision": 2, "dryRun": false,
    });
    let pin = json!({
        "operation": "Pin", "chatId": chat.to_uppercase(), "pinned": true, "expectedRevision": 2,
    });
    for around in [delete, pin] {
        let (made, told) = call("app_chats", around).await;
        assert!(!made && told.contains("denies it"), "{told}");
    }
    set(&world, policy("Chat", &chat, "app_read", json!({ "decision": "Deny" }))).await;
    let (made, told) = call("app_read", json!({ "resource": "Chats" })).await;
    assert!(!made);
    assert!(told.contains("the policy of app_read of this chat (revision 3) denies it"), "{told}");
}

#[tokio::test]
async fn a_policy_bounds_the_calls_of_a_run() {
    let world = world().await;
    let (run, _) = context(&world).await;
    let project = run.project.to_string();
    let session = world.toolbox.open(run).await.unwrap();
    let call = async |before: u32, tool: &str, arguments: Value| {
        let request = ToolRequest { before, ..request(tool, arguments) };
        let outcome = session.call(request, CancellationToken::new()).await;
        (!outcome.is_error, outcome.text)
    };
    let read = || json!({ "resource": "Chats" });
    // The settings hold where the policy says nothing.
    let settings = json!({
        "operation": "SetGlobalSettings", "settings": { "maxCallsPerRun": 1 }, "expectedRevision": 0,
    });
    set(&world, settings).await;
    assert!(call(0, "app_read", read()).await.0);
    let (made, told) = call(1, "app_read", read()).await;
    assert!(!made && told.contains("1 are the most"), "{told}");
    let most = json!({ "decision": "Allow", "maxCallsPerRun": 3 });
    set(&world, policy("Project", &project, "app_read", most)).await;
    assert!(call(2, "app_read", read()).await.0);
    let (made, told) = call(3, "app_read", read()).await;
    assert!(!made && told.contains("has asked for it 3 times, and 3 are the most"), "{told}");
}

#[tokio::test]
async fn a_policy_bounds_the_silence_of_a_call() {
    // The model never answers.
    let (world, _hold, chat) = held().await;
    let read = world.read(json!({ "resource": "Chat", "chatId": chat })).await;
    let project = read["items"][0]["projectId"].as_str().unwrap();
    let patient = json!({ "decision": "Allow", "silenceTimeoutMs": 1_000 });
    set(&world, policy("Project", project, "app_runs", patient)).await;
    let session = world.toolbox.open(run_of(project, &chat)).await.unwrap();
    let other = world.chat(project, "Other").await;
    let wait = json!({ "operation": "Submit", "chatId": other, "text": "And?", "wait": true });
    let outcome = session.call(request("app_runs", wait), CancellationToken::new()).await;
    assert!(outcome.is_error && outcome.text.contains("said nothing for 1 s"), "{outcome:?}");
}

#[tokio::test]
async fn what_is_denied_or_not_used_is_not_offered() {
    let world = world().await;
    let (run, _) = context(&world).await;
    let project = run.project.to_string();
    let names = async || {
        let session = world.toolbox.open(run.clone()).await.unwrap();
        session.tools().iter().map(|tool| tool.tool.clone()).collect::<Vec<_>>()
    };
    assert!(names().await.contains(&"app_chats".to_owned()));
    set(&world, policy("Global", "", "app_chats", json!({ "decision": "Deny" }))).await;
    assert!(!names().await.contains(&"app_chats".to_owned()));
    let unused = json!({
        "operation": "SetProjectSecurity", "projectId": project, "expectedRevision": 0,
        "security": { "servers": [{ "server": "app", "enabled": false }] },
    });
    set(&world, unused).await;
    assert!(names().await.is_empty());
    let session = world.toolbox.open(run.clone()).await.unwrap();
    let read = request("app_read", r#"{"resource":"Chats"}"#);
    let outcome = session.call(read, CancellationToken::new()).await;
    assert!(outcome.is_error && outcome.text.contains("are not used here"), "{}", outcome.text);
}
