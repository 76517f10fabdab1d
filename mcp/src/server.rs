//! The `app` MCP server.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    DiscoverResult, ErrorData, Extensions, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use scripta_actors::Handle;
use scripta_events::log::EventLog;
use scripta_projections::Projections;
use thiserror::Error;
use tokio::sync::watch;

use crate::lists::Lists;
use crate::moments::Moments;
use crate::navigation::{Navigate, Navigation};
use crate::pages::{CursorKey, KeptLists};
use crate::resources::{self, Address, MAX_WATCHED, Subscriptions, TooMany};
use crate::secrets::Secrets;
use crate::tools::{self, TOOLS};
use crate::{Caller, SecretStore, prompts, result};

/// The name that the server gives itself, and that runs know it by.
pub use scripta_actors::APP_SERVER as SERVER_NAME;

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

/// The `app` MCP server. A clone is another handle of the same server, for another connection:
/// what a client of the older protocol subscribes to belongs to its connection.
pub struct AppServer {
    pub(crate) app: Arc<App>,
    find_caller: FindCaller,
    subscriptions: Subscriptions,
}

impl Clone for AppServer {
    fn clone(&self) -> AppServer {
        self.with_callers(Arc::clone(&self.find_caller))
    }
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
    pub(crate) navigation: Navigation,
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
            navigation: Navigation::default(),
        };
        Ok(AppServer::over(Arc::new(app)))
    }

    pub(crate) fn over(app: Arc<App>) -> AppServer {
        let find_caller: FindCaller = Arc::new(|extensions| extensions.get::<Caller>().cloned());
        AppServer { app, find_caller, subscriptions: Subscriptions::default() }
    }

    /// The same server, which finds out by `find_caller` who makes a request.
    pub fn with_callers(&self, find_caller: FindCaller) -> AppServer {
        let subscriptions = Subscriptions::default();
        AppServer { app: Arc::clone(&self.app), find_caller, subscriptions }
    }

    /// The same server for a connection whose every request is made by `caller`.
    pub fn with_caller(&self, caller: Caller) -> AppServer {
        self.with_callers(Arc::new(move |_| Some(caller.clone())))
    }

    /// What `app_navigate` shows from now on, the latest only: for a window.
    pub fn navigation(&self) -> watch::Receiver<Option<Navigate>> {
        self.app.navigation.listen()
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Option<Caller> {
        (self.find_caller)(&context.extensions)
    }

    /// The caller of what has no result to tell a visitor in.
    fn known_caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let visitor = || ErrorData::invalid_request(VISITOR, None);
        self.caller(context).ok_or_else(visitor)
    }
}

impl ServerHandler for AppServer {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new(SERVER_NAME, env!("CARGO_PKG_VERSION"))
            .with_title("Scripta")
            .with_description("A home for agent conversations: projects, chats, branches and runs");
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools();
        ServerConfig::new(capabilities.build())
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

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.known_caller(&context)?;
        let cursor = request.and_then(|request| request.cursor);
        let listed = resources::list(&self.app, &caller, cursor, &context.ct).await?;
        // What is there changes at any moment.
        Ok(listed.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = resources::templates();
        Ok(templates.with_ttl_ms(TOOLS_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.known_caller(&context)?;
        let read = resources::contents(&self.app, &caller, request.uri, &context.ct).await?;
        Ok(read.with_ttl_ms(0).with_cache_scope(CacheScope::Private).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.known_caller(&context)?;
        let CompleteRequestParams { r#ref: reference, argument, .. } = request;
        let of = match (reference.as_resource_uri(), reference.as_prompt_name()) {
            (Some(template), _) if argument.name == "id" => resources::id_of(template),
            (_, Some(prompt)) => prompts::id_of(prompt, &argument.name),
            _ => None,
        };
        let Some(of) = of else { return Ok(CompleteResult::default()) };
        let found = resources::completions(&self.app, of, argument.value).await?;
        Ok(CompleteResult::new(found))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(prompts::list().with_ttl_ms(TOOLS_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&request.name, request.arguments)?.into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let ours = uris.filter(|uri| Address::parse(uri).is_some()).take(MAX_WATCHED);
        Some(SubscriptionFilter::builder().resource_subscriptions(ours.cloned()).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.known_caller(context.request_context())?;
        let uris = context.accepted().resource_subscriptions.iter().flatten();
        let addresses: Vec<Address> = uris.filter_map(|uri| Address::parse(uri)).collect();
        let sink = context.sink().clone();
        let following = resources::follow(&self.app.log, addresses, |address| {
            let sink = sink.clone();
            async move { sink.notify_resource_updated(address.to_string()).await.is_ok() }
        });
        tokio::select! {
            () = context.cancelled() => {}
            () = following => {}
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.known_caller(&context)?;
        let address = resources::address(&request.uri)?;
        let begun = self.subscriptions.begin(address).map_err(|TooMany| {
            let text = format!("{MAX_WATCHED} subscriptions are the most; end one first");
            ErrorData::invalid_request(text, None)
        })?;
        let Some(ended) = begun else { return Ok(()) };
        let peer = context.peer.clone();
        let following = resources::follow(&self.app.log, vec![address], move |address| {
            let peer = peer.clone();
            let update = ResourceUpdatedNotificationParam::new(address.to_string());
            async move { peer.notify_resource_updated(update).await.is_ok() }
        });
        tokio::spawn(ended.run_until_cancelled_owned(following));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.end(resources::address(&request.uri)?);
        Ok(())
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
