//! Where things are: which records belong to a stream, which commit to an operation.
//!
//! All of it is derived from the segments. The active segment's part is a [`SegmentIndex`] in
//! memory; when a segment is sealed, its part is handed to an [`Index`].

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::commit_bytes::StreamEntry;
use super::format::Chain;
use crate::log::ReadError;
use crate::{LogId, OperationId, Position, Revision, StreamId, Timestamp};

/// A map whose keys are ids: hashed with a secret of the process, but faster than by the standard
/// library's hash, which takes a tenth of an append's time.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// The trait through which the log reaches what it knows of sealed segments.
pub trait Index: Send + Sync + 'static {
    /// Begins to serve a log, and forgets what belongs to another: the first positions of the
    /// segments that it holds, in order. Called once, before anything else.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be read or written.
    fn begin(&self, log: LogId) -> Result<Vec<Position>, ReadError>;

    /// How a sealed segment ended, if this index holds it; the log then need not read it.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be read.
    fn sealed(&self, segment: Position) -> Result<Option<Sealed>, ReadError>;

    /// Waits until the index can take another segment without holding too much in memory.
    fn make_room(&self);

    /// Takes what a segment holds, without waiting. Segments come in order, each once.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be written.
    fn seal(&self, segment: &Arc<SegmentIndex>, end: Sealed) -> Result<(), ReadError>;

    /// The revision of a stream after the last sealed segment.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be read.
    fn revision(&self, stream: StreamId) -> Result<Revision, ReadError>;

    /// Where the commit of an operation is.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be read.
    fn commit(&self, operation: OperationId) -> Result<Option<Place>, ReadError>;

    /// Where the records of a stream are whose revisions are greater than `after`, in order.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be read.
    fn records(&self, stream: StreamId, after: Revision) -> Result<Vec<Place>, ReadError>;

    /// The offset of the frame that holds a position, or of one before it, in this segment.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the index can't be read.
    fn frame(&self, segment: Position, position: Position) -> Result<Option<u32>, ReadError>;
}

/// A place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first position of the segment, which names it.
    pub segment: Position,
    /// The offset in bytes.
    pub offset: u32,
}

/// How a sealed segment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The position after its last event.
    pub next: Position,
    /// BLAKE3 of its last frame.
    pub chain: Chain,
    /// The time of its last frame.
    pub time: Timestamp,
    /// Its length in bytes.
    pub length: u64,
}

/// What one segment holds.
#[derive(Clone, Debug, Default)]
pub struct SegmentIndex {
    first: Position,
    streams: HashMap<StreamId, StreamPlaces>,
    commits: HashMap<OperationId, u32>,
    /// The frames that hold events, by the position of their first one.
    frames: Vec<(Position, u32)>,
}

/// Where a commit and its records are.
#[derive(Debug)]
pub(crate) struct IndexedCommit {
    pub operation: OperationId,
    /// In the segment, in bytes.
    pub offset: u64,
    pub streams: Vec<StreamEntry>,
    /// Where its records begin, from the commit's first byte; in the order of its streams.
    pub records: Vec<u32>,
}

#[derive(Clone, Debug)]
struct StreamPlaces {
    /// The stream's revision before this segment.
    before: Revision,
    records: Vec<u32>,
}

type MemorySegment = (Arc<SegmentIndex>, Sealed);

/// An [`Index`] in memory: it forgets everything when the process ends, and grows with the log.
/// Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryIndex {
    segments: Arc<RwLock<Vec<MemorySegment>>>,
}

impl SegmentIndex {
    pub(crate) fn new(first: Position) -> SegmentIndex {
        SegmentIndex { first, ..SegmentIndex::default() }
    }

    /// The first position of the segment, which names it.
    pub fn first(&self) -> Position {
        self.first
    }

    /// Adds a frame that begins at `offset` with the event at `first`, and its commits.
    pub(crate) fn add(
        &mut self,
        offset: u64,
        first: Position,
        events: u32,
        commits: &[IndexedCommit],
    ) -> Result<(), String> {
        for commit in commits {
            self.add_commit(commit)?;
        }
        if events > 0 {
            self.frames.push((first, narrow(offset)?));
        }
        Ok(())
    }

    fn add_commit(&mut self, commit: &IndexedCommit) -> Result<(), String> {
        let start = narrow(commit.offset)?;
        let mut records = commit.records.iter();
        for entry in &commit.streams {
            let places = self.streams.entry(entry.stream);
            let places = places
                .or_insert_with(|| StreamPlaces { before: entry.before, records: Vec::new() });
            let reached = places.reached();
            if reached != entry.before {
                return Err(format!(
                    "stream {} goes on after revision {}, not {reached}",
                    entry.stream, entry.before
                ));
            }
            for record in records.by_ref().take(entry.events as usize) {
                places.records.push(narrow(u64::from(start) + u64::from(*record))?);
            }
        }
        self.commits.insert(commit.operation, start);
        Ok(())
    }

    /// The revision of a stream, if this segment knows it.
    pub fn revision(&self, stream: StreamId) -> Option<Revision> {
        self.streams.get(&stream).map(StreamPlaces::reached)
    }

    /// The revision of a stream before this segment, if this segment knows it.
    pub fn revision_before(&self, stream: StreamId) -> Option<Revision> {
        self.streams.get(&stream).map(|places| places.before)
    }

    /// Where the commit of an operation is.
    pub fn commit(&self, operation: OperationId) -> Option<Place> {
        self.commits.get(&operation).map(|offset| self.place(*offset))
    }

    /// Where the records of a stream are whose revisions are greater than `after`.
    pub fn records(&self, stream: StreamId, after: Revision) -> Vec<Place> {
        let Some(places) = self.streams.get(&stream) else { return Vec::new() };
        let skipped = after.0.saturating_sub(places.before.0);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        places.records.iter().skip(skipped).map(|offset| self.place(*offset)).collect()
    }

    /// The offset of the frame that holds a position.
    pub fn frame(&self, position: Position) -> Option<u32> {
        let after = self.frames.partition_point(|(first, _)| *first <= position);
        self.frames.get(after.checked_sub(1)?).map(|(_, offset)| *offset)
    }

    /// The commits that it knows, with their offsets in bytes.
    pub fn commits(&self) -> impl Iterator<Item = (OperationId, u32)> + '_ {
        self.commits.iter().map(|(operation, offset)| (*operation, *offset))
    }

    /// The frames that hold events: the position of the first and the offset in bytes, in order.
    pub fn frames(&self) -> &[(Position, u32)] {
        &self.frames
    }

    /// The streams that it knows.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.streams.keys().copied()
    }

    fn place(&self, offset: u32) -> Place {
        Place { segment: self.first, offset }
    }
}

impl StreamPlaces {
    fn reached(&self) -> Revision {
        Revision(self.before.0 + self.records.len() as u64)
    }
}

fn narrow(offset: u64) -> Result<u32, String> {
    u32::try_from(offset).map_err(|_| format!("offset {offset} is beyond what a segment may have"))
}

impl MemoryIndex {
    /// Forgets the newest segments.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn forget(&self, count: usize) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        let kept = segments.len().saturating_sub(count);
        segments.truncate(kept);
    }

    fn segments(&self) -> RwLockReadGuard<'_, Vec<MemorySegment>> {
        // Never left half changed: a poisoned lock holds a whole list.
        self.segments.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index for MemoryIndex {
    fn begin(&self, _log: LogId) -> Result<Vec<Position>, ReadError> {
        Ok(self.segments().iter().map(|(index, _)| index.first).collect())
    }

    fn make_room(&self) {}

    fn sealed(&self, segment: Position) -> Result<Option<Sealed>, ReadError> {
        let segments = self.segments();
        let found = segments.iter().find(|(index, _)| index.first == segment);
        Ok(found.map(|(_, end)| *end))
    }

    fn seal(&self, segment: &Arc<SegmentIndex>, end: Sealed) -> Result<(), ReadError> {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        segments.push((segment.clone(), end));
        Ok(())
    }

    fn revision(&self, stream: StreamId) -> Result<Revision, ReadError> {
        let segments = self.segments();
        let found = segments.iter().rev().find_map(|(index, _)| index.revision(stream));
        Ok(found.unwrap_or(Revision::NONE))
    }

    fn commit(&self, operation: OperationId) -> Result<Option<Place>, ReadError> {
        let segments = self.segments();
        Ok(segments.iter().rev().find_map(|(index, _)| index.commit(operation)))
    }

    fn records(&self, stream: StreamId, after: Revision) -> Result<Vec<Place>, ReadError> {
        let segments = self.segments();
        Ok(segments.iter().flat_map(|(index, _)| index.records(stream, after)).collect())
    }

    fn frame(&self, segment: Position, position: Position) -> Result<Option<u32>, ReadError> {
        let segments = self.segments();
        let found = segments.iter().find(|(index, _)| index.first == segment);
        Ok(found.and_then(|(index, _)| index.frame(position)))
    }
}
