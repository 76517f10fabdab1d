//! Rows in a sled tree, committed in one batch with the position that they describe.

mod across;
mod recent;

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use self::across::Across;
pub(crate) use self::across::AcrossKeys;
use self::recent::Recent;
use crate::QueryError;
use scripta_events::{LogId, Position};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

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
    across: Option<Arc<Across>>,
    recent: Arc<Recent>,
}

/// What the rows of a tree describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Checkpoint {
    version: u32,
    log: LogId,
    position: Position,
}

/// Changes that are not in the tree yet; reads see them.
///
/// Rows stay decoded until the batch is committed: event after event changes the same few, and
/// only their last form is written.
pub(crate) struct Batch<'a> {
    store: &'a Store,
    /// Whole events.
    done: HashMap<Vec<u8>, Change>,
    /// The event that is being applied.
    pending: HashMap<Vec<u8>, Change>,
}

enum Change {
    /// A row where the tree has none: taken back, it leaves nothing to do.
    Added(Box<dyn Row>),
    /// A row where the tree may have one.
    Set(Box<dyn Row>),
    Removed,
}

/// A row that is not encoded yet.
trait Row: Any {
    fn encode(&self, store: &Store) -> Result<Vec<u8>, QueryError>;
}

impl<T: Serialize + 'static> Row for T {
    fn encode(&self, store: &Store) -> Result<Vec<u8>, QueryError> {
        store.encode(self)
    }
}

impl Store {
    /// Opens the tree of a projection and tells its position. A tree of another log or version,
    /// ahead of the log, or unreadable, is emptied with a warning.
    pub(crate) fn open(
        db: &sled::Db,
        name: &'static str,
        version: u32,
        across: Option<u8>,
        log: LogId,
        head: Position,
    ) -> Result<(Store, Position), sled::Error> {
        let across = across.map(|kind| Arc::new(Across::of(kind)));
        let recent = Arc::default();
        let mut store = Store { name, version, tree: db.open_tree(name)?, across, recent };
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

    /// The same of a row that is read again and again.
    pub(crate) fn get_again<T>(&self, key: &[u8]) -> Result<Option<T>, QueryError>
    where
        T: DeserializeOwned + Clone + Send + Sync + 'static,
    {
        let moment = match self.recent.find::<Option<T>>(key) {
            Ok(row) => return Ok(row),
            Err(moment) => moment,
        };
        let found = self.tree.get(key).map_err(|source| self.failed(source))?;
        let row: Option<T> = found.as_ref().map(|bytes| self.decode(bytes)).transpose()?;
        self.recent.keep(moment, key, &row, found.map_or(0, |bytes| bytes.len()));
        Ok(row)
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

    /// Reads the keys of the model's kind in the order of what follows their first id.
    pub(crate) fn across<T>(&self, read: impl FnOnce(&AcrossKeys) -> T) -> Result<T, QueryError> {
        let Some(across) = &self.across else { return Ok(read(&AcrossKeys::new())) };
        // A commit that is made meanwhile follows when this is done.
        let mut kept = across.keys();
        let keys = match kept.take() {
            Some(keys) => keys,
            None => {
                let split = |key: Result<sled::IVec, QueryError>| {
                    let key = key?;
                    let (rest, id) = across
                        .split(&key)
                        .ok_or_else(|| self.malformed("a key of a listing is too short"))?;
                    Ok((rest.into(), id))
                };
                self.keys(&[across.kind]).map(split).collect::<Result<_, QueryError>>()?
            }
        };
        Ok(read(kept.insert(keys)))
    }

    /// Begins a batch of changes.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { store: self, done: HashMap::new(), pending: HashMap::new() }
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

    /// All rows; not the checkpoint, which trails behind where nothing changes.
    #[cfg(test)]
    pub(crate) fn dump(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let rows = self
            .tree
            .scan_prefix([])
            .filter(|item| !matches!(item, Ok((key, _)) if key == CHECKPOINT));
        let rows = rows.map(|item| item.map(|(key, row)| (key.to_vec(), row.to_vec())));
        rows.collect::<Result<_, _>>().unwrap_or_default()
    }
}

impl Batch<'_> {
    /// The row at a key, as this batch leaves it.
    pub(crate) fn get<T>(&self, key: &[u8]) -> Result<Option<T>, QueryError>
    where
        T: DeserializeOwned + Clone + 'static,
    {
        match self.pending.get(key).or_else(|| self.done.get(key)) {
            Some(Change::Added(row) | Change::Set(row)) => {
                let row: &dyn Any = &**row;
                let row = row.downcast_ref::<T>().cloned();
                row.map(Some).ok_or_else(|| self.store.malformed("it is of another kind"))
            }
            Some(Change::Removed) => Ok(None),
            None => self.store.get(key),
        }
    }

    /// The keys that begin with `prefix`, as this batch leaves them, in order. It looks at every
    /// change of the batch: for rare events only.
    pub(crate) fn keys(&self, prefix: &[u8]) -> Result<BTreeSet<Vec<u8>>, QueryError> {
        let stored = self.store.keys(prefix);
        let mut keys: BTreeSet<Vec<u8>> =
            stored.map(|key| Ok(key?.to_vec())).collect::<Result<_, QueryError>>()?;
        for (key, change) in self.done.iter().chain(&self.pending) {
            if !key.starts_with(prefix) {
                continue;
            }
            match change {
                Change::Added(_) | Change::Set(_) => drop(keys.insert(key.clone())),
                Change::Removed => drop(keys.remove(key)),
            }
        }
        Ok(keys)
    }

    /// Sets the row at a key.
    pub(crate) fn put<T: Serialize + 'static>(&mut self, key: Vec<u8>, row: T) {
        self.pending.insert(key, Change::Set(Box::new(row)));
    }

    /// Sets the row at a key that has none.
    pub(crate) fn add<T: Serialize + 'static>(&mut self, key: Vec<u8>, row: T) {
        self.pending.insert(key, Change::Added(Box::new(row)));
    }

    /// Removes the row at a key, if there is one.
    pub(crate) fn remove(&mut self, key: Vec<u8>) {
        self.pending.insert(key, Change::Removed);
    }

    /// Keeps the changes since the last call.
    pub(crate) fn keep(&mut self) {
        for (key, change) in self.pending.drain() {
            match (self.done.get(&key), change) {
                (Some(Change::Added(_)), Change::Removed) => drop(self.done.remove(&key)),
                // Whether the tree has a row there is known from the first change alone.
                (Some(Change::Added(_)), Change::Set(row)) => {
                    self.done.insert(key, Change::Added(row));
                }
                (Some(_), Change::Added(row)) => {
                    self.done.insert(key, Change::Set(row));
                }
                (_, change) => drop(self.done.insert(key, change)),
            }
        }
    }

    /// Whether nothing was kept.
    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Writes what was kept, and the position with it, or nothing.
    pub(crate) fn commit(self, log: LogId, position: Position) -> Result<(), QueryError> {
        let store = self.store;
        let mut batch = sled::Batch::default();
        for (key, change) in &self.done {
            let key = key.as_slice();
            match change {
                Change::Added(row) | Change::Set(row) => batch.insert(key, row.encode(store)?),
                Change::Removed => batch.remove(key),
            }
        }
        let checkpoint = Checkpoint { version: store.version, log, position };
        batch.insert(CHECKPOINT, store.encode(&checkpoint)?);
        store.tree.apply_batch(batch).map_err(|source| store.failed(source))?;
        if let Some(across) = &store.across {
            let there = |change: &Change| !matches!(change, Change::Removed);
            across.apply(self.done.iter().map(|(key, change)| (key.as_slice(), there(change))));
        }
        store.recent.forget(self.done.keys().map(Vec::as_slice));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use uuid::Uuid;

    use super::*;

    fn store() -> Store {
        let db = sled::Config::new().temporary(true).open().unwrap();
        Store::open(&db, "test", 1, None, LogId(Uuid::nil()), Position::START).unwrap().0
    }

    fn commit(batch: Batch<'_>) {
        batch.commit(LogId(Uuid::nil()), Position(1)).unwrap();
    }

    fn row(store: &Store, key: &[u8]) -> Option<u64> {
        store.get(key).unwrap()
    }

    #[test]
    fn a_batch_writes_what_it_came_to_and_nothing_of_a_failed_event() {
        let store = store();
        let mut batch = store.batch();
        batch.add(b"a".to_vec(), 1_u64);
        batch.add(b"b".to_vec(), 1_u64);
        batch.put(b"c".to_vec(), 1_u64);
        batch.keep();
        assert_eq!(batch.get::<u64>(b"a").unwrap(), Some(1));
        assert_eq!(row(&store, b"a"), None);
        batch.put(b"a".to_vec(), 2_u64);
        batch.remove(b"b".to_vec());
        batch.keep();
        batch.put(b"a".to_vec(), 3_u64);
        batch.put(b"d".to_vec(), 3_u64);
        assert_eq!(batch.get::<u64>(b"a").unwrap(), Some(3));
        let keys: Vec<Vec<u8>> = batch.keys(b"").unwrap().into_iter().collect();
        assert_eq!(keys, [b"a", b"c", b"d"]);
        // The event was not kept.
        commit(batch);
        assert_eq!(
            [b"a", b"b", b"c", b"d"].map(|key| row(&store, key)),
            [Some(2), None, Some(1), None]
        );
    }

    #[test]
    fn a_row_that_the_tree_has_is_gone_after_it_is_removed_and_added_and_removed_again() {
        let store = store();
        let mut batch = store.batch();
        batch.add(b"a".to_vec(), 1_u64);
        batch.keep();
        commit(batch);
        let mut batch = store.batch();
        batch.remove(b"a".to_vec());
        batch.keep();
        assert_eq!(batch.get::<u64>(b"a").unwrap(), None);
        batch.add(b"a".to_vec(), 2_u64);
        batch.keep();
        batch.remove(b"a".to_vec());
        batch.keep();
        commit(batch);
        assert_eq!(row(&store, b"a"), None);
    }

    #[test]
    fn damage_that_a_read_meets_says_what_to_do() {
        let store = store();
        for bytes in [&b""[..], b"\x01\0\0\0", b"\x02\0\0\0\x05", b"\x01\0\0\0\x05\x05"] {
            store.tree.insert(b"a", bytes).unwrap();
            let error = store.get::<u64>(b"a").unwrap_err().to_string();
            assert!(error.contains("the test projection is malformed"), "{error}");
            assert!(error.contains("delete the folder projections"), "{error}");
        }
    }
}
