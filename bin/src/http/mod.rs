//! The HTTP server.

mod access;
mod connection;
mod health;
mod import;
mod mcp;
mod problem;
mod search;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::http::StatusCode;
use actix_web::middleware::from_fn;
use actix_web::web::{self, Data};
use actix_web::{App, HttpServer};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use access::Access;
pub use problem::Problem;

use crate::data::DataFolder;
use crate::engine::Engine;
use crate::failure::{Failure, Outcome};

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an idle connection is kept: clients ask again within a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// How long requests may take to end once the server is asked to stop, in seconds.
const STOP_TIMEOUT_SECONDS: u64 = 5;

/// The most connections of one worker (inclusive): each takes a descriptor, doubled.
const MAX_CONNECTIONS: usize = 4_096;

/// What the handlers share.
pub struct Shared {
    /// Scripta itself.
    pub engine: Arc<Engine>,
    /// Where uploads are kept while they are read.
    pub data: DataFolder,
    /// The name of this process.
    pub instance: Uuid,
    ready: AtomicBool,
}

impl Shared {
    /// Not ready yet.
    pub fn new(engine: Arc<Engine>, data: DataFolder, instance: Uuid) -> Shared {
        Shared { engine, data, instance, ready: AtomicBool::new(false) }
    }

    /// Says whether requests are answered in full.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

/// A server to be driven, and how to stop it: first `cancel` what lasts, then stop the handle.
pub struct Running {
    /// To be driven to its end.
    pub server: Server,
    /// Stops it.
    pub handle: ServerHandle,
    /// Ends sessions and subscriptions.
    pub cancel: CancellationToken,
}

/// Puts the server together on a listener.
pub fn start(listener: TcpListener, shared: Arc<Shared>, access: Access) -> Outcome<Running> {
    let cancel = CancellationToken::new();
    let mcp = mcp::service(&shared.engine.app, cancel.clone());
    let shared = Data::from(shared);
    let access = Data::new(access);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(shared.clone())
            .app_data(access.clone())
            .app_data(
                web::QueryConfig::default()
                    .error_handler(|error, _| Problem::bad_request("invalid_query", error).into()),
            )
            .wrap(from_fn(access::guard))
            .service(web::scope("/mcp").service(mcp.clone().scope()))
            .route("/healthz", web::get().to(health::live))
            .route("/readyz", web::get().to(health::ready))
            .route("/api/chats/search", web::get().to(search::search))
            .route("/api/import", web::post().to(import::import))
            .default_service(web::to(nothing_here))
    })
    .on_connect(connection::watch)
    // Small answers wait for the client's acknowledgement otherwise.
    .tcp_nodelay(true)
    .client_request_timeout(HEAD_TIMEOUT)
    .keep_alive(KEEP_ALIVE)
    .max_connections(MAX_CONNECTIONS)
    .shutdown_timeout(STOP_TIMEOUT_SECONDS)
    .disable_signals()
    .listen(listener)
    .map_err(|error| Failure::failed(format!("the HTTP server can't be started: {error}")))?
    .run();
    let handle = server.handle();
    Ok(Running { server, handle, cancel })
}

/// Drives a server to its end, on a thread of its own with an actix system, whose workers are
/// arbiters: what a request starts comes to its end there before its connection is looked at
/// again, so that an answer and the end of its stream leave in one packet.
pub fn drive(server: Server) -> Outcome<oneshot::Receiver<std::io::Result<()>>> {
    let (ended, ending) = oneshot::channel();
    let work = move || {
        let result = actix_web::rt::System::new().block_on(server);
        // Whoever no longer waits for it doesn't want it.
        let _ = ended.send(result);
    };
    let thread = std::thread::Builder::new().name("scripta-http".to_owned()).spawn(work);
    thread.map_err(|error| {
        Failure::failed(format!("the thread of the HTTP server can't be started: {error}"))
    })?;
    Ok(ending)
}

async fn nothing_here(request: actix_web::HttpRequest) -> Problem {
    let detail = format!(
        "there is nothing at {}; MCP clients go to /mcp, and /api/chats/search and /api/import are there too",
        request.path()
    );
    Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
}

impl actix_web::Responder for Problem {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, _: &actix_web::HttpRequest) -> actix_web::HttpResponse {
        actix_web::ResponseError::error_response(&self)
    }
}
