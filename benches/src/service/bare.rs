//! What Scripta's service is compared with: a tool that does nothing, on the same HTTP stack.

use std::net::TcpListener;
use std::sync::Arc;

use actix_web::{App, HttpServer};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp_actix_web::transport::{LocalSessionManager, StreamableHttpService};
use serde_json::json;

/// The tool's name.
pub const TOOL: &str = "nothing";

#[derive(clap::Args)]
pub struct Arguments {}

/// A server with one tool.
#[derive(Clone)]
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = Arc::new(JsonObject::from_iter([("type".to_owned(), json!("object"))]));
        Ok(ListToolsResult::with_all_items(vec![Tool::new(TOOL, "Does nothing", schema)]))
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::structured(json!({ "done": true })).into())
    }
}

/// Serves until it is killed; says its address on its first line.
pub fn run(_: &Arguments) -> anyhow::Result<()> {
    actix_web::rt::System::new().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        println!("http://{}", listener.local_addr()?);
        let service = StreamableHttpService::builder()
            .service_factory(Arc::new(|| Ok(Bare)))
            .session_manager(Arc::new(LocalSessionManager::default()))
            .stateful_mode(true)
            .allowed_hosts(Vec::new())
            .build();
        let server = HttpServer::new(move || {
            App::new().service(actix_web::web::scope("/mcp").service(service.clone().scope()))
        });
        server.tcp_nodelay(true).listen(listener)?.run().await?;
        Ok(())
    })
}
