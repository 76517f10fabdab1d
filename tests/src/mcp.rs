//! MCP clients: hand-written JSON-RPC over HTTP in both protocol eras, and rmcp's own client,
//! behind one way to call a tool.

use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{CallToolRequestParams, ProtocolVersion};
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value, json};
use tokio::process::{Child, Command};

use crate::binary;
use crate::server::{DataFolder, Server};

/// The protocol's two eras.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// 2025-11-25: a handshake and a session.
    Legacy,
    /// 2026-07-28: every request stands for itself.
    Modern,
}

impl Era {
    /// The protocol version that stands for it.
    pub fn version(self) -> &'static str {
        match self {
            Era::Legacy => "2025-11-25",
            Era::Modern => "2026-07-28",
        }
    }
}

/// A client that can call tools.
pub enum Client {
    /// Hand-written JSON-RPC.
    Raw(Raw),
    /// rmcp's own client, over whatever transport.
    Sdk(RunningService<RoleClient, ()>),
    /// The same, over the stdio of a `scripta mcp` process.
    Stdio(RunningService<RoleClient, ()>, Child),
}

/// What a tool answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Whether it says that it failed.
    pub is_error: bool,
    /// The structured content; null if there is none.
    pub content: Value,
    /// The text content, or the message of a protocol error.
    pub text: String,
    /// The code of a protocol error, where there was no tool result at all.
    pub protocol_error: Option<i64>,
}

impl Answer {
    /// The content, of an answer that is no error.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(!self.is_error, "refused: {} {}", self.text, self.content);
        self.content
    }

    /// The content of a change that was applied.
    #[track_caller]
    pub fn applied(self) -> Value {
        let content = self.ok();
        assert_eq!(content["status"], "Applied", "{content}");
        assert!(content["phrase"].as_str().is_some_and(|phrase| !phrase.is_empty()), "{content}");
        content
    }

    /// The text of an answer that is an error and has all of `words` in it.
    #[track_caller]
    pub fn refused(self, words: &[&str]) -> String {
        assert!(self.is_error, "accepted: {} {}", self.text, self.content);
        let all = format!("{} {}", self.text, self.content);
        for word in words {
            assert!(all.contains(word), "{word:?} is not in the refusal: {all}");
        }
        self.text
    }
}

impl Client {
    /// Hand-written JSON-RPC over HTTP.
    pub async fn raw(server: &Server, era: Era) -> Client {
        Client::Raw(Raw::connect(server, era).await)
    }

    /// rmcp's client over HTTP.
    pub async fn sdk(server: &Server, era: Era) -> Client {
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", server.url))
            .auth_header(server.key.clone());
        let transport = StreamableHttpClientTransport::from_config(config);
        let client = ().serve_with_lifecycle(transport, lifecycle(era)).await;
        Client::Sdk(client.expect("rmcp's client connects"))
    }

    /// rmcp's client over the stdio of a `scripta mcp` process on this folder.
    pub async fn stdio(data: &DataFolder, era: Era) -> Client {
        let mut command = Command::from(binary::command());
        command.arg("--data").arg(data.path()).arg("mcp").kill_on_drop(true);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().expect("the scripta binary can be started");
        let transport = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = ().serve_with_lifecycle(transport, lifecycle(era)).await;
        Client::Stdio(client.expect("scripta mcp answers"), child)
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        match self {
            Client::Raw(raw) => raw.call(tool, arguments).await,
            Client::Sdk(client) | Client::Stdio(client, _) => {
                call_sdk(client, tool, arguments).await
            }
        }
    }

    /// The names of the tools on offer, in their order.
    pub async fn tools(&self) -> Vec<String> {
        match self {
            Client::Raw(raw) => {
                let listed = raw.request("tools/list", json!({})).await;
                let tools = listed["result"]["tools"].as_array().expect("a list of tools");
                tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
            }
            Client::Sdk(client) | Client::Stdio(client, _) => {
                let tools = client.list_all_tools().await.expect("the tools are listed");
                tools.into_iter().map(|tool| tool.name.into_owned()).collect()
            }
        }
    }

    /// Ends the connection in good order; a `scripta mcp` process must exit with 0.
    pub async fn close(self) {
        match self {
            Client::Raw(_) => {}
            Client::Sdk(client) => drop(client.cancel().await),
            Client::Stdio(client, mut child) => {
                drop(client.cancel().await);
                let status = child.wait().await.expect("scripta mcp ends when its input does");
                assert!(status.success(), "scripta mcp ended with {status}");
            }
        }
    }
}

fn lifecycle(era: Era) -> ClientLifecycleMode {
    match era {
        Era::Legacy => ClientLifecycleMode::Initialize,
        Era::Modern => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    }
}

async fn call_sdk(client: &RunningService<RoleClient, ()>, tool: &str, arguments: Value) -> Answer {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    match client.call_tool(params).await {
        Ok(result) => Answer::from_result(&serde_json::to_value(result).unwrap()),
        Err(rmcp::ServiceError::McpError(error)) => {
            Answer::from_protocol_error(i64::from(error.code.0), error.message.into_owned())
        }
        Err(error) => panic!("the call of {tool} came to nothing: {error:?}"),
    }
}

impl Answer {
    fn from_result(result: &Value) -> Answer {
        let blocks = result["content"].as_array().cloned().unwrap_or_default();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        Answer {
            is_error: result["isError"].as_bool().unwrap_or(false),
            content: result["structuredContent"].clone(),
            text: texts.join("\n"),
            protocol_error: None,
        }
    }

    fn from_protocol_error(code: i64, text: String) -> Answer {
        Answer { is_error: true, content: Value::Null, text, protocol_error: Some(code) }
    }
}

/// A client of a few lines, which sends exactly what the specification asks for.
pub struct Raw {
    http: reqwest::Client,
    url: String,
    key: Option<String>,
    era: Era,
    session: Option<String>,
    next: AtomicU64,
}

impl Raw {
    /// Connects with the server's key: a handshake in the legacy era, nothing in the modern one.
    pub async fn connect(server: &Server, era: Era) -> Raw {
        let mut raw = Raw {
            http: reqwest::Client::new(),
            url: format!("{}/mcp", server.url),
            key: Some(server.key.clone()),
            era,
            session: None,
            next: AtomicU64::new(1),
        };
        if era == Era::Legacy {
            raw.handshake().await;
        }
        raw
    }

    /// One without a key and without a handshake.
    pub fn visitor(server: &Server) -> Raw {
        Raw {
            http: reqwest::Client::new(),
            url: format!("{}/mcp", server.url),
            key: None,
            era: Era::Modern,
            session: None,
            next: AtomicU64::new(1),
        }
    }

    async fn handshake(&mut self) {
        let params = json!({ "protocolVersion": self.era.version(), "capabilities": {},
            "clientInfo": { "name": "scripta-tests", "version": "1" } });
        let response = self.post("initialize", None, self.envelope("initialize", params)).await;
        let session = response.headers().get("mcp-session-id").cloned();
        let answer = message_of(response).await;
        assert_eq!(answer["result"]["protocolVersion"], self.era.version(), "{answer}");
        self.session = session.map(|id| id.to_str().unwrap().to_owned());
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let response = self.post("notifications/initialized", None, note).await;
        assert!(response.status().is_success(), "{response:?}");
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.request("tools/call", params).await;
        match answer.get("error") {
            Some(error) => Answer::from_protocol_error(
                error["code"].as_i64().unwrap_or(0),
                error["message"].as_str().unwrap_or_default().to_owned(),
            ),
            None => Answer::from_result(&answer["result"]),
        }
    }

    /// Sends a request; the whole JSON-RPC answer.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        let name = params["name"].as_str().map(str::to_owned);
        let response = self.post(method, name.as_deref(), self.envelope(method, params)).await;
        message_of(response).await
    }

    /// Sends a request; the HTTP response as it came.
    pub async fn respond(&self, method: &str, params: Value) -> reqwest::Response {
        let name = params["name"].as_str().map(str::to_owned);
        self.post(method, name.as_deref(), self.envelope(method, params)).await
    }

    fn envelope(&self, method: &str, mut params: Value) -> Value {
        if self.era == Era::Modern {
            let mut meta = Map::new();
            let own = |name: &str| format!("io.modelcontextprotocol/{name}");
            meta.insert(own("protocolVersion"), self.era.version().into());
            meta.insert(own("clientInfo"), json!({ "name": "scripta-tests", "version": "1" }));
            meta.insert(own("clientCapabilities"), json!({}));
            params["_meta"] = Value::Object(meta);
        }
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    async fn post(&self, method: &str, name: Option<&str>, body: Value) -> reqwest::Response {
        let mut request = self
            .http
            .post(&self.url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream");
        if method != "initialize" {
            request = request.header("MCP-Protocol-Version", self.era.version());
        }
        if self.era == Era::Modern {
            request = request.header("Mcp-Method", method);
            request =
                name.into_iter().fold(request, |request, name| request.header("Mcp-Name", name));
        }
        if let Some(key) = &self.key {
            request = request.header("X-API-Key", key);
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request.body(body.to_string()).send().await.expect("the server answers")
    }
}

/// The JSON-RPC answer in a response, whether it is plain JSON or the last event of a stream.
async fn message_of(response: reqwest::Response) -> Value {
    let status = response.status();
    let text = response.text().await.expect("the body can be read");
    let parsed = match serde_json::from_str::<Value>(&text) {
        Ok(value) => Some(value),
        Err(_) => text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .rfind(|value| value.get("result").is_some() || value.get("error").is_some()),
    };
    parsed.unwrap_or_else(|| panic!("no JSON-RPC answer with status {status}: {text}"))
}
