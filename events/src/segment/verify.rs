//! Verification: every byte of every segment, beside a running server or without one.

use std::collections::HashMap;
use std::io;

use super::OpenError;
use super::commit_bytes::Checksums;
use super::disk::{Disk, DiskFile};
use super::format::{Chain, segment_name};
use super::frame::{Frame, FrameCommit};
use super::live::{make_durable, read_last, segments_now};
use super::open::{Walk, must_be_sealed, reading};
use super::scan::{Progress, scan};
use crate::log::Recorded;
use crate::{LogId, Position, Revision, StreamId, Timestamp};

/// What a log that was verified has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its id.
    pub log: LogId,
    /// Its segments.
    pub segments: u64,
    /// Its frames, marks included.
    pub frames: u64,
    /// Its commits.
    pub commits: u64,
    /// Its events, which is the position of the last one.
    pub events: u64,
    /// The bytes that were read.
    pub bytes: u64,
    /// The streams that have events.
    pub streams: u64,
    /// The time of the last frame.
    pub time: Timestamp,
    /// BLAKE3 of the last frame: the head of the hash chain.
    pub head_hash: [u8; 32],
    /// Where a torn frame begins that the next opening will cut off, or that a running server is
    /// just writing: the offset in the last segment.
    pub torn_at: Option<u64>,
    /// Where the log's head was when [`Demands::head`] was its hash.
    pub demanded_head: Option<Position>,
}

/// What a verification asks for beyond that all bytes are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// The head hash that an earlier verification gave: some frame of the log must have it. So a
    /// tail that was cut off, which leaves a log that is right in itself, is noticed.
    pub head: Option<[u8; 32]>,
    /// The last frame is made durable before the verification ends, so that the hash of it stays
    /// in the log for ever; for a log that another process may be writing.
    pub durable: bool,
}

/// Why a log could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Bytes are not what was written.
    #[error("{segment} is damaged at byte {offset}: {reason}")]
    Corrupt {
        /// The segment's file name.
        segment: String,
        /// Where in it, in bytes: the beginning of the frame that is not right.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The log is right in itself, and the head that was demanded is not in it: what came after
    /// the end was cut off, or this is another log.
    #[error(
        "{segment} ends at byte {offset}, position {head}, and the expected head is nowhere in the log: its end was cut off, or it is another log"
    )]
    HeadMissing {
        /// The last segment's file name.
        segment: String,
        /// Where its last frame ends, in bytes.
        offset: u64,
        /// The position of the last event.
        head: Position,
    },
    /// There is no log.
    #[error("there is no log in this folder")]
    NoLog,
    /// The operating system refused.
    #[error("{what} failed: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Its reason.
        source: io::Error,
    },
}

/// Verifies all that a log has: every checksum, the hash chain, the continuity of positions,
/// revisions and times. `check` sees each event, and its refusal counts as damage; `progress`
/// is told the bytes read so far and those of the whole log. Another process may be writing the
/// log meanwhile: what it had when the verification began is verified, and perhaps more.
///
/// # Errors
///
/// [`VerifyError::Corrupt`] names the first bad place.
pub fn verify<D: Disk>(
    disk: &D,
    check: &mut dyn FnMut(&Recorded) -> Result<(), String>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, VerifyError> {
    verify_with(disk, Demands::default(), check, progress)
}

/// Like [`verify`], and asks for more.
///
/// # Errors
///
/// Those of [`verify`], and [`VerifyError::HeadMissing`].
pub fn verify_with<D: Disk>(
    disk: &D,
    demands: Demands,
    check: &mut dyn FnMut(&Recorded) -> Result<(), String>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Verified, VerifyError> {
    let list = |source| VerifyError::Io { what: "listing the log's folder".to_owned(), source };
    let firsts = segments_now(disk).map_err(list)?;
    let mut files = Vec::with_capacity(firsts.len());
    let mut total = 0;
    for first in firsts {
        let io = |source| VerifyError::Io { what: reading(first), source };
        let file = disk.open(&segment_name(first), false).map_err(io)?;
        total += file.len().map_err(io)?;
        files.push((first, file));
    }
    let Some((last, _)) = files.last() else { return Err(VerifyError::NoLog) };
    let last = *last;
    let mut walk = Walk { log: None, expected: None, time: Timestamp::default() };
    let revisions = Revisions::default();
    let verified = Verified::NOTHING;
    let mut counter = Counter { demands, check, progress, total, revisions, verified };
    let mut end = 0;
    for (first, file) in files {
        end = counter.segment(&mut walk, first, &file, first == last)?;
    }
    let verified = counter.verified;
    if demands.head.is_some() && verified.demanded_head.is_none() {
        let (segment, head) = (segment_name(last), Position(verified.events));
        return Err(VerifyError::HeadMissing { segment, offset: end, head });
    }
    Ok(verified)
}

/// The revisions that streams have reached, which each commit must continue.
#[derive(Default)]
pub(super) struct Revisions(HashMap<StreamId, Revision>);

impl Revisions {
    pub fn follow(&mut self, commit: &FrameCommit) -> Result<(), String> {
        for entry in &commit.head.streams {
            let reached = self.0.entry(entry.stream).or_default();
            if *reached != entry.before {
                let (stream, before) = (entry.stream, entry.before);
                return Err(format!("stream {stream} goes on after {before}, not {reached}"));
            }
            *reached = Revision(reached.0 + u64::from(entry.events));
        }
        Ok(())
    }
}

struct Counter<'a> {
    demands: Demands,
    check: &'a mut dyn FnMut(&Recorded) -> Result<(), String>,
    progress: &'a mut dyn FnMut(u64, u64),
    total: u64,
    revisions: Revisions,
    verified: Verified,
}

impl Verified {
    const NOTHING: Verified = Verified {
        log: LogId(uuid::Uuid::nil()),
        segments: 0,
        frames: 0,
        commits: 0,
        events: 0,
        bytes: 0,
        streams: 0,
        time: Timestamp(0),
        head_hash: [0; 32],
        torn_at: None,
        demanded_head: None,
    };
}

impl Counter<'_> {
    /// One segment; where its last frame ends.
    fn segment<F: DiskFile>(
        &mut self,
        walk: &mut Walk,
        first: Position,
        file: &F,
        is_last: bool,
    ) -> Result<u64, VerifyError> {
        let io = |source| VerifyError::Io { what: reading(first), source };
        let header = walk.header(file, first)?;
        let mut progress = Progress::start(&header, walk.time);
        let mut visit = |frame: &Frame, commits: Vec<FrameCommit>| self.frame(frame, &commits);
        let (log, compare) = (header.log, Checksums::Compare);
        if is_last {
            let torn = read_last(file, first, log, compare, &mut progress, &mut visit)?;
            self.verified.torn_at = torn.then_some(progress.offset);
            if self.demands.durable {
                make_durable(file, first)?;
            }
        } else {
            let ending = scan(file, log, compare, &mut progress, &mut visit).map_err(io)?;
            walk.expected = Some(must_be_sealed(&ending, &progress, first)?);
        }
        walk.time = progress.time;
        self.verified.log = log;
        self.verified.segments += 1;
        self.verified.bytes += file.len().map_err(io)?;
        self.verified.events = progress.next.0.saturating_sub(1);
        self.verified.streams = self.revisions.0.len() as u64;
        self.verified.time = progress.time;
        self.verified.head_hash = progress.chain;
        self.seen_hash(&progress.chain, progress.next);
        Ok(progress.offset)
    }

    /// A frame has this hash, and after it the log goes on at `next`.
    fn seen_hash(&mut self, hash: &Chain, next: Position) {
        if self.demands.head.as_ref() == Some(hash) {
            self.verified.demanded_head = Some(Position(next.0.saturating_sub(1)));
        }
    }

    fn frame(&mut self, frame: &Frame, commits: &[FrameCommit]) -> Result<(), String> {
        self.seen_hash(&frame.header.chain, frame.header.first);
        for commit in commits {
            self.revisions.follow(commit)?;
            for record in commit.records(Checksums::Compare) {
                (self.check)(&record?.1)?;
            }
        }
        self.verified.frames += 1;
        self.verified.commits += commits.len() as u64;
        (self.progress)(self.verified.bytes + frame.end(), self.total);
        Ok(())
    }
}

impl From<OpenError> for VerifyError {
    fn from(error: OpenError) -> VerifyError {
        match error {
            OpenError::Corrupt { segment, offset, reason } => {
                VerifyError::Corrupt { segment, offset, reason }
            }
            OpenError::Io { what, source } => VerifyError::Io { what, source },
            other => {
                VerifyError::Io { what: "verifying".to_owned(), source: io::Error::other(other) }
            }
        }
    }
}
