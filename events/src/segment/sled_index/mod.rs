//! The index of sealed segments in sled: derived, bounded in memory, rebuilt when in doubt.
//!
//! Each sealed segment has a handful of rows of its own, written in one batch and never changed:
//! its commits and its streams, sorted and packed into buckets, a sample of its frames, and two
//! filters that tell nearly always that something is *not* in it. The filters are kept in memory,
//! about a byte a commit and a byte a stream; everything else is looked up. So a lookup costs a
//! filter a segment, and a bucket or two.
//!
//! A segment that was just sealed is answered from memory until a thread of this index has
//! stored it.

mod rows;
mod storer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use self::rows::{Rows, Stored, StreamRow};
use self::storer::Storer;
use super::index::{Index, Place, Sealed, SegmentIndex};
use crate::log::ReadError;
use crate::{LogId, OperationId, Position, Revision, StreamId};

/// How much of the index sled keeps in memory, in bytes.
const CACHE_BYTES: u64 = 32 * 1024 * 1024;

/// The index of a log's sealed segments, in a folder of its own.
pub struct SledIndex {
    shared: Arc<Shared>,
    storer: Storer,
}

struct Shared {
    rows: Rows,
    /// In the order of the log.
    segments: RwLock<Vec<(Position, Held)>>,
}

/// Where a segment's part of the index is.
#[derive(Clone)]
enum Held {
    Memory(Arc<SegmentIndex>, Sealed),
    Stored(Arc<Stored>),
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
        let shared = Arc::new(Shared { rows, segments: RwLock::default() });
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

fn open_sled(folder: &Path) -> sled::Result<sled::Tree> {
    let config = sled::Config::new().path(folder).cache_capacity(CACHE_BYTES);
    config.open()?.open_tree(rows::TREE)
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
    fn segments(&self) -> RwLockReadGuard<'_, Vec<(Position, Held)>> {
        // Changes are single assignments and insertions: a poisoned lock holds a whole list.
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, segment: Position, held: Held) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        match segments.iter_mut().find(|(first, _)| *first == segment) {
            Some((_, place)) => *place = held,
            None => segments.push((segment, held)),
        }
    }

    /// The segments, newest first.
    fn newest_first(&self) -> Vec<(Position, Held)> {
        self.segments().iter().rev().cloned().collect()
    }

    fn stream(&self, held: &Held, stream: StreamId) -> Result<Option<StreamRow>, ReadError> {
        match held {
            Held::Memory(index, _) => Ok(index.revision_before(stream).map(|before| StreamRow {
                before,
                offsets: index.records(stream, before).iter().map(|place| place.offset).collect(),
            })),
            Held::Stored(stored) => self.rows.stream(stored, stream),
        }
    }
}

impl Index for SledIndex {
    fn begin(&self, log: LogId) -> Result<Vec<Position>, ReadError> {
        let stored = self.shared.rows.begin(log)?;
        let firsts = stored.iter().map(|stored| stored.first).collect();
        for stored in stored {
            self.shared.replace(stored.first, Held::Stored(Arc::new(stored)));
        }
        Ok(firsts)
    }

    fn sealed(&self, segment: Position) -> Result<Option<Sealed>, ReadError> {
        let segments = self.shared.segments();
        let found = segments.iter().find(|(first, _)| *first == segment);
        Ok(found.map(|(_, held)| match held {
            Held::Memory(_, sealed) => *sealed,
            Held::Stored(stored) => stored.sealed,
        }))
    }

    fn make_room(&self) {
        self.storer.make_room();
    }

    fn seal(&self, segment: &Arc<SegmentIndex>, end: Sealed) -> Result<(), ReadError> {
        self.shared.replace(segment.first(), Held::Memory(segment.clone(), end));
        self.storer.store(segment.clone(), end);
        Ok(())
    }

    fn revision(&self, stream: StreamId) -> Result<Revision, ReadError> {
        for (_, held) in self.shared.newest_first() {
            if let Some(row) = self.shared.stream(&held, stream)? {
                return Ok(Revision(row.before.0 + row.offsets.len() as u64));
            }
        }
        Ok(Revision::NONE)
    }

    fn commit(&self, operation: OperationId) -> Result<Option<Place>, ReadError> {
        for (segment, held) in self.shared.newest_first() {
            let found = match &held {
                Held::Memory(index, _) => index.commit(operation),
                Held::Stored(stored) => {
                    let offset = self.shared.rows.commit(stored, operation)?;
                    offset.map(|offset| Place { segment, offset })
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn records(&self, stream: StreamId, after: Revision) -> Result<Vec<Place>, ReadError> {
        let mut parts = Vec::new();
        for (segment, held) in self.shared.newest_first() {
            let Some(row) = self.shared.stream(&held, stream)? else { continue };
            let is_first_wanted = row.before <= after;
            let skipped = after.0.saturating_sub(row.before.0);
            let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
            let places = row.offsets.into_iter().skip(skipped);
            parts.push(places.map(|offset| Place { segment, offset }).collect::<Vec<_>>());
            if is_first_wanted {
                break;
            }
        }
        Ok(parts.into_iter().rev().flatten().collect())
    }

    fn frame(&self, segment: Position, position: Position) -> Result<Option<u32>, ReadError> {
        let held = {
            let segments = self.shared.segments();
            segments.iter().find(|(first, _)| *first == segment).map(|(_, held)| held.clone())
        };
        match held {
            Some(Held::Memory(index, _)) => Ok(index.frame(position)),
            Some(Held::Stored(stored)) => self.shared.rows.frame(&stored, position),
            None => Ok(None),
        }
    }
}
