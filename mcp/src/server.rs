//! The `app` MCP server.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, DiscoverResult, ErrorData, Extensions,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use scripta_actors::Handle;
use scripta_events::log::EventLog;
use scripta_projections::Projections;
use thiserror::Error;

use crate::lists::Lists;
use crate::moments::Moments;
use crate::pages::{CursorKey, KeptLists};
use crate::secrets::Secrets;
use crate::tools::{self, TOOLS};
use crate::{Caller, SecretStore, result};

/// The name that the server gives itself, and that runs know it by.
pub const SERVER_NAME: &str = "app";

/// How long a client may take the list of tools for current, in milliseconds: it changes with
/// the program only, or with a key's role, and a restart in between is noticed within minutes.
const TOOLS_TTL_MS: u64 = 5 * 60 * 1_000;

const INSTRUCTIONS: &str = "\
Scripta keeps conversations: projects hold chats, a chat has branches, a branch is a chain of \
messages, and a run is one turn of a branch in which a model answers. Begin with app_read Projects and \
app_read Chats. Make a project (app_projects Create), a chat in it (app_chats Create), and submit a \
message (app_runs Submit with wait: true); then read the answer by app_read Messages. A fork (app_runs \
Submit with mode Fork) goes on from any message in a branch of its own. Give an operationId (a new UUID) \
with each change, and repeat the call with the same id if its answer was lost: it takes effect once. A \
change of an existing document needs its revision as expectedRevision; on Conflict read the document \
in the answer and decide again.";

const VISITOR: &str = "This call came without a key, so nothing was done: send the header \
`X-API-Key: …` or `Authorization: Bearer …` with the key that the server made at its first start \
(the file admin.key in its data folder).";

/// How a server finds out who makes a request, from the request's extensions.
pub type FindCaller = Arc<dyn Fn(&Extensions) -> Option<Caller> + Send + Sync>;

/// The `app` MCP server. A clone is another handle of the same server.
#[derive(Clone)]
pub struct AppServer {
    pub(crate) app: Arc<App>,
    find_caller: FindCaller,
}

/// What the tools work with.
pub(crate) struct App {
    pub(crate) handle: Handle,
    pub(crate) projections: Arc<Projections>,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) lists: Arc<KeptLists>,
    pub(crate) cursors: Arc<CursorKey>,
    pub(crate) moments: Moments,
    pub(crate) secrets: Secrets,
}

/// Why a server could not be made.
#[derive(Debug, Error)]
pub enum NewServerError {
    /// The operating system gave no randomness for the key that signs cursors.
    #[error("the operating system has no randomness to give")]
    Randomness(#[source] getrandom::Error),
}

impl AppServer {
    /// A server over the log, the actors that write it, the projections that read it, and the store
    /// of secrets.
    ///
    /// It takes a request's caller from the [`Caller`] in the request's extensions; see
    /// [`with_callers`](AppServer::with_callers) for a transport that nests them.
    ///
    /// # Errors
    ///
    /// [`NewServerError`], if the operating system has no randomness to give.
    pub fn new(
        handle: Handle,
        projections: Arc<Projections>,
        log: Arc<dyn EventLog>,
        secrets: Arc<dyn SecretStore>,
    ) -> Result<AppServer, NewServerError> {
        let cursors = CursorKey::random().map_err(NewServerError::Randomness)?;
        handle.bind_lists(Arc::new(Lists::new(&projections)));
        let app = App {
            handle,
            projections,
            log,
            lists: Arc::new(KeptLists::default()),
            cursors: Arc::new(cursors),
            moments: Moments::default(),
            secrets: Secrets::new(secrets),
        };
        Ok(AppServer::over(Arc::new(app)))
    }

    pub(crate) fn over(app: Arc<App>) -> AppServer {
        AppServer { app, find_caller: Arc::new(|extensions| extensions.get::<Caller>().cloned()) }
    }

    /// The same server, which finds out by `find_caller` who makes a request.
    pub fn with_callers(&self, find_caller: FindCaller) -> AppServer {
        AppServer { app: Arc::clone(&self.app), find_caller }
    }

    /// The same server for a connection whose every request is made by `caller`.
    pub fn with_caller(&self, caller: Caller) -> AppServer {
        self.with_callers(Arc::new(move |_| Some(caller.clone())))
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Option<Caller> {
        (self.find_caller)(&context.extensions)
    }
}

impl ServerHandler for AppServer {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new(SERVER_NAME, env!("CARGO_PKG_VERSION"))
            .with_title("Scripta")
            .with_description("A home for agent conversations: projects, chats, branches and runs");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        // It is the same for everyone.
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(TOOLS_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let text = "tools/list has a single page, so no cursor is one of it; leave it out";
            return Err(ErrorData::invalid_params(text, None));
        }
        let role = self.caller(&context).map(|caller| caller.role());
        let seen = TOOLS.iter().filter(|tool| role.is_some_and(|role| tool.needs <= role));
        let tools = seen.map(|definition| definition.tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(TOOLS_TTL_MS)
            .with_cache_scope(CacheScope::Private))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name).map(|definition| definition.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(definition) = tools::find(&request.name) else {
            return Err(unknown_tool(&request.name));
        };
        let Some(caller) = self.caller(&context) else {
            return Ok(result::sentence(VISITOR.to_owned()).into());
        };
        if definition.needs > caller.role() {
            let text = format!(
                "This key has the role {:?}, so nothing was done: {} needs a key with the role {:?}",
                caller.role(),
                request.name,
                definition.needs
            );
            return Ok(result::sentence(text).into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let answer = definition.call(&self.app, &caller, arguments, &context.ct).await;
        tracing::debug!(
            tool = %request.name,
            caller = caller.id(),
            is_error = answer.is_error.unwrap_or(false),
            "tool called"
        );
        Ok(answer.into())
    }
}

fn unknown_tool(name: &str) -> ErrorData {
    let names: Vec<&str> = TOOLS.iter().map(|definition| &*definition.tool.name).collect();
    let text = format!("there is no tool {name}; there are {}", names.join(", "));
    ErrorData::invalid_params(text, None)
}
