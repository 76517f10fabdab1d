//! Turns with a model provider over real HTTP and real server-sent events.

use scripta_tests::mcp::{Client, Era};
use scripta_tests::scripted_model::{Answer, Gate, ScriptedModel};
use scripta_tests::server::{DataFolder, Server};
use serde_json::{Value, json};

use crate::says::{history, new_chat, operation, part, read, roles, submit, text_of};

async fn start(model: &ScriptedModel) -> (DataFolder, Server, Client) {
    let data = DataFolder::new();
    data.connect_model(&model.base_url());
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    (data, server, client)
}

#[tokio::test]
async fn streamed_text_a_tool_call_and_the_final_answer() {
    let model = ScriptedModel::start([
        Answer::text("Cranes fly in a wedge."),
        Answer::call("call_1", "mcp_app__app_read", &json!({ "resource": "Projects" })),
        Answer::text("There is one project, called Notes."),
    ]);
    let (_data, server, client) = start(&model).await;
    let chat = new_chat(&client).await;

    submit(&client, &chat, "How do cranes fly?").await;
    let turn = submit(&client, &chat, "Which projects do I have?").await;
    assert_eq!(turn["document"]["run"]["status"], "Completed", "{turn}");

    let messages = history(&client, &chat).await;
    let expected = ["User", "Assistant", "User", "Assistant", "Tool", "Assistant"];
    assert_eq!(roles(&messages), expected);
    assert_eq!(text_of(&messages[1]), "Cranes fly in a wedge.");
    let call = part(&messages, "ToolCall");
    assert_eq!((&call["server"], &call["tool"]), (&json!("app"), &json!("app_read")));
    assert_eq!(call["arguments"], json!({ "resource": "Projects" }), "put together from pieces");
    let result = part(&messages, "ToolResult");
    assert_eq!((&result["callId"], &result["isError"]), (&json!("call_1"), &json!(false)));
    assert_eq!(result["structured"]["items"][0]["name"], "Notes", "{result}");
    assert_eq!(text_of(&messages[5]), "There is one project, called Notes.");

    check_requests(&model.requests());
    let runs = read(&client, json!({ "resource": "Runs", "chatId": chat })).await;
    assert_eq!((runs.len(), &runs[0]["step"]), (2, &json!(2)), "{runs:?}");
    server.stop().await;
}

/// What the provider was asked: the whole history, the tools, and the tool's result by its call.
fn check_requests(requests: &[Value]) {
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request["stream"] == true));
    let names: Vec<&str> = requests[0]["tools"]
        .as_array()
        .expect("the model is offered tools")
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"mcp_app__app_read"), "{names:?}");
    let last = requests[2]["messages"].as_array().unwrap();
    let said: Vec<&str> = last.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(said, ["system", "user", "assistant", "user", "assistant", "tool"]);
    assert_eq!(last[4]["tool_calls"][0]["id"], "call_1");
    assert_eq!(last[5]["tool_call_id"], "call_1");
    assert!(last[5]["content"].to_string().contains("Notes"), "{}", last[5]);
}

/// A tool that changes something waits for approvals, which are not there yet: the model is told.
#[tokio::test]
async fn a_tool_that_writes_is_refused_to_the_model_with_the_reason() {
    let model = ScriptedModel::start([
        Answer::call("c", "mcp_app__app_projects", &json!({ "operation": "Create", "name": "X" })),
        Answer::call("c", "mcp_app__app_nothing", &json!({})),
        Answer::text("I may not."),
    ]);
    let (_data, server, client) = start(&model).await;
    let chat = new_chat(&client).await;
    let turn = submit(&client, &chat, "Make a project X.").await;
    assert_eq!(turn["document"]["run"]["status"], "Completed", "{turn}");
    let messages = history(&client, &chat).await;
    assert_eq!(roles(&messages), ["User", "Assistant", "Tool", "Assistant", "Tool", "Assistant"]);
    let refused = part(&messages[2..], "ToolResult");
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["text"].as_str().unwrap().contains("approv"), "{refused}");
    let unknown = part(&messages[4..], "ToolResult");
    assert_eq!(unknown["isError"], true, "{unknown}");
    assert!(unknown["text"].as_str().unwrap().contains("app_nothing"), "{unknown}");
    assert_eq!(read(&client, json!({ "resource": "Projects" })).await.len(), 1);
    server.stop().await;
}

/// While a turn runs, messages queue; stopping keeps the text so far.
#[tokio::test]
async fn a_busy_branch_queues_and_a_stopped_turn_keeps_its_text() {
    let gate = Gate::closed();
    let pieces = ["Half ", "of ", "it."].map(str::to_owned).to_vec();
    let model = ScriptedModel::start([
        Answer::Gated(pieces, gate.clone()),
        Answer::text("The second answer."),
    ]);
    let (_data, server, client) = start(&model).await;
    let chat = new_chat(&client).await;
    let submit_only = |text: &str| json!({ "operation": "Submit", "chatId": chat, "text": text, "operationId": operation() });
    let first = client.call("app_runs", submit_only("First.")).await.applied();
    assert!(first["document"]["runId"].is_string(), "an idle branch starts at once: {first}");
    model.asked(1).await;
    let second = client.call("app_runs", submit_only("Second.")).await.applied();
    assert!(second["document"]["runId"].is_null(), "a busy one queues: {second}");
    gate.open(3);
    let mut wait = submit_only("Third.");
    wait["wait"] = json!(true);
    model.then(Answer::text("The third answer."));
    let third = client.call("app_runs", wait).await.applied();
    assert_eq!(third["document"]["run"]["status"], "Completed", "{third}");
    let texts: Vec<String> = history(&client, &chat).await.iter().map(text_of).collect();
    let expected =
        ["First.", "Half of it.", "Second.", "The second answer.", "Third.", "The third answer."];
    assert_eq!(texts, expected);

    let gate = Gate::closed();
    model.then(Answer::Gated(vec!["Kept ".to_owned(), "never".to_owned()], gate.clone()));
    client.call("app_runs", submit_only("Fourth.")).await.applied();
    model.asked(4).await;
    gate.open(1);
    let stop = json!({ "operation": "Stop", "branchId": chat });
    client.call("app_runs", stop.clone()).await.applied();
    let runs = read(&client, json!({ "resource": "Runs", "chatId": chat })).await;
    assert_eq!(runs[0]["status"], "Stopped", "{runs:?}");
    let messages = history(&client, &chat).await;
    assert!(!messages.iter().any(|message| text_of(message).contains("never")));
    client.call("app_runs", stop).await.applied();
    server.stop().await;
}

/// A turn that was stopped pauses what waits behind it, until somebody says to go on.
#[tokio::test]
async fn a_paused_branch_has_a_way_out() {
    let gate = Gate::closed();
    let model = ScriptedModel::start([
        Answer::Gated(vec!["Never.".to_owned()], gate.clone()),
        Answer::text("The next one."),
    ]);
    let (_data, server, client) = start(&model).await;
    let chat = new_chat(&client).await;
    let skip = json!({ "operation": "SkipFailed", "branchId": chat, "operationId": operation() });
    client.call("app_runs", skip.clone()).await.refused(&["waits in this branch"]);
    let submit = |text: &str, id: &str| json!({ "operation": "Submit", "chatId": chat, "text": text, "operationId": id });
    client.call("app_runs", submit("First.", &operation())).await.applied();
    model.asked(1).await;
    client.call("app_runs", skip.clone()).await.refused(&["running"]);
    let waiting = operation();
    client.call("app_runs", submit("Second.", &waiting)).await.applied();
    client.call("app_runs", json!({ "operation": "Stop", "branchId": chat })).await.applied();
    let shown = read(&client, json!({ "resource": "Chat", "chatId": chat })).await;
    let branch = &shown[0]["branches"][0];
    assert_eq!((&branch["status"], &branch["queued"]), (&json!("Paused"), &json!(1)), "{branch}");

    let skipped = client.call("app_runs", skip.clone()).await.applied();
    assert_eq!(skipped["document"]["messageId"], waiting.as_str(), "{skipped}");
    let mut wait = submit("Second.", &waiting);
    wait["wait"] = json!(true);
    let answered = client.call("app_runs", wait).await.applied();
    assert_eq!(answered["document"]["run"]["status"], "Completed", "{answered}");
    let again = client.call("app_runs", skip).await.applied();
    assert_eq!((&again["replayed"], &again["document"]), (&json!(true), &skipped["document"]));
    server.stop().await;
}

#[tokio::test]
async fn a_provider_that_fails_fails_the_turn_and_not_the_chat() {
    let model = ScriptedModel::start([
        Answer::Status { code: 401, retry_after: None },
        Answer::Status { code: 429, retry_after: Some(0) },
        Answer::text("After a while."),
        Answer::CutOff(vec!["What was ".to_owned(), "received".to_owned()]),
    ]);
    let (_data, server, client) = start(&model).await;
    let chat = new_chat(&client).await;

    let refused = submit(&client, &chat, "With a wrong key.").await;
    assert_eq!(refused["document"]["run"]["status"], "Failed", "{refused}");
    let reason = refused["document"]["run"]["error"].as_str().expect("a reason");
    assert!(reason.contains("401"), "{reason}");
    let retried = submit(&client, &chat, "Too fast.").await;
    assert_eq!(retried["document"]["run"]["status"], "Completed", "{retried}");
    assert_eq!(model.requests().len(), 3, "a final error is not repeated, a passing one is");

    let cut = submit(&client, &chat, "And then?").await;
    assert_eq!(cut["document"]["run"]["status"], "Failed", "{cut}");
    let messages = history(&client, &chat).await;
    let last = messages.last().unwrap();
    assert_eq!(last["role"], "Assistant", "what was received is kept: {last}");
    assert!(text_of(last).starts_with("What was "), "{last}");
    assert_eq!(last["status"], "Failed");

    model.then(Answer::text("Here again."));
    let again = submit(&client, &chat, "Still there?").await;
    assert_eq!(again["document"]["run"]["status"], "Completed", "{again}");
    server.stop().await;
}

/// `wait` gives up in time, without an error: the message is accepted.
#[tokio::test]
async fn waiting_ends_with_the_last_known_status() {
    let gate = Gate::closed();
    let model = ScriptedModel::start([Answer::Gated(vec!["Slow.".to_owned()], gate.clone())]);
    let (_data, server, client) = start(&model).await;
    let chat = new_chat(&client).await;
    let id = operation();
    let slow = json!({ "operation": "Submit", "chatId": chat, "text": "Take your time.",
        "operationId": id, "wait": true, "waitTimeoutMs": 1000 });
    let waited = client.call("app_runs", slow.clone()).await.applied();
    assert_eq!(waited["document"]["run"]["status"], "Running", "{waited}");
    gate.open(1);
    let mut patient = slow;
    patient["waitTimeoutMs"] = json!(60_000);
    let waited = client.call("app_runs", patient).await.applied();
    assert_eq!(
        (&waited["replayed"], &waited["document"]["run"]["status"]),
        (&json!(true), &json!("Completed")),
        "{waited}"
    );
    server.stop().await;
}
