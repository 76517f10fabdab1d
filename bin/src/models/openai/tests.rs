//! Against a server of a few lines that speaks HTTP and server-sent events.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use futures::StreamExt;
use scripta_events::Timestamp;
use scripta_events::domain::{
    ConnectionId, Message, MessageId, Part, Role, ToolCall, ToolResult, Usage,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::config::Provider;

const KEY: &str = "sk-very-secret";

/// Answers one request with these bytes, and returns what was asked.
async fn ask(
    response: String,
    messages: Vec<Message>,
) -> (Vec<Result<ModelEvent, ModelError>>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let asked = read_request(&mut socket).await;
        socket.write_all(response.as_bytes()).await.unwrap();
        asked
    });
    let connection = FileConnection {
        name: "test".to_owned(),
        provider: Provider::OpenAi,
        base_url,
        model: "model-low".to_owned(),
        api_key_env: Some("UNUSED".to_owned()),
        default: false,
    };
    let client = OpenAi::new(connection, Some(KEY.to_owned())).unwrap();
    let request = ModelRequest {
        connection: ConnectionId("test".to_owned()),
        model: None,
        system: "Be kind.".to_owned(),
        messages,
        tools: vec![],
    };
    let events = client.stream(request).collect().await;
    (events, server.await.unwrap())
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = socket.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
    }
}

fn sse(events: &[&str]) -> String {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{body}")
}

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message::new(MessageId::random(), role, parts, Timestamp(0))
}

fn text(role: Role, text: &str) -> Message {
    message(role, vec![Part::Text { text: text.to_owned() }])
}

#[tokio::test]
async fn text_calls_and_usage_are_streamed() {
    let response = sse(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":"Hel"}}]}"#,
        r#"{"choices":[{"delta":{"content":"lo"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}"#,
        "[DONE]",
    ]);
    let (events, asked) = ask(response, vec![text(Role::User, "Hi")]).await;
    let events: Vec<ModelEvent> = events.into_iter().map(Result::unwrap).collect();
    let expected = [
        ModelEvent::Text("Hel".to_owned()),
        ModelEvent::Text("lo".to_owned()),
        ModelEvent::ToolCall {
            id: "c".to_owned(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
        },
        ModelEvent::Done { usage: Some(Usage { input: Some(3), output: Some(2) }) },
    ];
    assert_eq!(events, expected);
    assert!(asked.starts_with("POST /v1/chat/completions "), "{asked}");
    assert!(asked.contains(&format!("Bearer {KEY}")));
    let body: Value = serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(body["model"], "model-low");
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Be kind."}));
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "Hi"}));
}

#[tokio::test]
async fn every_call_has_a_result_and_every_result_a_call() {
    let call = |id: &str| {
        Part::ToolCall(ToolCall {
            id: id.to_owned(),
            server: "app".to_owned(),
            tool: "app_read".to_owned(),
            arguments: "{\"resource\":\"Chats\"}".to_owned(),
        })
    };
    let result = |id: &str| {
        Part::ToolResult(ToolResult {
            call_id: id.to_owned(),
            is_error: false,
            text: format!("result of {id}"),
            structured: None,
            meta: None,
        })
    };
    let messages = vec![
        message(Role::Tool, vec![result("zero")]),
        message(Role::Assistant, vec![call("one"), call("two")]),
        message(Role::Tool, vec![result("one")]),
        text(Role::User, "go on"),
    ];
    let (_, asked) = ask(sse(&["[DONE]"]), messages).await;
    let body: Value = serde_json::from_str(asked.split_once("\r\n\r\n").unwrap().1).unwrap();
    let said: Vec<(&str, &str)> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| (message["role"].as_str().unwrap(), message["content"].as_str().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            ("system", "Be kind."),
            ("user", "[A tool answered: result of zero]"),
            ("assistant", ""),
            ("tool", "result of one"),
            ("tool", "no result was recorded for this call"),
            ("user", "go on"),
        ]
    );
    let call = &body["messages"][2]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "mcp_app__app_read");
    assert_eq!(call["arguments"], "{\"resource\":\"Chats\"}");
}

#[tokio::test]
async fn errors_are_sorted_and_keep_the_key_to_themselves() {
    let refusal = |status: &str, headers: &str| {
        let body = format!(r#"{{"error":{{"message":"no good: {KEY}"}}}}"#);
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let later = Some(Duration::from_secs(7));
    for (status, headers, kind) in [
        ("401 Unauthorized", "", ModelErrorKind::Final),
        ("404 Not Found", "", ModelErrorKind::Final),
        ("429 Too Many", "Retry-After: 7\r\n", ModelErrorKind::Retryable { after: later }),
        ("503 Unavailable", "", ModelErrorKind::Retryable { after: None }),
    ] {
        let (events, _) = ask(refusal(status, headers), vec![text(Role::User, "Hi")]).await;
        let error = events.into_iter().next().unwrap().unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains("no good: [key]"), "{error}");
        assert!(!error.message.contains(KEY), "{error}");
        assert!(error.message.contains(status.get(..3).unwrap()), "{error}");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_an_error_after_what_came() {
    let response = sse(&[r#"{"choices":[{"delta":{"content":"Half"}}]}"#]);
    let (events, _) = ask(response, vec![text(Role::User, "Hi")]).await;
    assert_eq!(events[0], Ok(ModelEvent::Text("Half".to_owned())));
    let error = events[1].as_ref().unwrap_err();
    assert!(error.message.contains("broke its answer off"), "{error}");
    assert_eq!(events.len(), 2);
    let (events, _) = ask(sse(&["nonsense"]), vec![text(Role::User, "Hi")]).await;
    let error = events[0].as_ref().unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Final, "{error}");
}
