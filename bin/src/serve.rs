//! `scripta serve`.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::{Config, Process};
use crate::data::DataFolder;
use crate::demo;
use crate::engine::Engine;
use crate::failure::{Failure, Outcome};
use crate::http::{self, Access, Running, Shared};
use crate::key::Key;
use crate::models::Connections;
use crate::running::{self, Server};
use crate::socket::Socket;

/// Serves the data folder until a signal asks it to stop.
pub async fn run(config: Config, demo: bool) -> Outcome {
    let data = DataFolder::of(&config);
    let models = Connections::new(&config.connections, &Process)?;
    // The lock comes first: whoever has the folder is whom a person wants to hear about.
    let engine = Arc::new(Engine::open(&data, Arc::new(models)).await?);
    let served = serve(&config, &data, &engine, demo).await;
    let closed = engine.close().await;
    served.and(closed)
}

async fn serve(config: &Config, data: &DataFolder, engine: &Arc<Engine>, demo: bool) -> Outcome {
    let key = Key::load_or_create(data)?;
    let listener = listen(config.listen)?;
    let address = listener.local_addr();
    let address = address.map_err(|error| Failure::failed(format!("no address: {error}")))?;
    let stop = stop_signal()?;
    clear_uploads(data);

    let instance = Uuid::now_v7();
    let shared = Arc::new(Shared::new(Arc::clone(engine), data.clone(), instance));
    let access = Access::new(
        key.clone(),
        config.open,
        config.allowed_hosts.clone(),
        config.allowed_origins.clone(),
    );
    let Running { server, handle, cancel } = http::start(listener, Arc::clone(&shared), access)?;
    let serving = http::drive(server)?;
    let socket = Socket::bind(data).inspect_err(|error| {
        tracing::warn!(%error, "local clients can't attach; they can use HTTP");
    });
    let socket = socket.ok();
    let path = socket.as_ref().map(|socket| socket.path().to_owned());
    let pid = std::process::id();
    let server = Server { pid, address: reachable(address), socket: path, instance };
    let published = running::publish(data, &server)?;
    greet(config, reachable(address), &key);

    let locals = CancellationToken::new();
    let attached = async {
        match &socket {
            Some(socket) => socket.serve(&engine.app, &locals).await,
            None => locals.cancelled().await,
        }
    };
    let work = async {
        let ready = make_ready(engine, &shared, demo).await;
        if let Err(failure) = ready {
            tracing::error!(%failure, "not everything could be made ready");
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = attached => {}
        () = work => {}
    }
    tracing::info!("stopping");
    shared.set_ready(false);
    drop(published);
    locals.cancel();
    cancel.cancel();
    handle.stop(true).await;
    let ended = serving.await.map_err(|_| Failure::failed("the HTTP server broke off"))?;
    ended.map_err(|error| Failure::failed(format!("the HTTP server failed: {error}")))
}

/// Brings the folder to where requests see everything and unfinished turns go on.
async fn make_ready(engine: &Engine, shared: &Shared, demo: bool) -> Outcome {
    engine.wake().await?;
    if demo && !demo::fill(engine).await? {
        say!("--demo: the data folder is not empty, so nothing was added to it.");
    }
    shared.set_ready(true);
    tracing::info!("ready");
    Ok(())
}

fn listen(address: SocketAddr) -> Outcome<TcpListener> {
    TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Failure::refused(format!(
            "the address {address} is taken by another program; stop it, or give another with --listen"
        )),
        _ => Failure::failed(format!(
            "the address {address} can't be listened on ({error}); give another with --listen"
        )),
    })
}

/// The address to reach a server at that listens on all of them.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Cancelled by SIGTERM and SIGINT.
pub fn stop_signal() -> Outcome<CancellationToken> {
    let failed = |error| Failure::failed(format!("signals can't be received: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopped.cancel();
    });
    Ok(stop)
}

/// Removes what a crash left of uploads; this process has the folder's lock.
fn clear_uploads(data: &DataFolder) {
    match std::fs::remove_dir_all(data.uploads()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "old uploads could not be removed");
        }
        _ => {}
    }
}

/// Tells a person what they need to connect.
fn greet(config: &Config, address: SocketAddr, key: &Key) {
    say!("Scripta {} listens on http://{address}", env!("CARGO_PKG_VERSION"));
    say!("Data folder: {}", config.data.display());
    let connections = config.connections.iter().map(|connection| connection.name.as_str());
    let connections: Vec<&str> = connections.chain([scripta_actors::demo::CONNECTION]).collect();
    say!("Model connections: {}", connections.join(", "));
    if config.open {
        say!(
            "WARNING: --open is set: every program and every user of this machine may do everything here without a key."
        );
    }
    let http = json!({ "mcpServers": { "scripta": {
        "type": "http",
        "url": format!("http://{address}/mcp"),
        "headers": { "X-API-Key": key.reveal() },
    } } });
    let program = std::env::current_exe().unwrap_or_else(|_| "scripta".into());
    let stdio = json!({ "mcpServers": { "scripta": {
        "command": program.display().to_string(),
        "args": ["--data", config.data.display().to_string(), "mcp"],
    } } });
    say!("\nTo connect an MCP client over HTTP, paste:\n{http:#}");
    say!("\nor, for a client that starts its servers itself:\n{stdio:#}");
}
