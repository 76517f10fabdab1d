//! Opening the read models: their rows, and where they get their events from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scripta_events::Position;
use scripta_events::log::EventLog;

use crate::OpenError;
use crate::follower::Follower;
use crate::models::{Model, ModelProjection, Replay};
use crate::store::Store;

/// Memory that sled may keep pages in, in bytes: lists and chains are read in runs, and the
/// operating system caches the files as well.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// How often sled writes what it has in memory, in milliseconds: not for durability, only so that
/// a restart after a crash has little to read again.
const WRITE_EVERY_MS: u64 = 1_000;

/// What opening the read models needs.
pub(crate) struct Opening {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) db: sled::Db,
    pub(crate) path: PathBuf,
    pub(crate) head: Position,
    pub(crate) source: Source,
}

/// Where the read models get their events from.
pub(crate) enum Source {
    /// Each follows the log.
    Followed(Vec<Follower>),
    /// They are given events up to a position.
    Replayed(Vec<Box<dyn Replay>>),
}

impl Opening {
    /// Opens the rows of a model and begins to follow.
    pub(crate) fn model<M: Model>(&mut self) -> Result<Store, OpenError> {
        let id = self.log.id();
        let (store, position) =
            Store::open(&self.db, M::NAME, M::VERSION, M::ACROSS, id, self.head).map_err(
                |error| OpenError::Store { path: self.path.clone(), reason: error.to_string() },
            )?;
        let projection = ModelProjection::<M>::new(store.clone(), id, position);
        match &mut self.source {
            Source::Replayed(replays) => replays.push(Box::new(projection)),
            Source::Followed(followers) => {
                let log = self.log.clone();
                let follower = Follower::start(M::NAME, M::VERSION, projection, log, position)
                    .map_err(|source| OpenError::Thread { name: M::NAME, source })?;
                followers.push(follower);
            }
        }
        Ok(store)
    }
}

/// Opens the folder of the rows; one that does not open is set aside, and a new one is made.
pub(crate) fn open_rows(path: &Path) -> Result<sled::Db, OpenError> {
    let reason = match try_open_rows(path) {
        Ok(db) => return Ok(db),
        // sled tells this by its text only.
        Err(reason) if reason.contains("could not acquire lock") => {
            return Err(OpenError::InUse { path: path.to_owned() });
        }
        Err(reason) => reason,
    };
    tracing::warn!(reason, "rebuilding the read models: their folder does not open");
    set_aside(path)?;
    try_open_rows(path).map_err(|reason| OpenError::Store { path: path.to_owned(), reason })
}

fn try_open_rows(path: &Path) -> Result<sled::Db, String> {
    let config = sled::Config::new()
        .path(path)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(Some(WRITE_EVERY_MS));
    // sled panics over some kinds of damage.
    match catch_unwind(AssertUnwindSafe(|| config.open())) {
        Ok(opened) => opened.map_err(|error| error.to_string()),
        Err(_) => Err("its files are damaged".to_owned()),
    }
}

/// Renames a folder that is not believed, over one that was set aside before.
pub(crate) fn set_aside(path: &Path) -> Result<(), OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    let aside = PathBuf::from(name);
    let moved = match std::fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::rename(path, &aside),
    };
    moved.map_err(|source| OpenError::Folder { path: path.to_owned(), source })
}
