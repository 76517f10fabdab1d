//! Rows in a sled tree, committed in one batch with the position that they describe.

use std::collections::BTreeMap;

use scripta_events::{LogId, Position};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::QueryError;

/// The key of the checkpoint: shorter than any row's, which all begin with a letter.
const CHECKPOINT: &[u8] = &[0];

/// The largest row, in bytes (inclusive): the largest event, and room for what is added to it.
const MAX_ROW_BYTES: usize = 17 * 1024 * 1024;

/// The tree of one projection. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Store {
    name: &'static str,
    version: u32,
    tree: sled::Tree,
}

/// What the rows of a tree describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Checkpoint {
    version: u32,
    log: LogId,
    position: Position,
}

/// Changes that are not in the tree yet; reads see them.
pub(crate) struct Batch<'a> {
    store: &'a Store,
    /// Whole events.
    done: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The event that is being applied.
    pending: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Store {
    /// Opens the tree of a projection and tells its position. A tree of another log or version,
    /// ahead of the log, or unreadable, is emptied with a warning.
    pub(crate) fn open(
        db: &sled::Db,
        name: &'static str,
        version: u32,
        log: LogId,
        head: Position,
    ) -> Result<(Store, Position), sled::Error> {
        let mut store = Store { name, version, tree: db.open_tree(name)? };
        let reason = match store.checkpoint() {
            Ok(None) if store.tree.is_empty() => return Ok((store, Position::START)),
            Ok(None) => "it has rows without a position".to_owned(),
            Ok(Some(found)) if found.version != version => {
                format!(
                    "it has version {}, and this program makes version {version}",
                    found.version
                )
            }
            Ok(Some(found)) if found.log != log => format!("it is of another log ({})", found.log),
            Ok(Some(found)) if found.position > head => {
                format!("it is at position {}, ahead of the log at {head}", found.position)
            }
            Ok(Some(found)) => return Ok((store, found.position)),
            Err(error) => error.to_string(),
        };
        tracing::warn!(projection = name, reason, "rebuilding a projection from the log");
        db.drop_tree(name)?;
        store.tree = db.open_tree(name)?;
        Ok((store, Position::START))
    }

    fn checkpoint(&self) -> Result<Option<Checkpoint>, QueryError> {
        self.get(CHECKPOINT)
    }

    /// The row at a key.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, QueryError> {
        let found = self.tree.get(key).map_err(|source| self.failed(source))?;
        found.map(|bytes| self.decode(&bytes)).transpose()
    }

    /// The rows whose keys begin with `prefix`, in the order of their keys.
    pub(crate) fn rows<'a, T: DeserializeOwned>(
        &'a self,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<T, QueryError>> + use<'a, T> {
        self.tree.scan_prefix(prefix).values().map(|found| {
            let bytes = found.map_err(|source| self.failed(source))?;
            self.decode(&bytes)
        })
    }

    /// The rows from one key to another (both inclusive), in the order of their keys.
    pub(crate) fn range<T: DeserializeOwned>(
        &self,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> impl Iterator<Item = Result<T, QueryError>> {
        self.tree.range(from..=to).values().map(|found| {
            let bytes = found.map_err(|source| self.failed(source))?;
            self.decode(&bytes)
        })
    }

    /// The keys that begin with `prefix`, in order.
    pub(crate) fn keys<'a>(
        &'a self,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<sled::IVec, QueryError>> + use<'a> {
        let keys = self.tree.scan_prefix(prefix).keys();
        keys.map(|found| found.map_err(|source| self.failed(source)))
    }

    /// Begins a batch of changes.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { store: self, done: BTreeMap::new(), pending: BTreeMap::new() }
    }

    /// Puts everything on the disk.
    pub(crate) fn flush(&self) -> Result<(), QueryError> {
        self.tree.flush().map(|_| ()).map_err(|source| self.failed(source))
    }

    /// An error for stored bytes that are not what they should be.
    pub(crate) fn malformed(&self, reason: impl Into<String>) -> QueryError {
        QueryError::Malformed { projection: self.name, reason: reason.into() }
    }

    fn failed(&self, source: sled::Error) -> QueryError {
        QueryError::Store { projection: self.name, source }
    }

    fn encode<T: Serialize>(&self, row: &T) -> Result<Vec<u8>, QueryError> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        let body = bincode::serde::encode_to_vec(row, bincode::config::standard())
            .map_err(|error| self.malformed(error.to_string()))?;
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// Bounded, of this version, and every byte must be consumed.
    fn decode<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, QueryError> {
        let Some((version, body)) = bytes.split_first_chunk::<4>() else {
            return Err(self.malformed("it is too short"));
        };
        let version = u32::from_le_bytes(*version);
        if version != self.version {
            return Err(self.malformed(format!("it has version {version}")));
        }
        let config = bincode::config::standard().with_limit::<MAX_ROW_BYTES>();
        let (row, used) = bincode::serde::decode_from_slice(body, config)
            .map_err(|error| self.malformed(error.to_string()))?;
        if used != body.len() {
            return Err(self.malformed(format!("{} bytes are left over", body.len() - used)));
        }
        Ok(row)
    }

    #[cfg(test)]
    pub(crate) fn dump(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let all = self.tree.iter().map(|item| item.map(|(key, row)| (key.to_vec(), row.to_vec())));
        all.collect::<Result<_, _>>().unwrap_or_default()
    }
}

impl Batch<'_> {
    /// The row at a key, as this batch leaves it.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &[u8]) -> Result<Option<T>, QueryError> {
        match self.pending.get(key).or_else(|| self.done.get(key)) {
            Some(Some(bytes)) => self.store.decode(bytes).map(Some),
            Some(None) => Ok(None),
            None => self.store.get(key),
        }
    }

    /// Sets the row at a key.
    pub(crate) fn put<T: Serialize>(&mut self, key: Vec<u8>, row: &T) -> Result<(), QueryError> {
        let bytes = self.store.encode(row)?;
        self.pending.insert(key, Some(bytes));
        Ok(())
    }

    /// Removes the row at a key, if there is one.
    pub(crate) fn remove(&mut self, key: Vec<u8>) {
        self.pending.insert(key, None);
    }

    /// Keeps the changes since the last call.
    pub(crate) fn keep(&mut self) {
        self.done.append(&mut self.pending);
    }

    /// Writes what was kept, and the position with it, or nothing.
    pub(crate) fn commit(self, log: LogId, position: Position) -> Result<(), QueryError> {
        let store = self.store;
        let mut batch = sled::Batch::default();
        for (key, row) in self.done {
            match row {
                Some(bytes) => batch.insert(key, bytes),
                None => batch.remove(key),
            }
        }
        let checkpoint = Checkpoint { version: store.version, log, position };
        batch.insert(CHECKPOINT, store.encode(&checkpoint)?);
        store.tree.apply_batch(batch).map_err(|source| store.failed(source))
    }
}
