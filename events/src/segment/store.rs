//! What the writer and the readers share: the segments, where things are in them, the head.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;
use tokio::sync::watch;

use super::commit_bytes::{Checksums, CommitHead, Record};
use super::disk::{Disk, DiskFile, read_vec};
use super::format::{FRAME_HEADER, FrameHeader, SEGMENT_HEADER, segment_name};
use super::frame::{Frame, FrameCommit};
use super::index::{Index, Place, SegmentIndex};
use crate::log::{ReadError, Receipt, Recorded};
use crate::{LogId, OperationId, Position, Revision, StreamId};

/// How much a sequential reader fetches at once, in bytes: some hundred small frames a call,
/// and little enough to keep one buffer a reader.
const SEQUENTIAL_WINDOW: u64 = 256 * 1024;

/// How much a reader of single records fetches at once, in bytes: a record with the head of its
/// commit is nearly always within, and so are its neighbours after a burst.
const RECORD_WINDOW: u64 = 16 * 1024;

/// How far before a record that window begins, in bytes: where its commit's head usually is.
const RECORD_WINDOW_BEFORE: u64 = 512;

pub(crate) struct Store<D: Disk, I: Index> {
    pub disk: D,
    pub index: I,
    pub log: LogId,
    tail: RwLock<SegmentIndex>,
    segments: RwLock<Vec<Arc<Segment<D::File>>>>,
    pub head: watch::Sender<Position>,
}

/// A segment that is open for reading, and perhaps for writing.
pub(crate) struct Segment<F> {
    pub first: Position,
    pub file: F,
    /// The end of what is durable, in bytes. Only grows.
    durable: AtomicU64,
    /// Set after `durable` got its last value.
    sealed: AtomicBool,
}

impl<F: DiskFile> Segment<F> {
    pub fn new(first: Position, file: F, durable: u64) -> Segment<F> {
        Segment { first, file, durable: AtomicU64::new(durable), sealed: AtomicBool::new(false) }
    }

    pub fn set_durable(&self, end: u64) {
        self.durable.store(end, Ordering::Release);
    }

    pub fn set_sealed(&self) {
        self.sealed.store(true, Ordering::Release);
    }

    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    fn sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    fn corrupt(&self, offset: u64, reason: impl Into<String>) -> ReadError {
        corrupt(self.first, offset, reason)
    }

    /// `length` bytes from `offset` on, or fewer at the end of what is durable.
    fn fetch(&self, offset: u64, length: u64) -> Result<Bytes, ReadError> {
        let length = length.min(self.durable().saturating_sub(offset));
        let length = usize::try_from(length).unwrap_or(0);
        let buffer = read_vec(&self.file, length, offset).map_err(|source| ReadError::Io {
            what: segment_name(self.first),
            source: Arc::new(source),
        })?;
        if buffer.len() < length {
            return Err(self.corrupt(offset + buffer.len() as u64, "the file was cut short"));
        }
        Ok(buffer.into())
    }
}

impl<D: Disk, I: Index> Store<D, I> {
    pub fn new(
        disk: D,
        index: I,
        log: LogId,
        tail: SegmentIndex,
        segments: Vec<Arc<Segment<D::File>>>,
        head: Position,
    ) -> Store<D, I> {
        Store {
            disk,
            index,
            log,
            tail: RwLock::new(tail),
            segments: RwLock::new(segments),
            head: watch::Sender::new(head),
        }
    }

    // A panic while one of these locks is held would leave a whole value: each change under it
    // is one insertion, or one replacement.
    pub fn tail(&self) -> RwLockReadGuard<'_, SegmentIndex> {
        self.tail.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn tail_mut(&self) -> RwLockWriteGuard<'_, SegmentIndex> {
        self.tail.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add_segment(&self, segment: Arc<Segment<D::File>>) {
        self.segments.write().unwrap_or_else(PoisonError::into_inner).push(segment);
    }

    pub fn head(&self) -> Position {
        *self.head.borrow()
    }

    /// The segment that holds, or will hold, a position.
    fn segment_of(&self, position: Position) -> Option<Arc<Segment<D::File>>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        let after = segments.partition_point(|segment| segment.first <= position);
        segments.get(after.saturating_sub(1)).cloned()
    }

    fn segment_after(&self, first: Position) -> Option<Arc<Segment<D::File>>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.get(segments.partition_point(|segment| segment.first <= first)).cloned()
    }

    pub fn revision(&self, stream: StreamId) -> Result<Revision, ReadError> {
        let known = self.tail().revision(stream);
        known.map_or_else(|| self.index.revision(stream), Ok)
    }

    /// What the active segment knows of it, which is in memory.
    pub fn is_still_at(&self, stream: StreamId, revision: Revision, seen: Position) -> bool {
        let tail = self.tail();
        match tail.revision(stream) {
            Some(now) => now == revision,
            // Whatever was written since is in the active segment, and this stream isn't.
            None => seen.next() >= tail.first(),
        }
    }

    pub fn receipt(&self, operation: OperationId) -> Result<Option<Receipt>, ReadError> {
        let known = self.tail().commit(operation);
        let place = match known {
            Some(place) => place,
            None => match self.index.commit(operation)? {
                Some(place) => place,
                None => return Ok(None),
            },
        };
        let mut reader = RecordReader::new(self);
        let head = reader.commit_head(place)?;
        if head.operation != operation {
            return Err(place.corrupt("another operation is here"));
        }
        Ok(Some(head.receipt()))
    }

    /// Where the durable records of a stream are whose revisions are greater than `after`.
    pub fn record_places(
        &self,
        stream: StreamId,
        after: Revision,
    ) -> Result<Vec<Place>, ReadError> {
        // One lock around both: a seal in between would show a segment in both, or in neither.
        let tail = self.tail();
        let mut places = match tail.revision_before(stream) {
            Some(before) if after >= before => Vec::new(),
            _ => self.index.records(stream, after)?,
        };
        places.extend(tail.records(stream, after));
        Ok(places)
    }

    pub fn read_at(self: &Arc<Self>, position: Position) -> Result<Recorded, ReadError> {
        let head = self.head();
        if position == Position::START || position > head {
            return Err(ReadError::NoSuchPosition { position, head });
        }
        let mut reader = FrameReader::at(self.clone(), position)?;
        while let Some(frame) = reader.next_frame()? {
            if frame.next() > position {
                let mut found = None;
                reader.each_event(&frame, |event| {
                    if event.position == position {
                        found = Some(event);
                    }
                })?;
                return found.ok_or(ReadError::NoSuchPosition { position, head });
            }
        }
        Err(ReadError::NoSuchPosition { position, head })
    }
}

/// Reads single records, each with the head of its commit.
pub(crate) struct RecordReader<'a, D: Disk, I: Index> {
    store: &'a Store<D, I>,
    window: Option<Window<D::File>>,
    head: Option<(Place, CommitHead)>,
}

struct Window<F> {
    segment: Arc<Segment<F>>,
    offset: u64,
    bytes: Bytes,
}

impl<'a, D: Disk, I: Index> RecordReader<'a, D, I> {
    pub fn new(store: &'a Store<D, I>) -> Self {
        RecordReader { store, window: None, head: None }
    }

    /// The event whose record is at a place, and which must be this one of its stream.
    pub fn read(
        &mut self,
        place: Place,
        stream: StreamId,
        revision: Revision,
    ) -> Result<Recorded, ReadError> {
        let bytes = self.sized(place, Record::peek_length)?;
        let record = Record::decode(&bytes, 0, Checksums::Compare);
        let record = record.map_err(|reason| place.corrupt(reason))?;
        let back = u32::try_from(record.back).ok().and_then(|back| place.offset.checked_sub(back));
        let commit = back.ok_or_else(|| place.corrupt("a record is misplaced"))?;
        let commit = Place { segment: place.segment, offset: commit };
        let recorded = match &self.head {
            Some((at, head)) if *at == commit => head.recorded(record),
            _ => {
                let head = self.commit_head(commit)?;
                let recorded = head.recorded(record);
                self.head = Some((commit, head));
                recorded
            }
        };
        recorded
            .filter(|event| event.stream == stream && event.revision == revision)
            .ok_or_else(|| place.corrupt("another event is here"))
    }

    fn commit_head(&mut self, place: Place) -> Result<CommitHead, ReadError> {
        let bytes = self.sized(place, CommitHead::peek_length)?;
        CommitHead::decode(&bytes, Checksums::Compare).map_err(|reason| place.corrupt(reason))
    }

    /// The bytes of something at a place that begins with its own length.
    fn sized(
        &mut self,
        place: Place,
        length: fn(&[u8]) -> Option<usize>,
    ) -> Result<Bytes, ReadError> {
        let length = length(&self.bytes(place, 4)?);
        let length = length.ok_or_else(|| place.corrupt("the segment ends here"))? as u64;
        if length > self.segment(place)?.durable() {
            return Err(place.corrupt("a length is impossible"));
        }
        self.bytes(place, length)
    }

    fn bytes(&mut self, place: Place, length: u64) -> Result<Bytes, ReadError> {
        let offset = u64::from(place.offset);
        if let Some(bytes) = self.window.as_ref().and_then(|held| held.slice(place, length)) {
            return Ok(bytes);
        }
        let segment = self.segment(place)?;
        let start = offset.saturating_sub(RECORD_WINDOW_BEFORE);
        let bytes = segment.fetch(start, RECORD_WINDOW.max(offset - start + length))?;
        let window = Window { segment, offset: start, bytes };
        let slice = window.slice(place, length);
        self.window = Some(window);
        slice.ok_or_else(|| place.corrupt("the segment ends here"))
    }

    fn segment(&self, place: Place) -> Result<Arc<Segment<D::File>>, ReadError> {
        if let Some(window) = &self.window
            && window.segment.first == place.segment
        {
            return Ok(window.segment.clone());
        }
        let found = self.store.segment_of(place.segment);
        let found = found.filter(|segment| segment.first == place.segment);
        found.ok_or_else(|| place.corrupt("the segment is missing"))
    }
}

impl Place {
    fn corrupt(self, reason: impl Into<String>) -> ReadError {
        corrupt(self.segment, u64::from(self.offset), reason)
    }
}

/// Gives each event of a commit to `visit`; the frame that it is of begins at `offset`.
pub(super) fn visit_events(
    segment: Position,
    offset: u64,
    commit: Result<FrameCommit, String>,
    visit: &mut impl FnMut(Recorded),
) -> Result<(), ReadError> {
    let visit_all = || {
        for record in commit?.records(Checksums::Trust) {
            visit(record?.1);
        }
        Ok(())
    };
    visit_all().map_err(|reason: String| corrupt(segment, offset, reason))
}

/// What is at an offset of a segment is not what was written.
pub(super) fn corrupt(segment: Position, offset: u64, reason: impl Into<String>) -> ReadError {
    ReadError::Corrupt { segment: segment_name(segment), offset, reason: reason.into() }
}

impl<F> Window<F> {
    fn slice(&self, place: Place, length: u64) -> Option<Bytes> {
        if self.segment.first != place.segment {
            return None;
        }
        let from = usize::try_from(u64::from(place.offset).checked_sub(self.offset)?).ok()?;
        let to = from.checked_add(usize::try_from(length).ok()?)?;
        (to <= self.bytes.len()).then(|| self.bytes.slice(from..to))
    }
}

/// Reads frames in order, from one segment into the next, up to what is durable.
pub(crate) struct FrameReader<D: Disk, I: Index> {
    store: Arc<Store<D, I>>,
    segment: Arc<Segment<D::File>>,
    offset: u64,
    window: Bytes,
}

impl<D: Disk, I: Index> FrameReader<D, I> {
    /// A reader whose first frame is the one that holds `position`, or one before it.
    pub fn at(store: Arc<Store<D, I>>, position: Position) -> Result<Self, ReadError> {
        let segment = store.segment_of(position).ok_or(ReadError::Closed)?;
        let indexed = {
            let tail = store.tail();
            if tail.first() == segment.first { tail.frame(position) } else { None }
        };
        let offset = match indexed {
            Some(offset) => Some(offset),
            None => store.index.frame(segment.first, position)?,
        };
        let offset = offset.map_or(SEGMENT_HEADER as u64, u64::from);
        Ok(FrameReader { store, segment, offset, window: Bytes::new() })
    }

    /// The next frame; `None` at the end of what is durable now.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ReadError> {
        loop {
            // In this order: `sealed` is set after `durable` got its last value.
            let sealed = self.segment.sealed();
            if self.offset < self.segment.durable() {
                break;
            }
            let after = sealed.then(|| self.store.segment_after(self.segment.first)).flatten();
            let Some(segment) = after else { return Ok(None) };
            self.segment = segment;
            self.offset = SEGMENT_HEADER as u64;
            self.window = Bytes::new();
        }
        self.need(FRAME_HEADER)?;
        let offset = self.offset;
        let corrupt = |reason: String| self.segment.corrupt(offset, reason);
        let header = FrameHeader::decode(&self.window, self.store.log, offset).map_err(corrupt)?;
        self.need(header.length as usize)?;
        let corrupt = |reason: String| self.segment.corrupt(offset, reason);
        if self.window.len() < header.length as usize {
            return Err(corrupt("the segment ends inside a frame".to_owned()));
        }
        let whole = self.window.split_to(header.length as usize);
        let frame = Frame::check(header, whole).map_err(corrupt)?;
        self.offset = frame.end();
        Ok(Some(frame))
    }

    /// The segment of the frame that was given last.
    pub fn segment(&self) -> Position {
        self.segment.first
    }

    /// Gives each event of a frame that this reader gave to `visit`.
    pub fn each_event(
        &self,
        frame: &Frame,
        mut visit: impl FnMut(Recorded),
    ) -> Result<(), ReadError> {
        for commit in frame.commits(Checksums::Trust) {
            visit_events(self.segment(), frame.header.offset, commit, &mut visit)?;
        }
        Ok(())
    }

    fn need(&mut self, length: usize) -> Result<(), ReadError> {
        if self.window.len() < length {
            self.window = self.segment.fetch(self.offset, SEQUENTIAL_WINDOW.max(length as u64))?;
        }
        Ok(())
    }
}
