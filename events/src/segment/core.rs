//! The synchronous core of the log: it has no thread and no clock of its own.

use std::io;
use std::sync::Arc;

use super::commit_bytes::{StreamEntry, encode_commit};
use super::disk::{Disk, DiskFile};
use super::format::{
    Chain, END_MARK, FRAME_HEADER, FrameKind, MARK_FRAME, SEGMENT_HEADER, SegmentHeader,
    segment_name,
};
use super::frame::{self, Counts, FramePlace};
use super::index::{HashMap, Index, IndexedCommit, Sealed, SegmentIndex};
use super::store::{Segment, Store};
use super::{Options, TEMPORARY_SUFFIX};
use crate::log::{AppendError, Commit, Expectation, ReadError, Receipt, check_limits};
use crate::{LogId, OperationId, Position, Revision, StreamId, Timestamp};

/// How many bytes of zeros follow a frame of commits: room for the marks that can follow it, one
/// of each kind, which thus need no space, and the zeros that tell an open segment from one that
/// ends with its last frame.
const RESERVED: u64 = (3 * MARK_FRAME + OPEN_ZEROS) as u64;

/// How many zeros at the end of a file tell that it was open for writing.
pub(super) const OPEN_ZEROS: usize = 8;

/// From this body size on, in bytes, a frame takes no further commit: a frame is read and
/// checked as a whole, so it stays small enough to be held by a reader.
const FRAME_BODY: usize = 8 * 1024 * 1024;

/// Takes groups of commits, checks each in order, writes one frame, syncs once, updates the
/// index, and gives the answers.
pub(crate) struct Core<D: Disk, I: Index> {
    store: Arc<Store<D, I>>,
    options: Options,
    active: Arc<Segment<D::File>>,
    /// The end of the last frame, in bytes.
    end: u64,
    /// The length of the active segment's file, in bytes.
    allocated: u64,
    chain: Chain,
    /// Whether the last frame, which `buffer` has, is still to be hashed into `chain`.
    unhashed: bool,
    next: Position,
    time: Timestamp,
    /// The kind of the active segment's last frame.
    last: Option<FrameKind>,
    /// How the active segment ended, once it takes no more frames.
    sealed: Option<Sealed>,
    poisoned: Option<Arc<str>>,
    closed: bool,
    /// Kept from frame to frame, for its room.
    buffer: Vec<u8>,
}

/// Where a log that was opened goes on.
pub(super) struct Resume<F> {
    pub active: Arc<Segment<F>>,
    pub end: u64,
    pub allocated: u64,
    pub chain: Chain,
    pub next: Position,
    pub time: Timestamp,
    pub last: Option<FrameKind>,
    pub sealed: Option<Sealed>,
}

/// A frame that is being made: commits that were checked, and the answers that they get once it
/// is durable.
pub(crate) struct Draft {
    answers: Answers,
    buffer: Vec<u8>,
    pending: Pending,
    /// Why there can't be a frame.
    refused: Option<AppendError>,
}

/// What the commits of a frame change.
#[derive(Default)]
struct Pending {
    revisions: HashMap<StreamId, Revision>,
    /// Which of the answers an operation has.
    operations: HashMap<OperationId, usize>,
    commits: Vec<IndexedCommit>,
    counts: Counts,
}

/// The answer to each commit of a group, in its order.
pub(crate) type Answers = Vec<Result<Receipt, AppendError>>;

impl<D: Disk, I: Index> Core<D, I> {
    pub(super) fn new(
        store: Arc<Store<D, I>>,
        options: Options,
        resume: Resume<D::File>,
    ) -> Core<D, I> {
        Core {
            store,
            options,
            active: resume.active,
            end: resume.end,
            allocated: resume.allocated,
            chain: resume.chain,
            unhashed: false,
            next: resume.next,
            time: resume.time,
            last: resume.last,
            sealed: resume.sealed,
            poisoned: None,
            closed: false,
            buffer: Vec::new(),
        }
    }

    pub fn store(&self) -> &Arc<Store<D, I>> {
        &self.store
    }

    /// Appends a group of commits at time `now`: one answer each, in order. Those that are
    /// answered `Ok` are durable.
    #[cfg(any(test, feature = "simulation"))]
    pub fn append_group(&mut self, commits: &[Commit], now: Timestamp) -> Answers {
        let mut answers = Vec::with_capacity(commits.len());
        let mut commits = commits.iter().peekable();
        while commits.peek().is_some() {
            let mut draft = self.begin(now);
            while !draft.is_full()
                && let Some(commit) = commits.next()
            {
                self.take(&mut draft, commit);
            }
            answers.extend(self.write(draft));
        }
        answers
    }

    /// Begins a frame at time `now`.
    pub fn begin(&mut self, now: Timestamp) -> Draft {
        let refused = self.ready().err();
        self.time = self.time.max(now);
        self.settle();
        let mut buffer = std::mem::take(&mut self.buffer);
        frame::begin(&mut buffer);
        Draft { answers: Vec::new(), buffer, pending: Pending::default(), refused }
    }

    /// Checks a commit, and adds it to the frame if it passes.
    pub fn take(&self, draft: &mut Draft, commit: &Commit) {
        let answer = match &draft.refused {
            Some(error) => Err(error.clone()),
            None => self.add(draft, commit),
        };
        draft.answers.push(answer);
    }

    /// Writes the frame and syncs once: an answer to each commit that it took, in order. Those
    /// that are answered `Ok` are durable.
    pub fn write(&mut self, draft: Draft) -> Answers {
        let Draft { mut answers, mut buffer, pending, .. } = draft;
        if pending.counts.commits > 0
            && let Err(error) = self.write_commits(&mut buffer, &pending)
        {
            answers.iter_mut().for_each(|answer| pending.fail(answer, &error));
        }
        self.buffer = buffer;
        answers
    }

    /// Does what the next frame needs and the answers to the last one did not.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.unhashed) {
            self.chain = frame::hash(&self.buffer);
        }
    }

    /// Whether appends are possible now.
    fn ready(&mut self) -> Result<(), AppendError> {
        self.usable()?;
        let reserve = self.options.reserve_bytes;
        let free = self.free_bytes();
        if free < reserve {
            return Err(AppendError::DiskFull { free, reserve });
        }
        // A segment is named by its first position, so one without events has no successor yet.
        let is_full = self.end >= self.options.segment_bytes && self.next > self.active.first;
        if self.sealed.is_some() || is_full {
            self.roll()?;
        }
        Ok(())
    }

    fn usable(&self) -> Result<(), AppendError> {
        match &self.poisoned {
            _ if self.closed => Err(AppendError::Closed),
            Some(cause) => Err(AppendError::Poisoned { cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// Checks one commit and appends its bytes to the frame.
    fn add(&self, draft: &mut Draft, commit: &Commit) -> Result<Receipt, AppendError> {
        if let Some(first) = self.known(commit.operation, draft)? {
            if first.fingerprint != commit.fingerprint {
                return Err(AppendError::OperationReused { operation: commit.operation });
            }
            return Ok(Receipt { replayed: true, ..first });
        }
        let Draft { answers, buffer, pending, .. } = draft;
        let before = self.check(commit, pending)?;
        check_limits(commit)?;
        let first = Position(self.next.0 + u64::from(pending.counts.events));
        let start = self.end + buffer.len() as u64;
        let records = encode_commit(buffer, commit, first, self.time, &before);
        let mut streams = Vec::with_capacity(before.len());
        let mut entries = Vec::with_capacity(before.len());
        let mut events = 0;
        for (append, before) in commit.appends.iter().zip(before) {
            let after = Revision(before.0 + append.events.len() as u64);
            pending.revisions.insert(append.stream, after);
            entries.push(StreamEntry {
                stream: append.stream,
                before,
                events: append.events.len() as u32,
            });
            streams.push((append.stream, after));
            events += append.events.len() as u32;
        }
        pending.counts.events += events;
        pending.counts.commits += 1;
        let operation = commit.operation;
        pending.operations.insert(operation, answers.len());
        pending.commits.push(IndexedCommit { operation, offset: start, streams: entries, records });
        Ok(Receipt {
            operation,
            fingerprint: commit.fingerprint,
            time: self.time,
            position: Position(first.0 + u64::from(events) - 1),
            events,
            streams,
            replayed: false,
        })
    }

    fn known(&self, operation: OperationId, draft: &Draft) -> Result<Option<Receipt>, AppendError> {
        match draft.pending.operations.get(&operation).and_then(|nth| draft.answers.get(*nth)) {
            Some(answer) => answer.clone().map(Some),
            None => self.store.receipt(operation).map_err(AppendError::Read),
        }
    }

    /// Compares every expectation; the revisions of the streams that are appended to.
    fn check(&self, commit: &Commit, pending: &Pending) -> Result<Vec<Revision>, AppendError> {
        let mut before = Vec::with_capacity(commit.appends.len());
        for append in &commit.appends {
            before.push(self.expect(append.stream, append.expected, pending)?);
        }
        for check in &commit.checks {
            self.expect(check.stream, check.expected, pending)?;
        }
        Ok(before)
    }

    fn expect(
        &self,
        stream: StreamId,
        expected: Expectation,
        pending: &Pending,
    ) -> Result<Revision, AppendError> {
        let actual = match pending.revisions.get(&stream) {
            Some(revision) => *revision,
            None => self.store.revision(stream).map_err(AppendError::Read)?,
        };
        if expected.holds(actual) {
            Ok(actual)
        } else {
            Err(AppendError::Conflict { stream, expected, actual })
        }
    }

    /// Writes and syncs the frame in the buffer, then shows it to readers.
    fn write_commits(
        &mut self,
        buffer: &mut Vec<u8>,
        pending: &Pending,
    ) -> Result<(), AppendError> {
        self.make_room((buffer.len() + END_MARK.len()) as u64 + RESERVED)?;
        let place = self.place();
        frame::finish(buffer, place, pending.counts, FrameKind::Commits);
        let bytes: &[u8] = buffer;
        if let Err(error) = self.write_synced(bytes) {
            let cause = self.poison("writing to", &error);
            return Err(AppendError::OutcomeUnknown { cause });
        }
        self.unhashed = true;
        self.end += bytes.len() as u64;
        self.next = Position(self.next.0 + u64::from(pending.counts.events));
        self.last = Some(FrameKind::Commits);
        let events = pending.counts.events;
        let added = self.store.tail_mut().add(place.offset, place.first, events, &pending.commits);
        if let Err(reason) = added {
            // Durable, and answered so; but what can't be indexed can't be built on.
            self.poison("indexing", &io::Error::other(reason));
        }
        self.active.set_durable(self.end);
        self.store.head.send_replace(Position(self.next.0 - 1));
        Ok(())
    }

    fn write_synced(&self, bytes: &[u8]) -> io::Result<()> {
        self.active.file.write_at(bytes, self.end)?;
        self.active.file.sync()
    }

    /// Makes sure that `length` bytes fit after the last frame, and that there is space ahead.
    fn make_room(&mut self, length: u64) -> Result<(), AppendError> {
        let needed = self.end + length;
        let fits = needed <= self.allocated;
        let piece = self.options.preallocated();
        let ahead = needed + piece / 2 <= self.allocated;
        if fits && (ahead || self.allocated >= self.options.segment_bytes) {
            return Ok(());
        }
        let mut allocated = needed.max(self.allocated + 1).next_multiple_of(piece);
        // Space ahead is a convenience, which is not taken out of the reserve.
        let kept = self.options.reserve_bytes.saturating_add(allocated - self.allocated);
        if self.free_bytes() < kept {
            if fits {
                return Ok(());
            }
            allocated = needed;
        }
        let extended = self.active.file.allocate(allocated).and_then(|()| self.active.file.sync());
        match extended {
            Ok(()) => {
                self.allocated = allocated;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                if fits {
                    Ok(())
                } else {
                    Err(self.disk_full())
                }
            }
            Err(error) => {
                let cause = self.poison("extending", &error);
                Err(AppendError::Poisoned { cause })
            }
        }
    }

    /// A file system that can't tell its free space is treated as one that has enough: the writes
    /// themselves will tell.
    fn free_bytes(&self) -> u64 {
        self.store.disk.free_bytes().unwrap_or(u64::MAX)
    }

    fn disk_full(&self) -> AppendError {
        AppendError::DiskFull { free: self.free_bytes(), reserve: self.options.reserve_bytes }
    }

    fn place(&self) -> FramePlace {
        FramePlace {
            log: self.store.log,
            offset: self.end,
            first: self.next,
            time: self.time,
            chain: self.chain,
        }
    }

    fn poison(&mut self, doing: &str, error: &io::Error) -> Arc<str> {
        let name = segment_name(self.active.first);
        let cause: Arc<str> = format!("{doing} {name} failed: {error}").into();
        tracing::error!(%cause, "the log takes no more appends");
        self.poisoned = Some(cause.clone());
        cause
    }

    /// Says on the disk that all before this is durable. For when the log falls idle: rot in the
    /// last frame can then be told from what a crash leaves.
    pub fn mark_idle(&mut self) -> Result<(), AppendError> {
        match self.last {
            Some(FrameKind::Commits) if self.usable().is_ok() => self.mark(FrameKind::IdleMark),
            _ => Ok(()),
        }
    }

    /// Ends the log cleanly: a mark, and the file cut to its end.
    pub fn close(&mut self) -> Result<(), AppendError> {
        self.usable()?;
        // A file that already ends with its last frame ends with a mark.
        if self.allocated > self.end {
            if self.last != Some(FrameKind::CloseMark) {
                self.mark(FrameKind::CloseMark)?;
            }
            self.cut()?;
        }
        self.closed = true;
        Ok(())
    }

    fn mark(&mut self, kind: FrameKind) -> Result<(), AppendError> {
        // Reserved after every frame of commits, but not in a file that was closed.
        self.make_room((MARK_FRAME + OPEN_ZEROS) as u64)?;
        self.settle();
        let bytes = frame::mark(self.place(), kind);
        if let Err(error) = self.write_synced(&bytes) {
            let cause = self.poison("writing a mark to", &error);
            return Err(AppendError::Poisoned { cause });
        }
        self.chain = frame::hash(&bytes);
        self.end += bytes.len() as u64;
        self.last = Some(kind);
        self.active.set_durable(self.end);
        Ok(())
    }

    /// Cuts the active segment's file to the end of its last frame.
    fn cut(&mut self) -> Result<(), AppendError> {
        let file = &self.active.file;
        if let Err(error) = file.set_len(self.end).and_then(|()| file.sync()) {
            let cause = self.poison("cutting", &error);
            return Err(AppendError::Poisoned { cause });
        }
        self.allocated = self.end;
        Ok(())
    }

    /// Seals the active segment and goes on in a new one. What fails for want of space is done
    /// again by the next append.
    fn roll(&mut self) -> Result<(), AppendError> {
        let sealed = match self.sealed {
            Some(sealed) => sealed,
            None => self.seal()?,
        };
        let header = SegmentHeader {
            log: self.store.log,
            first: sealed.next,
            created: sealed.time,
            chain: sealed.chain,
        };
        let segment = match create_segment(&self.store.disk, &header, self.options) {
            Ok(segment) => Arc::new(segment),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                return Err(self.disk_full());
            }
            Err(error) => {
                let cause = self.poison("starting the segment after", &error);
                return Err(AppendError::Poisoned { cause });
            }
        };
        if let Err(error) = self.hand_over(&segment, sealed) {
            let cause = self.poison("indexing", &io::Error::other(error));
            return Err(AppendError::Poisoned { cause });
        }
        self.active = segment;
        self.end = SEGMENT_HEADER as u64;
        self.allocated = self.options.preallocated();
        self.last = None;
        self.sealed = None;
        Ok(())
    }

    fn seal(&mut self) -> Result<Sealed, AppendError> {
        self.mark(FrameKind::SealMark)?;
        self.cut()?;
        let (next, chain, time, length) = (self.next, self.chain, self.time, self.end);
        let sealed = Sealed { next, chain, time, length };
        self.sealed = Some(sealed);
        Ok(sealed)
    }

    fn hand_over(&self, segment: &Arc<Segment<D::File>>, sealed: Sealed) -> Result<(), ReadError> {
        // Under one lock, so that a reader finds the segment in the tail or in the index.
        self.store.index.make_room();
        let mut tail = self.store.tail_mut();
        let held = std::mem::replace(&mut *tail, SegmentIndex::new(segment.first));
        let held = Arc::new(held);
        if let Err(error) = self.store.index.seal(&held, sealed) {
            *tail = Arc::unwrap_or_clone(held);
            return Err(error);
        }
        drop(tail);
        self.store.add_segment(segment.clone());
        self.active.set_sealed();
        Ok(())
    }
}

impl Draft {
    /// Whether it should take no further commit.
    pub fn is_full(&self) -> bool {
        self.buffer.len() >= FRAME_BODY
    }
}

impl Pending {
    /// The answer to a commit of a frame that could not be written.
    fn fail(&self, answer: &mut Result<Receipt, AppendError>, error: &AppendError) {
        *answer = match (&*answer, error) {
            // It repeats what an earlier frame made durable.
            (Ok(receipt), _) if !self.operations.contains_key(&receipt.operation) => return,
            (Ok(_), error) => Err(error.clone()),
            // It was refused for what the frame would have made true.
            (Err(_), AppendError::OutcomeUnknown { cause }) => {
                Err(AppendError::Poisoned { cause: cause.clone() })
            }
            (Err(_), error) => Err(error.clone()),
        };
    }
}

/// Creates a segment under a temporary name and renames it, so that a segment is never there
/// without its header.
pub(super) fn create_segment<D: Disk>(
    disk: &D,
    header: &SegmentHeader,
    options: Options,
) -> io::Result<Segment<D::File>> {
    let name = segment_name(header.first);
    let temporary = format!("{name}{TEMPORARY_SUFFIX}");
    let file = disk.create(&temporary)?;
    let made = file
        .allocate(options.preallocated())
        .and_then(|()| file.write_at(&header.encode(), 0))
        .and_then(|()| file.sync());
    if let Err(error) = made {
        // What is left of it is swept away at the next opening.
        let _swept = disk.remove(&temporary);
        return Err(error);
    }
    disk.rename(&temporary, &name)?;
    disk.sync_folder()?;
    Ok(Segment::new(header.first, file, SEGMENT_HEADER as u64))
}

/// The new log's first segment.
pub(super) fn first_header(log: LogId, now: Timestamp) -> SegmentHeader {
    SegmentHeader { log, first: Position(1), created: now, chain: [0; 32] }
}

const _: () = assert!(FRAME_HEADER < FRAME_BODY);
