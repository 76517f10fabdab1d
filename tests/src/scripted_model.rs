//! A model provider on loopback that speaks OpenAI's chat completions, streamed, over real HTTP
//! and real server-sent events, and says what its script tells it to.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::web::{Bytes, Data, Json, JsonConfig};
use actix_web::{App, HttpResponse, HttpServer, web};
use futures::StreamExt;
use futures::stream::{self, LocalBoxStream};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

/// The largest request body in bytes: a long history with every tool's schema is far below it.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// What the provider does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Streams these pieces of text, and ends.
    Text(Vec<String>),
    /// Streams one tool call: its arguments in these pieces, after its name.
    Call {
        /// The call's id.
        id: String,
        /// The tool's name as the model was given it, such as `mcp_app__app_read`.
        name: String,
        /// The argument text, in pieces.
        arguments: Vec<String>,
    },
    /// Streams each piece of text only when the gate lets one more through, and ends.
    Gated(Vec<String>, Gate),
    /// Answers with an HTTP error and a message.
    Status {
        /// The status code.
        code: u16,
        /// The `Retry-After` header, in seconds.
        retry_after: Option<u64>,
    },
    /// Streams these pieces of text, and then the connection breaks.
    CutOff(Vec<String>),
}

impl Answer {
    /// An answer of text, word by word.
    pub fn text(text: &str) -> Answer {
        Answer::Text(text.split_inclusive(' ').map(str::to_owned).collect())
    }

    /// A tool call whose arguments come in pieces of a few bytes.
    pub fn call(id: &str, name: &str, arguments: &Value) -> Answer {
        /// Small enough to cut keys and numbers in two.
        const PIECE_CHARS: usize = 5;
        let text: Vec<char> = arguments.to_string().chars().collect();
        let arguments = text.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect();
        Answer::Call { id: id.to_owned(), name: name.to_owned(), arguments }
    }
}

/// Lets a gated answer through piece by piece, in the test's own time.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    /// A gate that lets nothing through yet.
    pub fn closed() -> Gate {
        Gate(Arc::new(Semaphore::new(0)))
    }

    /// Lets `pieces` more through.
    pub fn open(&self, pieces: usize) {
        self.0.add_permits(pieces);
    }

    async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

/// The provider; it stops when it is dropped.
pub struct ScriptedModel {
    address: std::net::SocketAddr,
    script: Arc<Script>,
    handle: ServerHandle,
}

struct Script {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Value>>,
    asked: Notify,
}

impl ScriptedModel {
    /// Starts it on a free port of the loopback address. Each request takes the next answer.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> ScriptedModel {
        let script = Arc::new(Script {
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::new(Vec::new()),
            asked: Notify::new(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the bound address");
        let shared = Data::from(Arc::clone(&script));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(shared.clone())
                .app_data(JsonConfig::default().limit(MAX_REQUEST_BYTES))
                .route("/v1/chat/completions", web::post().to(complete))
        })
        .workers(1)
        .disable_signals()
        .listen(listener)
        .expect("the port can be listened on")
        .run();
        let handle = server.handle();
        tokio::spawn(server);
        ScriptedModel { address, script, handle }
    }

    /// The base URL to configure a connection with.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// The bodies of all requests so far, in order.
    pub fn requests(&self) -> Vec<Value> {
        self.script.requests.lock().expect("no test panics with it").clone()
    }

    /// Waits until `count` requests have come in.
    pub async fn asked(&self, count: usize) {
        loop {
            let next = self.script.asked.notified();
            tokio::pin!(next);
            next.as_mut().enable();
            if self.requests().len() >= count {
                return;
            }
            next.await;
        }
    }

    /// Adds an answer at the end of the script.
    pub fn then(&self, answer: Answer) {
        self.script.answers.lock().expect("no test panics with it").push_back(answer);
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        // The returned future only waits for the end; the request to stop is sent at the call.
        drop(self.handle.stop(false));
    }
}

async fn complete(script: Data<Script>, request: Json<Value>) -> HttpResponse {
    script.requests.lock().expect("no test panics with it").push(request.into_inner());
    script.asked.notify_waiters();
    let answer = script.answers.lock().expect("no test panics with it").pop_front();
    match answer {
        Some(Answer::Text(pieces)) => stream_of(text_events(pieces), Ending::Whole),
        Some(Answer::Call { id, name, arguments }) => {
            stream_of(call_events(&id, &name, arguments), Ending::Whole)
        }
        Some(Answer::Gated(pieces, gate)) => gated_stream(text_events(pieces), gate),
        Some(Answer::CutOff(pieces)) => {
            let mut events = text_events(pieces);
            events.truncate(events.len().saturating_sub(1));
            stream_of(events, Ending::Cut)
        }
        Some(Answer::Status { code, retry_after }) => refuse(code, retry_after),
        None => refuse(500, None),
    }
}

#[derive(PartialEq)]
enum Ending {
    Whole,
    Cut,
}

fn stream_of(events: Vec<Value>, ending: Ending) -> HttpResponse {
    let frames = stream::iter(split_frames(&events));
    let end = stream::once(async move {
        match ending {
            Ending::Whole => Ok(Bytes::from_static(b"data: [DONE]\n\n")),
            Ending::Cut => {
                // What comes with an error at once is never sent: let it go out first.
                tokio::task::yield_now().await;
                Err(std::io::Error::other("the script cuts here"))
            }
        }
    });
    respond(frames.chain(end).boxed_local())
}

fn gated_stream(events: Vec<Value>, gate: Gate) -> HttpResponse {
    let pieces = stream::iter(events).then(move |event| {
        let gate = gate.clone();
        async move {
            // The last event carries no text: it follows the last piece without waiting.
            if event["choices"][0]["finish_reason"].is_null() {
                gate.pass().await;
            }
            Ok(frame(&event))
        }
    });
    let done = stream::iter([Ok(Bytes::from_static(b"data: [DONE]\n\n"))]);
    respond(pieces.chain(done).boxed_local())
}

fn respond(body: LocalBoxStream<'static, Result<Bytes, std::io::Error>>) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("Cache-Control", "no-cache"))
        .streaming(body)
}

/// Cuts every other event in the middle, as a network does: a reader that takes a chunk for an
/// event fails on it.
fn split_frames(events: &[Value]) -> Vec<Result<Bytes, std::io::Error>> {
    let mut chunks = Vec::new();
    for (index, event) in events.iter().enumerate() {
        let mut bytes = frame(event);
        if index % 2 == 1 {
            let tail = bytes.split_off(bytes.len() / 2);
            chunks.push(Ok(bytes));
            chunks.push(Ok(tail));
        } else {
            chunks.push(Ok(bytes));
        }
    }
    chunks
}

fn frame(event: &Value) -> Bytes {
    Bytes::from(format!("data: {event}\n\n"))
}

fn text_events(pieces: Vec<String>) -> Vec<Value> {
    let mut events: Vec<Value> =
        pieces.into_iter().map(|piece| chunk(json!({ "content": piece }), None)).collect();
    events.push(chunk(json!({}), Some("stop")));
    events
}

fn call_events(id: &str, name: &str, arguments: Vec<String>) -> Vec<Value> {
    let head = json!({ "index": 0, "id": id, "type": "function",
        "function": { "name": name, "arguments": "" } });
    let mut events = vec![chunk(json!({ "role": "assistant", "tool_calls": [head] }), None)];
    for piece in arguments {
        let delta = json!({ "index": 0, "function": { "arguments": piece } });
        events.push(chunk(json!({ "tool_calls": [delta] }), None));
    }
    events.push(chunk(json!({}), Some("tool_calls")));
    events
}

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    let mut event = json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    });
    if finish.is_some() {
        event["usage"] = json!({ "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12 });
    }
    event
}

fn refuse(code: u16, retry_after: Option<u64>) -> HttpResponse {
    let status = actix_web::http::StatusCode::from_u16(code).expect("a status code");
    let mut response = HttpResponse::build(status);
    if let Some(seconds) = retry_after {
        response.insert_header(("Retry-After", seconds.to_string()));
    }
    let message = format!("the script answers with {code}");
    response.json(json!({ "error": { "message": message, "type": "scripted" } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(model: &ScriptedModel) -> reqwest::Result<String> {
        let url = format!("{}chat/completions", model.base_url());
        let request = reqwest::Client::new().post(url).json(&json!({ "stream": true }));
        request.send().await?.error_for_status()?.text().await
    }

    /// The events of a stream's text, put together again.
    fn events(text: &str) -> Vec<Value> {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }

    #[tokio::test]
    async fn the_script_is_followed_in_order() {
        let arguments = json!({ "resource": "Projects", "limit": 12 });
        let model = ScriptedModel::start([
            Answer::text("One two three"),
            Answer::call("c1", "mcp_app__app_read", &arguments),
            Answer::Status { code: 429, retry_after: Some(1) },
            Answer::CutOff(vec!["half".to_owned()]),
        ]);
        let text = ask(&model).await.unwrap();
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
        let pieces = events(&text);
        let pieces = pieces.iter().filter_map(|e| e["choices"][0]["delta"]["content"].as_str());
        assert_eq!(pieces.collect::<Vec<_>>(), ["One ", "two ", "three"]);
        let call = events(&ask(&model).await.unwrap());
        let functions = call.iter().map(|e| &e["choices"][0]["delta"]["tool_calls"][0]["function"]);
        let sent: String = functions.filter_map(|f| f["arguments"].as_str()).collect();
        assert_eq!(serde_json::from_str::<Value>(&sent).unwrap(), arguments);
        assert_eq!(ask(&model).await.unwrap_err().status().unwrap(), 429);
        let url = format!("{}chat/completions", model.base_url());
        let request = reqwest::Client::new().post(url).json(&json!({}));
        let mut broken = request.send().await.unwrap();
        let received = broken.chunk().await.unwrap().expect("what came before the break");
        assert!(String::from_utf8_lossy(&received).contains("half"));
        broken.chunk().await.expect_err("the connection breaks");
        assert_eq!(ask(&model).await.unwrap_err().status().unwrap(), 500);
        assert_eq!(model.requests().len(), 5);
    }

    #[tokio::test]
    async fn a_gate_lets_one_piece_through_at_a_time() {
        let gate = Gate::closed();
        let pieces = vec!["a".to_owned(), "b".to_owned()];
        let model = ScriptedModel::start([Answer::Gated(pieces, gate.clone())]);
        let url = format!("{}chat/completions", model.base_url());
        let request = reqwest::Client::new().post(url).json(&json!({}));
        let mut response = request.send().await.unwrap();
        model.asked(1).await;
        gate.open(1);
        let first = response.chunk().await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(&first).contains("\"a\""));
        gate.open(1);
        let rest = response.text().await.unwrap();
        assert!(rest.contains("\"b\"") && rest.contains("[DONE]"), "{rest}");
    }
}
