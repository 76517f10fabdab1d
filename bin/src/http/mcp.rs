//! The App tools over streamable HTTP, for clients of both protocol eras.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, DiscoverResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp_actix_web::transport::{
    LocalSessionManager, StreamableHttpService, http, on_request_extensions,
};
use scripta_mcp::{AppServer, Caller};
use tokio_util::sync::CancellationToken;

use super::access::{Identity, identity};
use super::connection::Connection;

/// The largest request, in bytes: a message of the largest size with its JSON around it.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// The header that only requests in a session have.
const SESSION_HEADER: &str = "mcp-session-id";

/// The service to mount. It must be made once, outside of the server's factory: sessions live
/// in it. Cancelling `cancel` ends all of them.
pub fn service(app: &AppServer, cancel: CancellationToken) -> StreamableHttpService<Watched> {
    let app = app.with_callers(Arc::new(|extensions| {
        on_request_extensions(extensions)?.get::<Caller>().cloned()
    }));
    let watched = Watched { app };
    StreamableHttpService::builder()
        .service_factory(Arc::new(move || Ok(watched.clone())))
        .session_manager(Arc::new(LocalSessionManager::default()))
        // A client of the older era can't be asked anything without a session.
        .stateful_mode(true)
        .max_request_body_bytes(MAX_REQUEST_BYTES)
        // Hosts are checked for all paths, before a request comes here.
        .allowed_hosts(Vec::new())
        .cancellation_token(cancel)
        .on_request_fn(|request, extensions| {
            if identity(request) == Identity::Person {
                extensions.insert(Caller::person());
            }
            if let Some(connection) = request.conn_data::<Connection>() {
                extensions.insert(ClientGone(connection.gone.clone()));
            }
        })
        .build()
}

/// Cancelled when the connection of a request is closed by the client.
#[derive(Clone)]
struct ClientGone(CancellationToken);

/// The App tools, whose calls are cancelled when their client goes away.
#[derive(Clone)]
pub struct Watched {
    app: AppServer,
}

impl ServerHandler for Watched {
    fn get_info(&self) -> ServerConfig {
        self.app.get_info()
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.app.discover(context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.app.list_tools(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.app.list_resources(request, context).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.app.list_resource_templates(request, context).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.app.read_resource(request, context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.app.complete(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.app.list_prompts(request, context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.app.get_prompt(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.app.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(gone) = gone(context.request_context()) else {
            return self.app.listen(context).await;
        };
        tokio::select! {
            ended = self.app.listen(context) => ended,
            () = gone.cancelled() => Ok(()),
        }
    }

    #[expect(deprecated, reason = "clients of the older protocol still do")]
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.app.subscribe(request, context).await
    }

    #[expect(deprecated, reason = "clients of the older protocol still do")]
    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.app.unsubscribe(request, context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(gone) = gone(&context) else { return self.app.call_tool(request, context).await };
        let cancel = context.ct.clone();
        let call = self.app.call_tool(request, context);
        tokio::pin!(call);
        tokio::select! {
            biased;
            answer = &mut call => answer,
            () = gone.cancelled() => {
                // The call ends by itself, at a point where it may.
                cancel.cancel();
                call.await
            }
        }
    }
}

/// The token of the client's going away, for requests that are cancelled by it: those in a
/// session are not, since their answers can be fetched by another connection.
fn gone(context: &RequestContext<RoleServer>) -> Option<CancellationToken> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    if parts.headers.contains_key(SESSION_HEADER) {
        return None;
    }
    let gone = on_request_extensions(&context.extensions)?.get::<ClientGone>()?;
    Some(gone.0.clone())
}
