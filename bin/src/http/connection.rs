//! Notices that a client has gone away.
//!
//! The HTTP server itself looks at a connection only when it writes to it, and a client that
//! closes its connection has cancelled its request. So each connection's descriptor is
//! duplicated, and the copy is watched for the end of what the client sends.

use std::any::Any;
use std::os::fd::{AsFd, OwnedFd};

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;
use tokio::io::Interest;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A connection, as its requests know it.
pub struct Connection {
    /// Cancelled when the client has closed its side.
    pub gone: CancellationToken,
    /// Ends the watch, and closes its descriptor, with the connection.
    _watch: DropGuard,
}

/// For [`HttpServer::on_connect`](actix_web::HttpServer::on_connect): puts a [`Connection`] into
/// the data of each plain connection.
pub fn watch(io: &dyn Any, data: &mut Extensions) {
    let Some(stream) = io.downcast_ref::<TcpStream>() else { return };
    let Ok(descriptor) = stream.as_fd().try_clone_to_owned() else { return };
    let (gone, ended) = (CancellationToken::new(), CancellationToken::new());
    let watch = watch_until_gone(descriptor, gone.clone());
    let ending = ended.clone();
    actix_web::rt::spawn(async move {
        // A watch that fails leaves the request to end by itself.
        let _ = ending.run_until_cancelled(watch).await;
    });
    data.insert(Connection { gone, _watch: ended.drop_guard() });
}

async fn watch_until_gone(descriptor: OwnedFd, gone: CancellationToken) -> std::io::Result<()> {
    // The mode is shared with the connection, which is non-blocking already.
    let stream = TcpStream::from_std(std::net::TcpStream::from(descriptor))?;
    loop {
        if stream.ready(Interest::READABLE).await?.is_read_closed() {
            gone.cancel();
            return Ok(());
        }
        // Bytes came, which are for others to read: forget that, and wait for the next change.
        let nothing = || Err::<(), _>(std::io::ErrorKind::WouldBlock.into());
        let _ = stream.try_io(Interest::READABLE, nothing);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use actix_web::{App, HttpRequest, HttpServer, web};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::Notify;

    use super::*;

    #[actix_web::test]
    async fn a_client_that_goes_away_is_noticed_and_one_that_stays_is_not() {
        let asked = Arc::new(Notify::new());
        let left = Arc::new(Notify::new());
        let (handler_asked, handler_left) = (Arc::clone(&asked), Arc::clone(&left));
        let server = HttpServer::new(move || {
            let (asked, left) = (Arc::clone(&handler_asked), Arc::clone(&handler_left));
            App::new().route("/quick", web::get().to(async || "done")).route(
                "/slow",
                web::get().to(move |request: HttpRequest| {
                    let gone = request.conn_data::<Connection>().unwrap().gone.clone();
                    let (asked, left) = (Arc::clone(&asked), Arc::clone(&left));
                    async move {
                        asked.notify_one();
                        gone.cancelled().await;
                        left.notify_one();
                        "gone"
                    }
                }),
            )
        })
        .on_connect(watch)
        .workers(1)
        .disable_signals()
        .bind("127.0.0.1:0")
        .unwrap();
        let address = *server.addrs().first().unwrap();
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);

        let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET /quick HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
        let mut buffer = [0; 1024];
        assert!(client.read(&mut buffer).await.unwrap() > 0);
        client.write_all(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
        asked.notified().await;
        drop(client);
        left.notified().await;
        handle.stop(true).await;
    }
}
