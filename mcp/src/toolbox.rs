//! Tools of runs: MCP sessions in process, over typed channels.
//!
//! A session is an ordinary rmcp client and an ordinary rmcp server, so that a run's calls take
//! the same way as any other. Between them are channels of messages instead of bytes.

use std::sync::{Arc, OnceLock, Weak};

use futures::channel::mpsc;
use futures::future::BoxFuture;
use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, JsonObject,
    ProtocolVersion, ServerResult, Tool,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, Peer, PeerRequestOptions, RoleClient, RoleServer,
    RunningService, ServiceError, TxJsonRpcMessage,
};
use scripta_actors::{
    MemoryNote, RunContext, ToolOutcome, ToolRequest, ToolSession, Toolbox, ToolboxError,
};
use scripta_events::domain::{ProjectId, ToolsetTool};
use scripta_projections::{MemoryRow, ProjectionName, Projections};
use tokio_util::sync::CancellationToken;

use crate::scope::{self, ScopeError};
use crate::server::App;
use crate::tools;
use crate::{AppServer, Caller, RunScope, SERVER_NAME};

/// How many messages wait between the two ends of a session: calls of a run come one after the
/// other, so a few are plenty.
const CHANNEL_MESSAGES: usize = 16;

/// The most entries of memory that are looked at for a turn (inclusive): far more than fit before
/// one.
const MAX_NOTES: usize = 1_000;

/// The tools that runs get.
///
/// The actors need it before there is a server, and the server needs the actors: it is made
/// first, and [bound](AppToolbox::bind) to the server when that is there.
#[derive(Default)]
pub struct AppToolbox {
    // Weak, because the server holds the actors, which hold this.
    app: OnceLock<Weak<App>>,
}

impl AppToolbox {
    /// A toolbox without a server.
    pub fn new() -> AppToolbox {
        AppToolbox::default()
    }

    /// Gives runs the tools of `server`, for as long as somebody holds it. Only the first
    /// server is taken.
    pub fn bind(&self, server: &AppServer) {
        if self.app.set(Arc::downgrade(&server.app)).is_err() {
            tracing::warn!("the toolbox of runs was bound before; the first server stays");
        }
    }
}

impl Toolbox for AppToolbox {
    fn open(
        &self,
        run: RunContext,
    ) -> BoxFuture<'static, Result<Arc<dyn ToolSession>, ToolboxError>> {
        let app = self.app.get().and_then(Weak::upgrade);
        Box::pin(async move {
            let app = app.ok_or_else(starting)?;
            let session = Session::open(&AppServer::over(app), run).await?;
            Ok(Arc::new(session) as Arc<dyn ToolSession>)
        })
    }

    fn memory(
        &self,
        project: ProjectId,
    ) -> BoxFuture<'static, Result<Vec<MemoryNote>, ToolboxError>> {
        let app = self.app.get().and_then(Weak::upgrade);
        Box::pin(async move {
            let app = app.ok_or_else(starting)?;
            app.reached(&[ProjectionName::Memory]).await.map_err(failed)?;
            let told = move |projections: &Projections| -> Result<_, ScopeError> {
                Ok(projections.memory_told(project, MAX_NOTES)?)
            };
            let rows = scope::look_up(&app, told).await.map_err(failed)?;
            let note =
                |row: MemoryRow| MemoryNote { title: row.title, text: row.text, tags: row.tags };
            Ok(rows.into_iter().map(note).collect())
        })
    }
}

struct Session {
    client: RunningService<RoleClient, ()>,
    tools: Vec<ToolsetTool>,
}

impl Session {
    async fn open(server: &AppServer, run: RunContext) -> Result<Session, ToolboxError> {
        let scope =
            RunScope { project: run.project, chat: run.chat, branch: run.branch, run: run.run };
        let server = server.with_caller(Caller::run(scope));
        let (to_server, from_client) =
            mpsc::channel::<TxJsonRpcMessage<RoleClient>>(CHANNEL_MESSAGES);
        let (to_client, from_server) =
            mpsc::channel::<TxJsonRpcMessage<RoleServer>>(CHANNEL_MESSAGES);
        tokio::spawn(async move {
            match server.serve((to_client, from_client)).await {
                Ok(running) => drop(running.waiting().await),
                Err(error) => tracing::debug!(%error, "a run's tool session did not begin"),
            }
        });
        let lifecycle = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let client = ().serve_with_lifecycle((to_server, from_server), lifecycle).await;
        let client = client.map_err(failed)?;
        let tools = client.list_all_tools().await.map_err(failed)?;
        let tools = tools.iter().map(toolset_tool).collect();
        Ok(Session { client, tools })
    }
}

fn starting() -> ToolboxError {
    ToolboxError { message: "the server is starting or shutting down; try again".to_owned() }
}

fn failed(error: impl std::fmt::Display) -> ToolboxError {
    ToolboxError { message: error.to_string() }
}

impl ToolSession for Session {
    fn tools(&self) -> Vec<ToolsetTool> {
        self.tools.clone()
    }

    fn call(
        &self,
        request: ToolRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ToolOutcome> {
        let peer = self.client.peer().clone();
        Box::pin(async move {
            match prepare(&request) {
                Ok(params) => call(&peer, params, cancel).await,
                Err(refusal) => ToolOutcome::error(refusal),
            }
        })
    }
}

/// What to call, or why it is not called.
fn prepare(request: &ToolRequest) -> Result<CallToolRequestParams, String> {
    let ToolRequest { server, tool, arguments, .. } = request;
    let Some(definition) = tools::find(tool).filter(|_| server == SERVER_NAME) else {
        return Err(format!("There is no tool {tool} of a server {server} here; use one of yours"));
    };
    if !definition.is_read_only() {
        return Err(format!(
            "{tool} was not called: it changes things, which needs a person's approval, and \
             approvals are not there yet. Go on with tools that only read, or say what you would \
             have done"
        ));
    }
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments.as_str() };
    let arguments: JsonObject = serde_json::from_str(arguments).map_err(|error| {
        format!("The arguments of {tool} are not a JSON object ({error}); send one")
    })?;
    Ok(CallToolRequestParams::new(tool.clone()).with_arguments(arguments))
}

async fn call(
    peer: &Peer<RoleClient>,
    params: CallToolRequestParams,
    cancel: CancellationToken,
) -> ToolOutcome {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
    let mut pending = match sent {
        Ok(pending) => pending,
        Err(error) => return broken(&error),
    };
    tokio::select! {
        answer = &mut pending.rx => match answer {
            Ok(Ok(ServerResult::CallToolResult(result))) => outcome(result),
            Ok(Ok(_)) => broken(&ServiceError::UnexpectedResponse),
            Ok(Err(error)) => broken(&error),
            Err(_) => broken(&ServiceError::TransportClosed),
        },
        () = cancel.cancelled() => {
            let told = pending.cancel(Some("the run was stopped".to_owned())).await;
            if let Err(error) = told {
                tracing::debug!(%error, "a tool call's cancellation was not heard");
            }
            ToolOutcome::error("Not finished: the run was stopped")
        }
    }
}

fn broken(error: &ServiceError) -> ToolOutcome {
    ToolOutcome::error(format!("The tool could not be called: {error}"))
}

fn outcome(result: CallToolResult) -> ToolOutcome {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    let text: Vec<&str> = texts.map(|text| text.text.as_str()).collect();
    ToolOutcome {
        is_error: result.is_error.unwrap_or(false),
        text: text.join("\n"),
        structured: result.structured_content.map(|value| value.to_string()),
    }
}

fn toolset_tool(tool: &Tool) -> ToolsetTool {
    let schema = tool.schema_as_json_value().to_string();
    let annotations = tool.annotations.as_ref();
    ToolsetTool {
        server: SERVER_NAME.to_owned(),
        tool: tool.name.to_string(),
        description: tool.description.as_deref().unwrap_or_default().to_owned(),
        schema_hash: *blake3::hash(schema.as_bytes()).as_bytes(),
        schema,
        read_only: annotations.and_then(|hints| hints.read_only_hint).unwrap_or(false),
    }
}
