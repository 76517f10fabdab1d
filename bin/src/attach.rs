//! `scripta mcp`: the App tools over stdio.

use std::sync::Arc;

use scripta_mcp::Caller;
use tokio::io::{AsyncWriteExt, copy};
use tokio::net::UnixStream;

use crate::config::{Config, Process};
use crate::data::DataFolder;
use crate::engine::Engine;
use crate::failure::{Failure, Outcome, sentence};
use crate::models::Connections;
use crate::running;
use crate::serve::stop_signal;

/// Serves the client at stdin and stdout until it closes stdin: by the server that runs on the
/// data folder, or by this process where none does.
pub async fn run(config: Config) -> Outcome {
    let data = DataFolder::of(&config);
    match running::find(&data).await {
        Some(server) => {
            let path = server.socket.ok_or_else(|| {
                Failure::failed(format!(
                    "the running server has no socket; connect to http://{}/mcp instead",
                    server.address
                ))
            })?;
            let socket = UnixStream::connect(&path).await.map_err(|error| {
                Failure::failed(format!(
                    "the running server can't be reached at {}: {error}",
                    path.display()
                ))
            })?;
            relay(socket).await
        }
        None => alone(config, &data).await,
    }
}

/// Copies bytes both ways until the client or the server has had enough.
async fn relay(mut socket: UnixStream) -> Outcome {
    let (mut from_server, mut to_server) = socket.split();
    let (mut stdin, mut stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let sending = async {
        copy(&mut stdin, &mut to_server).await?;
        to_server.shutdown().await
    };
    let receiving = async {
        let mut buffer = tokio::io::BufReader::new(&mut from_server);
        tokio::io::copy_buf(&mut buffer, &mut stdout).await?;
        stdout.flush().await
    };
    tokio::pin!(receiving);
    let broken = |error: std::io::Error| Failure::failed(format!("the server was lost: {error}"));
    tokio::select! {
        sent = sending => {
            sent.map_err(broken)?;
            // The client has closed; what the server still answers goes out.
            receiving.await.map_err(broken)
        }
        received = &mut receiving => {
            received.map_err(broken)?;
            Err(Failure::failed("the server has stopped; start the client again"))
        }
    }
}

async fn alone(config: Config, data: &DataFolder) -> Outcome {
    let models = Connections::new(&config.connections, &Process)?;
    let engine = Engine::open(data, Arc::new(models)).await?;
    let served = serve(&engine).await;
    let closed = engine.close().await;
    served.and(closed)
}

async fn serve(engine: &Engine) -> Outcome {
    let stop = stop_signal()?;
    let waking = async {
        if let Err(failure) = engine.wake().await {
            tracing::error!(%failure, "not everything could be made ready");
        }
        std::future::pending::<()>().await;
    };
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let serving = engine.app.serve_stream(stdin, stdout, Caller::person(), stop);
    tokio::select! {
        served = serving => served.map_err(|error| Failure::failed(sentence(&error))),
        () = waking => Ok(()),
    }
}
