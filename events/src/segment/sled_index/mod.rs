//! The index of sealed segments in sled: derived, bounded in memory, rebuilt when in doubt.
//!
//! Each sealed segment has a handful of rows of its own, written in one batch and never changed:
//! its commits and its streams, sorted and packed into buckets, a sample of its frames, and two
//! filters that tell nearly always that something is *not* in it. Two further filters tell that
//! of the whole log, so that what is new is known to be new at once. The filters are kept in
//! memory, about three bytes a commit and a stream; everything else is looked up.
//!
//! A segment that was just sealed is answered from memory until a thread of this index has
//! stored it, and the newest one also after that, until the next is stored.

mod bloom;
mod filters;
mod rows;
mod storer;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use self::bloom::Bloom;
use self::rows::{Rows, Stored, StreamRow, hash, stream_key};
use self::storer::Storer;
use super::index::{Index, Place, Sealed, SegmentIndex};
use crate::log::ReadError;
use crate::{LogId, OperationId, Position, Revision, StreamId};

/// How much of the index sled keeps in memory, in bytes.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// How long an index that is still locked is waited for: sled needs milliseconds, on a machine
/// that is busy with other things some seconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How often it is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The index of a log's sealed segments, in a folder of its own.
pub struct SledIndex {
    shared: Arc<Shared>,
    storer: Storer,
}

struct Shared {
    rows: Rows,
    /// Replaced as a whole, so that a lookup works on one state without holding the lock.
    state: RwLock<Arc<State>>,
}

/// What is known at a moment.
#[derive(Clone, Default)]
struct State {
    /// In the order of the log.
    segments: Vec<(Position, Held)>,
    /// Over the stored segments' commits, and streams.
    commits: Bloom,
    streams: Bloom,
}

/// Where a segment's part of the index is.
#[derive(Clone)]
enum Held {
    Memory(Arc<SegmentIndex>, Sealed),
    Stored(Arc<Stored>),
    /// Stored, and the newest that is: streams that are being written are most likely to be in
    /// it, and each must be looked up once a segment.
    Newest(Arc<Stored>, Arc<SegmentIndex>),
}

impl Held {
    /// What is in memory of it.
    fn memory(&self) -> Option<&SegmentIndex> {
        match self {
            Held::Memory(index, _) | Held::Newest(_, index) => Some(index),
            Held::Stored(_) => None,
        }
    }

    fn stored(&self) -> Option<&Stored> {
        match self {
            Held::Stored(stored) | Held::Newest(stored, _) => Some(stored),
            Held::Memory(..) => None,
        }
    }
}

impl SledIndex {
    /// Opens the index in a folder, or makes one there. One that doesn't open is set aside under
    /// another name, with a warning: it is rebuilt from the log.
    ///
    /// # Errors
    ///
    /// [`ReadError::Index`] if there can't be an index in this folder at all.
    pub fn open(folder: &Path) -> Result<SledIndex, ReadError> {
        let tree = match open_sled(folder) {
            Ok(tree) => tree,
            Err(error) => {
                let aside = set_aside(folder)?;
                tracing::warn!(%error, aside = %aside.display(), "the index of the log was set aside and is rebuilt");
                open_sled(folder).map_err(index_error)?
            }
        };
        let rows = Rows::new(tree);
        let shared = Arc::new(Shared { rows, state: RwLock::default() });
        let storer = Storer::start(shared.clone())?;
        Ok(SledIndex { shared, storer })
    }
}

impl Drop for SledIndex {
    fn drop(&mut self) {
        self.storer.finish();
        if let Err(error) = self.shared.rows.close() {
            tracing::warn!(%error, "the index of the log was not closed cleanly and will be checked");
        }
    }
}

/// Opens sled. The log's own lock keeps other processes out, so a lock that is held is this
/// process's: sled's threads let go of a database a moment after it was dropped.
pub(super) fn open_sled(folder: &Path) -> sled::Result<sled::Tree> {
    let config = sled::Config::new().path(folder).cache_capacity(CACHE_BYTES);
    let given_up = Instant::now() + LOCK_PATIENCE;
    loop {
        match config.open() {
            Ok(database) => return database.open_tree(rows::TREE),
            Err(error) if is_locked(&error) && Instant::now() < given_up => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// sled tells a held lock by its words only.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(io) if io.to_string().contains("could not acquire lock"))
}

/// Moves a folder out of the way; an older one that was moved is removed.
fn set_aside(folder: &Path) -> Result<PathBuf, ReadError> {
    let aside = folder.with_extension("set-aside");
    if aside.exists() {
        std::fs::remove_dir_all(&aside).map_err(index_error)?;
    }
    std::fs::rename(folder, &aside).map_err(index_error)?;
    Ok(aside)
}

fn index_error(error: impl std::fmt::Display) -> ReadError {
    ReadError::Index { reason: error.to_string() }
}

impl Shared {
    fn state(&self) -> Arc<State> {
        // A change is one assignment: a poisoned lock holds a whole state.
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut state));
    }

    /// What the newest segment that knows a stream has of it, and of those before if `visit`
    /// wants to go on.
    fn each_newest(
        &self,
        stream: StreamId,
        mut visit: impl FnMut(Position, StreamRow) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let state = self.state();
        let wanted = stream_key(stream);
        let hashed = hash(&wanted);
        let may_be_stored = state.streams.contains(hashed);
        for (segment, held) in state.segments.iter().rev() {
            let row = match (held.memory(), held.stored()) {
                (Some(index), _) => memory_row(index, stream),
                (None, Some(stored)) if may_be_stored => {
                    self.rows.stream(stored, &wanted, hashed)?
                }
                _ => None,
            };
            if let Some(row) = row
                && visit(*segment, row).is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

impl State {
    fn replace(&mut self, segment: Position, held: Held) {
        match self.segments.binary_search_by_key(&segment, |(first, _)| *first) {
            Ok(place) => {
                if let Some(known) = self.segments.get_mut(place) {
                    known.1 = held;
                }
            }
            Err(place) => self.segments.insert(place, (segment, held)),
        }
    }

    /// A segment is stored: it takes the place of the one that was before.
    fn stored(&mut self, stored: Stored, index: Arc<SegmentIndex>) {
        for (_, held) in &mut self.segments {
            if let Held::Newest(before, _) = held {
                *held = Held::Stored(before.clone());
            }
        }
        self.replace(stored.first, Held::Newest(Arc::new(stored), index));
    }

    fn held(&self, segment: Position) -> Option<&Held> {
        let place = self.segments.binary_search_by_key(&segment, |(first, _)| *first).ok()?;
        self.segments.get(place).map(|(_, held)| held)
    }
}

fn memory_row(index: &SegmentIndex, stream: StreamId) -> Option<StreamRow> {
    index.revision_before(stream).map(|before| StreamRow {
        before,
        offsets: index.records(stream, before).iter().map(|place| place.offset).collect(),
    })
}

impl Index for SledIndex {
    fn begin(&self, log: LogId) -> Result<Vec<Position>, ReadError> {
        let loaded = self.shared.rows.begin(log)?;
        let firsts = loaded.segments.iter().map(|stored| stored.first).collect();
        let held = |stored: Stored| (stored.first, Held::Stored(Arc::new(stored)));
        self.shared.change(|state| {
            *state = State {
                segments: loaded.segments.into_iter().map(held).collect(),
                commits: loaded.commits,
                streams: loaded.streams,
            };
        });
        Ok(firsts)
    }

    fn sealed(&self, segment: Position) -> Result<Option<Sealed>, ReadError> {
        Ok(self.shared.state().held(segment).map(|held| match held {
            Held::Memory(_, sealed) => *sealed,
            Held::Stored(stored) | Held::Newest(stored, _) => stored.sealed,
        }))
    }

    fn make_room(&self) {
        self.storer.make_room();
    }

    fn seal(&self, segment: &Arc<SegmentIndex>, end: Sealed) -> Result<(), ReadError> {
        let held = Held::Memory(segment.clone(), end);
        self.shared.change(|state| state.replace(segment.first(), held));
        self.storer.store(segment.clone(), end);
        Ok(())
    }

    fn revision(&self, stream: StreamId) -> Result<Revision, ReadError> {
        let mut revision = Revision::NONE;
        self.shared.each_newest(stream, |_, row| {
            revision = Revision(row.before.0 + row.offsets.len() as u64);
            ControlFlow::Break(())
        })?;
        Ok(revision)
    }

    fn commit(&self, operation: OperationId) -> Result<Option<Place>, ReadError> {
        let state = self.shared.state();
        let hashed = hash(operation.0.as_bytes());
        let may_be_stored = state.commits.contains(hashed);
        for (segment, held) in state.segments.iter().rev() {
            let found = match (held.memory(), held.stored()) {
                (Some(index), _) => index.commit(operation).map(|place| place.offset),
                (None, Some(stored)) if may_be_stored => {
                    self.shared.rows.commit(stored, operation, hashed)?
                }
                _ => None,
            };
            if let Some(offset) = found {
                return Ok(Some(Place { segment: *segment, offset }));
            }
        }
        Ok(None)
    }

    fn records(&self, stream: StreamId, after: Revision) -> Result<Vec<Place>, ReadError> {
        let mut parts = Vec::new();
        self.shared.each_newest(stream, |segment, row| {
            let skipped = after.0.saturating_sub(row.before.0);
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let places = row.offsets.into_iter().skip(skipped);
            parts.push(places.map(|offset| Place { segment, offset }).collect::<Vec<_>>());
            if row.before <= after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(parts.into_iter().rev().flatten().collect())
    }

    fn frame(&self, segment: Position, position: Position) -> Result<Option<u32>, ReadError> {
        let state = self.shared.state();
        let held = state.held(segment);
        match (held.and_then(Held::memory), held.and_then(Held::stored)) {
            (Some(index), _) => Ok(index.frame(position)),
            (None, Some(stored)) => self.shared.rows.frame(stored, position),
            (None, None) => Ok(None),
        }
    }
}
