//! Where local clients attach: a Unix socket that only its owner may use.

use std::fs::DirBuilder;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scripta_mcp::{AppServer, Caller};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::data::DataFolder;
use crate::failure::sentence;

/// The longest path that a socket can have, in bytes (inclusive): the kernel's field holds 108
/// with a zero at the end.
const MAX_PATH_BYTES: usize = 107;

/// The most clients at a time (inclusive): each has a session and a descriptor.
const MAX_CLIENTS: usize = 256;

/// A socket that is listened on. Dropping it removes its file.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// The folder that was made for it, if the data folder's path is too long.
    folder: Option<PathBuf>,
}

impl Socket {
    /// Binds the socket of a data folder, which this process has locked: what lies there is of a
    /// process that is no more.
    pub fn bind(data: &DataFolder) -> std::io::Result<Socket> {
        let (path, folder) = match data.socket() {
            path if fits(&path) => (path, None),
            _ => {
                let folder = private_folder()?;
                (folder.join("scripta.sock"), Some(folder))
            }
        };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Socket { listener, path, folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves whoever attaches, until `cancel` is cancelled. Only the person at this machine can
    /// open the socket.
    pub async fn serve(&self, app: &AppServer, cancel: &CancellationToken) {
        let places = Arc::new(Semaphore::new(MAX_CLIENTS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = cancel.cancelled() => return,
            };
            let client = match accepted {
                Ok((client, _)) => client,
                Err(error) => {
                    tracing::warn!(%error, "a local client could not attach");
                    // It is out of descriptors, most likely: let others end first.
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            let (app, cancel) = (app.clone(), cancel.child_token());
            tokio::spawn(async move {
                serve_client(&app, client, cancel).await;
                drop(place);
            });
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // What stays is removed by the next server.
        let _ = std::fs::remove_file(&self.path);
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

async fn serve_client(app: &AppServer, client: UnixStream, cancel: CancellationToken) {
    let (read, write) = client.into_split();
    if let Err(error) = app.serve_stream(read, write, Caller::person(), cancel).await {
        tracing::warn!(error = sentence(&error), "a local client was lost");
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= MAX_PATH_BYTES
}

/// A new folder that nobody else can look into, with a short path.
fn private_folder() -> std::io::Result<PathBuf> {
    let name = format!("scripta-{}", Uuid::now_v7().simple());
    let folders = [std::env::temp_dir(), PathBuf::from("/tmp")];
    let folder = folders
        .into_iter()
        .map(|parent| parent.join(&name))
        .find(|folder| fits(&folder.join("scripta.sock")))
        .ok_or_else(|| std::io::Error::other("no folder has a path short enough for a socket"))?;
    // It fails if somebody made one of this name before.
    DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_long_path_is_evaded_and_nothing_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let short = DataFolder::at(dir.path());
        let socket = Socket::bind(&short).unwrap();
        assert_eq!(socket.path(), short.socket());
        let mode = std::fs::metadata(socket.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(socket);
        assert!(!short.socket().exists());
        let long = dir.path().join("x".repeat(200));
        std::fs::create_dir(&long).unwrap();
        let socket = Socket::bind(&DataFolder::at(&long)).unwrap();
        let path = socket.path().to_owned();
        assert!(fits(&path) && !path.starts_with(&long));
        UnixStream::connect(&path).await.unwrap();
        drop(socket);
        assert!(!path.parent().unwrap().exists());
    }
}
