//! The server on a byte stream: stdin and stdout, or a socket.

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::{AppServer, Caller};

/// Why a connection ended before its time.
#[derive(Debug, Error)]
pub enum StreamError {
    /// The client did not begin as MCP clients do.
    #[error("the MCP client could not be served")]
    Begin(#[source] Box<ServerInitializeError>),
    /// The task of the connection ended.
    #[error("the connection broke off")]
    Broken(#[source] tokio::task::JoinError),
}

impl AppServer {
    /// Serves one connection of newline-delimited JSON-RPC, whose every request is made by
    /// `caller`, until the client closes it or `cancel` is cancelled.
    ///
    /// # Errors
    ///
    /// [`StreamError`]. A client that closes before its first request is none.
    pub async fn serve_stream<R, W>(
        &self,
        read: R,
        write: W,
        caller: Caller,
        cancel: CancellationToken,
    ) -> Result<(), StreamError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let server = self.with_caller(caller);
        match server.serve_with_ct((read, write), cancel).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(StreamError::Broken),
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(StreamError::Begin(Box::new(error))),
        }
    }
}
