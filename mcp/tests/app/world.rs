//! A whole Scripta without disk and network: a log in memory and the demo model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::channel::mpsc;
use futures::stream::BoxStream;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion, Tool};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, RoleClient, RoleServer, RunningService, ServiceError,
    TxJsonRpcMessage,
};
use rmcp::{ClientHandler, ServiceExt};
use scripta_actors::{Handle, ModelError, ModelEvent, ModelRequest, Models, Options, demo};
use scripta_events::Position;
use scripta_events::domain::ConnectionId;
use scripta_events::log::EventLog;
use scripta_events::log::memory::MemoryLog;
use scripta_mcp::{AppServer, AppToolbox, Caller, MemorySecrets};
use scripta_projections::Projections;
use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;

pub type Client = RunningService<RoleClient, ()>;

/// What nothing here takes as long as.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct World {
    pub server: AppServer,
    pub client: Client,
    pub handle: Handle,
    pub log: Arc<dyn EventLog>,
    pub toolbox: Arc<AppToolbox>,
    models: Arc<dyn Models>,
    pub secrets: Arc<MemorySecrets>,
    tools: HashMap<String, Tool>,
    _dir: TempDir,
}

#[derive(Clone, Copy)]
pub enum Era {
    Modern,
    Legacy,
}

pub async fn world() -> World {
    world_with(Arc::new(demo::Demo)).await
}

pub async fn world_with(models: Arc<dyn Models>) -> World {
    let secrets = Arc::new(MemorySecrets::new().unwrap());
    world_over(Arc::new(MemoryLog::new()), models, secrets).await
}

async fn world_over(
    log: Arc<dyn EventLog>,
    models: Arc<dyn Models>,
    secrets: Arc<MemorySecrets>,
) -> World {
    let dir = tempfile::tempdir().unwrap();
    let opened = Projections::open(log.clone(), dir.path(), Default::default());
    let projections = Arc::new(opened.unwrap());
    let toolbox = Arc::new(AppToolbox::new());
    let options = Options::default();
    let handle = Handle::start(log.clone(), models.clone(), toolbox.clone(), options).unwrap();
    let server = AppServer::new(handle.clone(), projections, log.clone(), secrets.clone()).unwrap();
    toolbox.bind(&server);
    let client = connect(&server.with_caller(Caller::person()), Era::Modern).await;
    let tools = client.list_all_tools().await.unwrap();
    let tools = tools.into_iter().map(|tool| (tool.name.to_string(), tool)).collect();
    World { server, client, handle, log, toolbox, models, secrets, tools, _dir: dir }
}

pub async fn connect(server: &AppServer, era: Era) -> Client {
    connect_as((), server, era).await
}

/// Connects a client that does something with what the server tells it by itself.
pub async fn connect_as<H: ClientHandler>(
    client: H,
    server: &AppServer,
    era: Era,
) -> RunningService<RoleClient, H> {
    let (to_server, from_client) = mpsc::channel::<TxJsonRpcMessage<RoleClient>>(16);
    let (to_client, from_server) = mpsc::channel::<TxJsonRpcMessage<RoleServer>>(16);
    let server = server.clone();
    tokio::spawn(async move {
        let running = server.serve((to_client, from_client)).await.unwrap();
        running.waiting().await
    });
    let lifecycle = match era {
        Era::Modern => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        Era::Legacy => ClientLifecycleMode::Initialize,
    };
    client.serve_with_lifecycle((to_server, from_server), lifecycle).await.unwrap()
}

pub async fn call(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    try_call(client, tool, arguments).await.unwrap()
}

pub async fn try_call(
    client: &Client,
    tool: &str,
    arguments: Value,
) -> Result<CallToolResult, ServiceError> {
    let arguments = arguments.as_object().unwrap().clone();
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    client.call_tool(params).await
}

pub fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

impl World {
    /// The structured answer, which must keep to the schema and stand in the text too.
    pub async fn answer(&self, tool: &str, arguments: Value) -> (Value, bool) {
        let result = call(&self.client, tool, arguments).await;
        let value = result.structured_content.clone().expect("a structured answer");
        let schema = Value::Object((**self.tools[tool].output_schema.as_ref().unwrap()).clone());
        if let Err(error) = jsonschema::validate(&schema, &value) {
            panic!("{tool} answered against its schema: {error}\n{value:#}");
        }
        assert_eq!(serde_json::from_str::<Value>(&text(&result)).unwrap(), value);
        (value, result.is_error.unwrap_or(false))
    }

    pub async fn ok(&self, tool: &str, arguments: Value) -> Value {
        let (value, is_error) = self.answer(tool, arguments).await;
        assert!(!is_error, "{value:#}");
        value
    }

    /// The same after a restart: a process that knows only what the log and the secrets tell.
    pub async fn successor(&self) -> World {
        world_over(self.log.clone(), self.models.clone(), self.secrets.clone()).await
    }

    /// Waits until this many events stand after those of an answer.
    pub async fn goes_on(&self, answer: &Value, events: u64) {
        let wanted = Position(answer["position"].as_u64().unwrap() + events);
        let mut head = self.log.head();
        let reached = head.wait_for(|head| *head >= wanted);
        tokio::time::timeout(PATIENCE, reached).await.unwrap().unwrap();
    }

    /// Reads until the page is as wanted; it is looked at again whenever something happened.
    pub async fn until(&self, read: Value, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut head = self.log.head();
        let seen = async {
            loop {
                head.mark_unchanged();
                let page = self.read(read.clone()).await;
                if wanted(&page) {
                    return page;
                }
                head.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.expect("what was waited for")
    }

    /// What an argument of a tool may be.
    pub fn input_enum(&self, tool: &str, argument: &str) -> Vec<String> {
        let values = self.tools[tool].input_schema["properties"][argument]["enum"].as_array();
        values.unwrap().iter().map(id).collect()
    }

    /// A change that is refused or conflicts.
    pub async fn rejected(&self, tool: &str, arguments: Value) -> Value {
        let before = *self.log.head().borrow();
        let (value, is_error) = self.answer(tool, arguments).await;
        assert!(is_error, "{value:#}");
        assert_eq!(*self.log.head().borrow(), before, "a rejected change wrote something");
        value
    }

    /// A read that has no page to give.
    pub async fn failed_read(&self, arguments: Value) -> String {
        let result = call(&self.client, "app_read", arguments).await;
        assert_eq!(result.is_error, Some(true), "{}", text(&result));
        assert_eq!(result.structured_content, None);
        text(&result)
    }

    pub async fn project(&self, name: &str) -> String {
        let made = self.ok("app_projects", json!({ "operation": "Create", "name": name })).await;
        id(&made["document"]["id"])
    }

    /// Lets a project without security of its own read a path.
    pub async fn may_read(&self, project: &str, path: &str) -> Value {
        let grant = json!({
            "operation": "AddDirectoryGrant", "projectId": project, "path": path,
            "capabilities": ["Read"], "expectedRevision": 0,
        });
        self.ok("app_security", grant).await
    }

    pub async fn chat(&self, project: &str, title: &str) -> String {
        let arguments = json!({ "operation": "Create", "projectId": project, "title": title });
        id(&self.ok("app_chats", arguments).await["document"]["id"])
    }

    pub async fn submit(&self, chat: &str, text: &str) -> Value {
        let arguments =
            json!({ "operation": "Submit", "chatId": chat, "text": text, "wait": true });
        self.ok("app_runs", arguments).await
    }

    pub async fn submit_to(&self, branch: &str, text: &str) -> Value {
        let arguments =
            json!({ "operation": "Submit", "branchId": branch, "text": text, "wait": true });
        self.ok("app_runs", arguments).await
    }

    pub async fn read(&self, arguments: Value) -> Value {
        self.ok("app_read", arguments).await
    }
}

pub fn id(value: &Value) -> String {
    value.as_str().expect("an id").to_owned()
}

pub fn ids(page: &Value) -> Vec<String> {
    page["items"].as_array().unwrap().iter().map(|item| id(&item["id"])).collect()
}

/// Ids, times and cursors in their order of appearance, so that an answer can be a snapshot.
pub fn named(value: &Value) -> Value {
    fn walk(value: &Value, key: &str, seen: &mut Vec<String>) -> Value {
        match value {
            Value::Object(map) => {
                let entries = map.iter().map(|(key, value)| (key.clone(), walk(value, key, seen)));
                Value::Object(entries.collect())
            }
            Value::Array(items) => items.iter().map(|item| walk(item, key, seen)).collect(),
            Value::String(_) if key.ends_with("At") || key == "time" => json!("<time>"),
            Value::String(_) if key == "nextCursor" => json!("<cursor>"),
            Value::String(text) => json!(without_ids(text, seen)),
            other => other.clone(),
        }
    }
    walk(value, "", &mut Vec::new())
}

fn without_ids(text: &str, seen: &mut Vec<String>) -> String {
    const LENGTH: usize = 36;
    let mut text = text.to_owned();
    let mut at = 0;
    while at + LENGTH <= text.len() {
        match text.get(at..at + LENGTH).filter(|part| Uuid::try_parse(part).is_ok()) {
            None => at += 1,
            Some(id) => {
                let number = seen.iter().position(|known| known == id).unwrap_or(seen.len());
                if number == seen.len() {
                    seen.push(id.to_owned());
                }
                text.replace_range(at..at + LENGTH, &format!("<id {}>", number + 1));
            }
        }
    }
    text
}

/// The demo model, with an ear for what it is told before the conversation.
#[derive(Default)]
pub struct Listener(Mutex<Vec<String>>);

impl Models for Listener {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        demo::Demo.resolve(wanted, model)
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.0.lock().unwrap().push(request.system.clone());
        demo::Demo.stream(request)
    }
}

impl Listener {
    pub fn new() -> Arc<Listener> {
        Arc::default()
    }

    /// What it was told last.
    pub fn last(&self) -> String {
        self.0.lock().unwrap().pop().unwrap()
    }
}
