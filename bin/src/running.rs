//! `server.json`: how commands find the server that already serves their data folder.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::data::{DataFolder, write_private};
use crate::failure::{Failure, Outcome};

/// How long a server may take to say that it is there. It is on this machine.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Who serves a data folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Its process.
    pub pid: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// Where local clients attach; `None` if no socket could be made.
    pub socket: Option<PathBuf>,
    /// A name of this one process, which `/healthz` repeats: so that a key is never sent to
    /// whoever else got the address later.
    pub instance: Uuid,
}

/// What `/healthz` answers.
#[derive(Debug, Serialize, Deserialize)]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The server's [`instance`](Server::instance).
    pub instance: Uuid,
}

/// `server.json` while the server runs; dropping it removes the file.
#[derive(Debug)]
pub struct Published {
    path: PathBuf,
}

/// Writes `server.json`.
pub fn publish(data: &DataFolder, server: &Server) -> Outcome<Published> {
    let path = data.server_file();
    let write = |path: &PathBuf| {
        let text = serde_json::to_vec_pretty(server).map_err(std::io::Error::other)?;
        write_private(path, &text)
    };
    write(&path).map_err(|error| {
        Failure::failed(format!("{} can't be written: {error}", path.display()))
    })?;
    Ok(Published { path })
}

impl Drop for Published {
    fn drop(&mut self) {
        // A file that stays is recognised as stale by whoever reads it next.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The server that serves this folder now. What a killed server left behind is nobody.
pub async fn find(data: &DataFolder) -> Option<Server> {
    let text = std::fs::read(data.server_file()).ok()?;
    let server: Server = serde_json::from_slice(&text).ok()?;
    if !is_alive(server.pid) {
        return None;
    }
    answers(&server).await.then_some(server)
}

/// Whether a process of this id exists, ours or another's.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let Some(pid) = pid else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

/// Whether it is this very server that listens at its address.
async fn answers(server: &Server) -> bool {
    let Ok(client) = client() else { return false };
    let url = format!("http://{}/healthz", server.address);
    let health = async {
        let response = client.get(url).timeout(PROBE_TIMEOUT).send().await.ok()?;
        response.json::<Health>().await.ok()
    };
    health.await.is_some_and(|health| health.instance == server.instance)
}

/// A client for requests to a server on this machine: no proxy is asked.
pub fn client() -> Outcome<reqwest::Client> {
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(|error| Failure::failed(format!("no HTTP client can be made: {error}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn server(pid: u32) -> Server {
        // Port 9 of loopback: nothing listens there.
        let address = "127.0.0.1:9".parse().unwrap();
        Server { pid, address, socket: None, instance: Uuid::now_v7() }
    }

    #[tokio::test]
    async fn what_a_killed_server_left_is_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataFolder::at(dir.path());
        assert_eq!(find(&data).await, None);
        // The largest process id of Linux is 2^22, so that this one never was.
        let published = publish(&data, &server(1 << 23)).unwrap();
        assert_eq!(find(&data).await, None);
        // A process that took the id over does not answer under the instance's name.
        let _again = publish(&data, &server(std::process::id())).unwrap();
        assert_eq!(find(&data).await, None);
        drop(published);
        assert!(!data.server_file().exists());
        std::fs::write(data.server_file(), "{").unwrap();
        assert_eq!(find(&data).await, None);
    }
}
