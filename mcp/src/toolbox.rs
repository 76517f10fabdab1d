//! Tools of runs: MCP sessions in process, over typed channels.
//!
//! A session is an ordinary rmcp client and an ordinary rmcp server, so that a run's calls take
//! the same way as any other. Between them are channels of messages instead of bytes.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

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
    Chat, ChatState, Effective, LoadError, MemoryNote, Policies, Project, ProjectState, RunContext,
    ToolOutcome, ToolRequest, ToolSession, Toolbox, ToolboxError, Workspace,
};
use scripta_events::domain::{
    PolicyDecision, ProjectId, ToolServerId, ToolsetTool, WorkspaceDocuments, WorkspaceId,
};
use scripta_projections::{MemoryRow, ProjectionName, Projections};
use tokio_util::sync::CancellationToken;

use serde_json::Value;

use crate::result::sentence_of;
use crate::scope::{self, ScopeError};
use crate::server::App;
use crate::tools;
use crate::{AppServer, Caller, RunScope, SERVER_NAME};

/// How long a call may say nothing where neither its policy nor the settings say: a turn that is
/// waited for takes minutes.
const SILENCE: Duration = Duration::from_secs(5 * 60);

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
            let session = Session::open(app, run).await?;
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
    app: Arc<App>,
    run: RunContext,
    client: RunningService<RoleClient, ()>,
    tools: Vec<ToolsetTool>,
}

/// What holds for a run's tools at a moment.
struct Rules {
    workspace: Arc<WorkspaceDocuments>,
    project: Option<Arc<ProjectState>>,
    chat: Option<Arc<ChatState>>,
}

impl Rules {
    /// As they are now: a policy that changes in the middle of a turn holds from its next call on.
    async fn load(app: &App, run: &RunContext) -> Result<Rules, LoadError> {
        let handle = &app.handle;
        Ok(Rules {
            workspace: handle.state::<Workspace>(WorkspaceId::THE).await?.unwrap_or_default(),
            project: handle.state::<Project>(run.project).await?,
            chat: handle.state::<Chat>(run.chat).await?,
        })
    }

    fn policies(&self) -> Policies<'_> {
        Policies {
            workspace: &self.workspace,
            project: self.project.as_ref().map(|project| &project.security),
            chat: self.chat.as_ref().map(|chat| (&chat.security, chat.revision)),
        }
    }

    /// The most calls of a tool in one run, where somebody said: its policy, or the settings.
    fn most_calls(&self, tool: &str) -> Option<u32> {
        let own = self.policies().effective(ToolServerId::APP, tool);
        let own = own.and_then(|it| it.policy.max_calls_per_run);
        own.or(self.workspace.settings.value.max_calls_per_run)
    }

    /// How long a call of a tool may say nothing: what its policy says, or the settings.
    fn silence(&self, tool: &str) -> Duration {
        let own = self.policies().effective(ToolServerId::APP, tool);
        let own = own.and_then(|it| it.policy.silence_timeout_ms);
        let told = own.or(self.workspace.settings.value.silence_timeout_ms);
        told.map_or(SILENCE, Duration::from_millis)
    }

    /// Whether the model is told of the tool at all.
    fn offers(&self, tool: &ToolsetTool) -> bool {
        let policies = self.policies();
        let effective = policies.effective(ToolServerId::APP, &tool.tool);
        policies.is_used(ToolServerId::APP) && !effective.is_some_and(|it| it.denies_all())
    }
}

impl Session {
    async fn open(app: Arc<App>, run: RunContext) -> Result<Session, ToolboxError> {
        let scope =
            RunScope { project: run.project, chat: run.chat, branch: run.branch, run: run.run };
        let server = AppServer::over(Arc::clone(&app)).with_caller(Caller::run(scope));
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
        let rules = Rules::load(&app, &run).await.map_err(failed)?;
        let tools = client.list_all_tools().await.map_err(failed)?;
        let tools = tools.iter().map(toolset_tool).filter(|tool| rules.offers(tool)).collect();
        Ok(Session { app, run, client, tools })
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
        let (app, run) = (Arc::clone(&self.app), self.run.clone());
        Box::pin(async move {
            let rules = match Rules::load(&app, &run).await {
                Ok(rules) => rules,
                Err(error) => return ToolOutcome::error(sentence_of(&error)),
            };
            let params = match prepare(&request, &rules) {
                Ok(params) => params,
                Err(refusal) => return ToolOutcome::error(refusal),
            };
            let silence = rules.silence(&request.tool);
            let silent = cancel.child_token();
            let work = call(&peer, params, silent.clone());
            tokio::pin!(work);
            // These tools say nothing before their answer.
            match tokio::time::timeout(silence, &mut work).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    silent.cancel();
                    work.await;
                    ToolOutcome::error(format!(
                        "{} said nothing for {} s and was cancelled; it may have taken effect",
                        request.tool,
                        silence.as_secs_f64()
                    ))
                }
            }
        })
    }
}

/// What to call, or why it is not called.
fn prepare(request: &ToolRequest, rules: &Rules) -> Result<CallToolRequestParams, String> {
    let ToolRequest { server, tool, arguments, before, operation } = request;
    let Some(definition) = tools::find(tool).filter(|_| server == SERVER_NAME) else {
        return Err(format!("There is no tool {tool} of a server {server} here; use one of yours"));
    };
    let arguments = if arguments.trim().is_empty() { "{}" } else { arguments.as_str() };
    let mut arguments: JsonObject = serde_json::from_str(arguments).map_err(|error| {
        format!("The arguments of {tool} are not a JSON object ({error}); send one")
    })?;
    // What the rules see is what the tool does: it would make the same repairs.
    definition.repair(&mut arguments);
    let policies = rules.policies();
    if !policies.is_used(ToolServerId::APP) {
        return Err(format!(
            "{tool} was not called: the tools of {server} are not used here; go on without them"
        ));
    }
    let effective = policies.effective(ToolServerId::APP, tool);
    match effective.map(|it| it.decision(&arguments)) {
        Some(PolicyDecision::Allow) => {}
        None if definition.is_read_only() => {}
        Some(PolicyDecision::Deny) => return Err(refused(tool, "denies it", effective)),
        Some(PolicyDecision::Ask) | None => {
            let why = "asks a person first, and approvals are not there yet";
            return Err(refused(tool, why, effective));
        }
    }
    if let Some(most) = rules.most_calls(tool).filter(|most| before >= most) {
        return Err(format!(
            "{tool} was not called: this run has asked for it {before} times, and {most} are the \
             most; go on without it"
        ));
    }
    if definition.takes("operationId") {
        // The same request has the same one, so that it takes effect once.
        let own = || Value::from(operation.0.to_string());
        arguments.entry("operationId").or_insert_with(own);
    }
    Ok(CallToolRequestParams::new(tool.clone()).with_arguments(arguments))
}

/// Why a call was not made, for the model: it can tell the person which policy stands in the way.
fn refused(tool: &str, why: &str, effective: Option<Effective<'_>>) -> String {
    let policy = match effective {
        Some(effective) => effective.to_string(),
        None => "what holds for a tool that changes things and has no policy".to_owned(),
    };
    format!(
        "{tool} was not called: {policy} {why}. Go on with tools that are allowed, or say what you \
         would have done"
    )
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
