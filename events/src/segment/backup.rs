//! Backups: online, incremental, and whole or not there.
//!
//! A backup is a folder with a log in it, like the one that it was made of: its segments are in
//! the subfolder [`LOG_FOLDER`], and it opens, verifies and reads like any log. It holds what was
//! durable when it was made, byte for byte, and ends like a log that was closed: with a close mark
//! after the last frame, unless there is one. So every later change of the backup is seen as
//! damage. That mark is the backup's own; the frames before it, and their hashes, are the log's.
//!
//! Sealed segments never change. A backup into a folder that has one copies those segments that it
//! doesn't have yet, and the active one, whose place in the backup the new copy takes. What the
//! folder has must be a beginning of the log; otherwise nothing is touched.
//!
//! A copy gets its name when all are written and synced, the oldest last. Until then the folder
//! holds the backup that it held before, or a log that lacks a segment and doesn't open. Whatever
//! interrupts a backup, the next one goes on from there.

use std::io;
use std::path::Path;

use super::commit_bytes::Checksums;
use super::copy::{Copies, Draft, End, WriteFailed};
use super::disk::{Disk, DiskFile, read_full};
use super::format::{
    FrameHeader, FrameKind, MARK_FRAME, SegmentHeader, segment_first, segment_name,
};
use super::frame::Frame;
use super::index::Sealed;
use super::live::{make_durable, read_last, segments_now};
use super::open::{Walk, corrupt, judge_tail, must_be_sealed, reading, segment_firsts};
use super::scan::{Progress, read_header, scan};
use super::{FileDisk, INDEX_FOLDER, LOG_FOLDER, LockError, OpenError, VerifyError};
use crate::{LogId, Position, Timestamp};

/// What a backup, or a restore, copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The log's id.
    pub log: LogId,
    /// The position of the last event in it.
    pub head: Position,
    /// BLAKE3 of the last frame that was copied: a hash of the log's own chain, which
    /// [`Demands::head`](super::Demands::head) finds in the log and in the copy.
    pub head_hash: [u8; 32],
    /// How many segments the copy has now.
    pub segments: u64,
    /// How many of them were written just now.
    pub copied_segments: u64,
    /// How many bytes were written just now.
    pub copied_bytes: u64,
}

/// Why there is no new backup, or nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// What was to be copied can't be read, or is damaged.
    #[error("the log can't be copied")]
    Log(#[source] VerifyError),
    /// What the folder of the backup holds can't be read, or is damaged. It was left as it is.
    #[error("nothing can be added to the earlier backup; make a new one in another folder")]
    Earlier(#[source] VerifyError),
    /// What the folder of the backup holds is no beginning of this log. It was left as it is.
    #[error(
        "{segment} of the earlier backup is not of this log from byte {offset} on; make a new one in another folder"
    )]
    Diverged {
        /// The segment's file name.
        segment: String,
        /// From where on they differ, in bytes; or the end of what they should have in common.
        offset: u64,
    },
    /// There is a log already where one was to be restored.
    #[error("there is {what} already; choose a folder without a log")]
    NotEmpty {
        /// What is there.
        what: String,
    },
    /// The folder was to be copied to itself.
    #[error("a folder can't be copied to itself; choose another")]
    SameFolder,
    /// Another process is writing to the folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The copy could not be written.
    #[error("{what} failed")]
    Write {
        /// What was tried.
        what: String,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
}

/// Backs up the log in the folder `from` into the folder `to`, which is made if it is not there.
/// Another process may be writing the log. `progress` is told the bytes that are done, and those
/// there are.
///
/// # Errors
///
/// [`BackupError`]; `to` then has the backup that it had. If its last step was interrupted, it
/// has one that doesn't open, until a backup succeeds.
pub fn backup(
    from: &Path,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, BackupError> {
    let source = existing(from, to)?;
    let target = create(to)?;
    let _lock = target.lock()?;
    copy_new(&source, &target, progress)
}

/// Restores the backup in the folder `from` into the folder `to`, which must have no log and no
/// index, and is made if it is not there. Every frame that is copied is checked, and the chain of
/// hashes from the first to the last.
///
/// # Errors
///
/// [`BackupError`]; `to` then has no log. If its last step was interrupted, it has one that
/// doesn't open: remove it, and restore again.
pub fn restore(
    from: &Path,
    to: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, BackupError> {
    let source = existing(from, to)?;
    must_be_empty(to).map_err(|what| BackupError::NotEmpty { what })?;
    let target = create(to)?;
    let _lock = target.lock()?;
    copy_new(&source, &target, progress)
}

/// The log in a folder, which must be there and be another one than `to`.
fn existing(from: &Path, to: &Path) -> Result<FileDisk, BackupError> {
    if is_same(from, to) {
        return Err(BackupError::SameFolder);
    }
    let segments = from.join(LOG_FOLDER);
    if !segments.is_dir() {
        return Err(BackupError::Log(VerifyError::NoLog));
    }
    Ok(FileDisk::existing(&segments))
}

pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// The folder for a copy, made durably.
pub(super) fn create(to: &Path) -> Result<FileDisk, WriteFailed> {
    let made = FileDisk::create(to).and_then(|_| FileDisk::create(&to.join(LOG_FOLDER)));
    made.map_err(|source| WriteFailed { what: format!("making {}", to.display()), source })
}

/// Whether nothing is in the way of a new log in a folder; otherwise what is.
pub(super) fn must_be_empty(to: &Path) -> Result<(), String> {
    let names = FileDisk::existing(&to.join(LOG_FOLDER)).list().unwrap_or_default();
    if names.iter().any(|name| segment_first(name).is_some()) {
        return Err(format!("a log in {}", to.display()));
    }
    let index = to.join(INDEX_FOLDER);
    if index.exists() { Err(format!("an index in {}", index.display())) } else { Ok(()) }
}

/// Copies what the target doesn't have yet.
pub(super) fn copy_new<S: Disk, T: Disk>(
    source: &S,
    target: &T,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, BackupError> {
    let listing = |source| VerifyError::Io { what: "listing the folder".to_owned(), source };
    let firsts = segments_now(source).map_err(|error| BackupError::Log(listing(error)))?;
    let Some(last) = firsts.last().copied() else {
        return Err(BackupError::Log(VerifyError::NoLog));
    };
    let present = segment_firsts(target).map_err(|error| BackupError::Earlier(listing(error)))?;
    if let Some(foreign) = present.iter().find(|first| !firsts.contains(first)) {
        return Err(BackupError::Diverged { segment: segment_name(*foreign), offset: 0 });
    }
    let mut total = 0;
    for first in &firsts {
        let file = source.open(&segment_name(*first), false);
        let length = file.and_then(|file| file.len()).map_err(|error| log_io(*first, error))?;
        total += length;
    }
    let copies = Copies::begin(target)?;
    let walk = Walk { log: None, expected: None, time: Timestamp::default() };
    let copied = Copied {
        log: LogId(uuid::Uuid::nil()),
        head: Position::START,
        head_hash: [0; 32],
        segments: firsts.len() as u64,
        copied_segments: 0,
        copied_bytes: 0,
    };
    let mut copier = Copier { source, target, copies, walk, present, total, done: 0, copied };
    for first in firsts {
        copier.segment(first, first == last, progress)?;
    }
    copier.copies.publish()?;
    Ok(copier.copied)
}

struct Copier<'a, S: Disk, T: Disk> {
    source: &'a S,
    target: &'a T,
    copies: Copies<'a, T>,
    walk: Walk,
    /// The segments that the target has.
    present: Vec<Position>,
    total: u64,
    done: u64,
    copied: Copied,
}

/// What the target has of a segment, and the source must have too.
struct Earlier {
    /// Up to here, without a close mark that may be the backup's own.
    common: End,
    /// All of it.
    whole: End,
}

impl<S: Disk, T: Disk> Copier<'_, S, T> {
    fn segment(
        &mut self,
        first: Position,
        is_last: bool,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<(), BackupError> {
        let name = segment_name(first);
        let file = self.source.open(&name, false).map_err(|error| log_io(first, error))?;
        let header = self.walk.header(&file, first).map_err(log_error)?;
        self.copied.log = header.log;
        let mut earlier = None;
        if self.present.contains(&first) {
            let io = |error| earlier_error(OpenError::Io { what: reading(first), source: error });
            let held = self.target.open(&name, false).map_err(io)?;
            if !is_last && let Some(sealed) = same_sealed(&file, &held, &header).map_err(io)? {
                self.walk.time = sealed.time;
                self.walk.expected = Some(sealed);
                self.done += sealed.length;
                tell(self.done, self.total);
                return Ok(());
            }
            earlier = Some(Earlier::read(&held, &header, self.walk.time)?);
        }
        let mut draft = self.copies.draft(&header)?;
        let progress = self.copy(&file, &header, is_last, &earlier, &mut draft, tell)?;
        let end = draft.close(header.log, &progress)?;
        if is_last {
            make_durable(&file, first).map_err(log_error)?;
            self.copied.head = Position(progress.next.0.saturating_sub(1));
            self.copied.head_hash = progress.chain;
        }
        self.walk.time = progress.time;
        self.done += progress.offset;
        tell(self.done, self.total);
        if earlier.is_some_and(|earlier| earlier.whole == end) {
            return Ok(self.copies.discard()?);
        }
        self.copied.copied_segments += 1;
        self.copied.copied_bytes += end.offset;
        Ok(())
    }

    /// Copies the frames of one segment.
    fn copy(
        &mut self,
        file: &S::File,
        header: &SegmentHeader,
        is_last: bool,
        earlier: &Option<Earlier>,
        draft: &mut Draft<T::File>,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Progress, BackupError> {
        let mut progress = Progress::start(header, self.walk.time);
        let mut is_common = earlier.is_none();
        let mut failure = None;
        let common = earlier.as_ref().map(|earlier| earlier.common);
        let mut visit = |frame: &Frame, _: Vec<_>| {
            let before = End { offset: frame.header.offset, chain: frame.header.chain };
            is_common |= common == Some(before);
            tell(self.done + frame.end(), self.total);
            draft.push(frame.bytes()).map_err(|error| {
                failure = Some(error);
                "it could not be copied".to_owned()
            })
        };
        let trust = Checksums::Trust;
        let read = if is_last {
            read_last(file, header.first, header.log, trust, &mut progress, &mut visit).map(|_| ())
        } else {
            let ending = scan(file, header.log, trust, &mut progress, &mut visit);
            ending
                .map_err(|error| OpenError::Io { what: reading(header.first), source: error })
                .and_then(|ending| must_be_sealed(&ending, &progress, header.first))
                .map(|sealed| self.walk.expected = Some(sealed))
        };
        if let Some(error) = failure {
            return Err(error.into());
        }
        read.map_err(log_error)?;
        is_common |= common == Some(End { offset: progress.offset, chain: progress.chain });
        match common {
            Some(end) if !is_common => {
                let segment = segment_name(header.first);
                Err(BackupError::Diverged { segment, offset: end.offset })
            }
            _ => Ok(progress),
        }
    }
}

impl Earlier {
    fn read(
        file: &impl DiskFile,
        header: &SegmentHeader,
        time: Timestamp,
    ) -> Result<Earlier, BackupError> {
        let first = header.first;
        let io = |source| earlier_error(OpenError::Io { what: reading(first), source });
        let held = read_header(file).map_err(io)?;
        let held = held.map_err(|reason| earlier_error(corrupt(first, 0, reason)))?;
        if held != *header {
            return Err(BackupError::Diverged { segment: segment_name(first), offset: 0 });
        }
        let mut progress = Progress::start(header, time);
        let mut before_last = None;
        let ending = scan(file, header.log, Checksums::Trust, &mut progress, &mut |frame, _| {
            let before = End { offset: frame.header.offset, chain: frame.header.chain };
            before_last = Some(before);
            Ok(())
        });
        let ending = ending.map_err(io)?;
        judge_tail(file, header.log, &ending, &progress, first).map_err(earlier_error)?;
        let whole = End { offset: progress.offset, chain: progress.chain };
        let common = match (progress.last, before_last) {
            (Some(FrameKind::CloseMark), Some(before)) => before,
            _ => whole,
        };
        Ok(Earlier { common, whole })
    }
}

/// How a sealed segment ends that the target has as the source has it: the same header, and the
/// same seal at the same place, which carries the hash of all before it.
fn same_sealed(
    source: &impl DiskFile,
    held: &impl DiskFile,
    header: &SegmentHeader,
) -> io::Result<Option<Sealed>> {
    if read_header(held)?.as_ref() != Ok(header) {
        return Ok(None);
    }
    let length = held.len()?;
    let Some(offset) = length.checked_sub(MARK_FRAME as u64) else { return Ok(None) };
    let mut seals = [[0; MARK_FRAME]; 2];
    let [ours, theirs] = &mut seals;
    read_full(held, ours, offset)?;
    read_full(source, theirs, offset)?;
    let [ours, theirs] = seals;
    let seal = FrameHeader::decode(&ours, header.log, offset).ok();
    let seal = seal.filter(|seal| ours == theirs && seal.kind == FrameKind::SealMark);
    Ok(seal.map(|seal| Sealed {
        next: seal.first,
        chain: *blake3::hash(&ours).as_bytes(),
        time: seal.time,
        length,
    }))
}

fn log_io(first: Position, source: io::Error) -> BackupError {
    log_error(OpenError::Io { what: reading(first), source })
}

fn log_error(error: OpenError) -> BackupError {
    BackupError::Log(error.into())
}

fn earlier_error(error: OpenError) -> BackupError {
    BackupError::Earlier(error.into())
}

impl From<WriteFailed> for BackupError {
    fn from(failed: WriteFailed) -> BackupError {
        BackupError::Write { what: failed.what, source: failed.source }
    }
}
