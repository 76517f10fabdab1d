//! Salvage: what can be kept of a damaged log, in a new folder. The damaged one is only read.
//!
//! What is kept is the longest beginning of the log that is right: every frame from the first on,
//! byte for byte, up to the first one that can't be read. Nothing gets another position or
//! revision, every hash stays true, and the new log opens, verifies and goes on from there. Behind
//! a lost frame nothing can be kept, however good it is: its positions and revisions would not
//! follow on, and its decisions may have relied on what is lost. It is reported, and each of its
//! events that can be read is shown, so that a person can bring it in again as new.
//!
//! What holds no events doesn't end the beginning where it can be made again:
//!
//! * a segment is recognised by its header, so that one under another's name is found;
//! * a damaged segment header is made again, if the frames behind it continue the log;
//! * a damaged mark is made again, if what follows has its hash.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::backup::{create, is_same, must_be_empty};
use super::commit_bytes::Checksums;
use super::copy::{Copies, Draft, WriteFailed, mark};
use super::disk::{Disk, DiskFile, read_full};
use super::format::{
    Chain, FRAME_HEADER, Fields, FrameHeader, FrameKind, SEGMENT_HEADER, SegmentHeader,
    segment_first, segment_name,
};
use super::frame::{Frame, FrameCommit};
use super::open::{judge_tail, must_be_sealed};
use super::scan::{Ending, Progress, read_header, scan, valid_frame_after};
use super::verify::Revisions;
use super::{FileDisk, LOG_FOLDER, LockError, OpenError};
use crate::log::Recorded;
use crate::{LogId, Position, Timestamp};

/// What was kept of a log, and what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// The log's id, which the new log has too.
    pub log: LogId,
    /// The position of the last event that was kept. If it is 0, there is no new log.
    pub head: Position,
    /// BLAKE3 of the last frame that was kept.
    pub head_hash: [u8; 32],
    /// How many segments the new log has.
    pub segments: u64,
    /// How many commits were kept.
    pub commits: u64,
    /// What was made again: segment headers, names, marks.
    pub mended: Vec<Mended>,
    /// What ended it; `None` if all of the log was kept.
    pub damage: Option<Damage>,
    /// What could be read behind the damage.
    pub behind: Behind,
}

/// Something without events that was damaged, and made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The segment's file name.
    pub segment: String,
    /// Where in it, in bytes.
    pub offset: u64,
    /// What it was.
    pub what: &'static str,
}

/// The place that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The segment's file name.
    pub segment: String,
    /// Where in it, in bytes.
    pub offset: u64,
    /// What is wrong there.
    pub reason: String,
}

/// Good frames that could not be kept, since something before them is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// How many frames with events, or commits without.
    pub frames: u64,
    /// Their commits.
    pub commits: u64,
    /// Their events.
    pub events: u64,
    /// The lowest position among them.
    pub first: Option<Position>,
    /// The highest position among them.
    pub last: Option<Position>,
}

/// Why nothing was salvaged.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// There is nothing that looks like a segment.
    #[error("there is no log in this folder")]
    NoLog,
    /// There is a log already where the new one was to be.
    #[error("there is {what} already; choose a folder without a log")]
    NotEmpty {
        /// What is there.
        what: String,
    },
    /// The new folder must be another one.
    #[error("a damaged log is never changed; choose another folder for what is kept of it")]
    SameFolder,
    /// Another process is writing to the new folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The disk refused.
    #[error("{what} failed")]
    Io {
        /// What was tried.
        what: String,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
}

/// Copies what can be kept of the log in the folder `from` into the folder `to`, which must have
/// no log and no index, and is made if it is not there. `behind` sees each event that can be read
/// and not be kept, in the order of the files. No process should be writing the log.
///
/// # Errors
///
/// [`SalvageError`]; `to` then has no log.
pub fn salvage(
    from: &Path,
    to: &Path,
    behind: &mut dyn FnMut(&Recorded),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Salvaged, SalvageError> {
    if is_same(from, to) {
        return Err(SalvageError::SameFolder);
    }
    let segments = from.join(LOG_FOLDER);
    if !segments.is_dir() {
        return Err(SalvageError::NoLog);
    }
    must_be_empty(to).map_err(|what| SalvageError::NotEmpty { what })?;
    let target = create(to)?;
    let _lock = target.lock()?;
    salvage_disk(&FileDisk::existing(&segments), &target, behind, progress)
}

/// The same from disk to disk.
pub(super) fn salvage_disk<S: Disk, T: Disk>(
    source: &S,
    target: &T,
    behind: &mut dyn FnMut(&Recorded),
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Salvaged, SalvageError> {
    let files = Files::open(source)?;
    let mut salvager = Salvager::new(&files, Copies::begin(target)?, progress);
    salvager.keep_all()?;
    salvager.look_behind(behind)?;
    let Salvager { copies, mut salvaged, .. } = salvager;
    if salvaged.head > Position::START {
        copies.publish()?;
    } else {
        salvaged.segments = 0;
    }
    Ok(salvaged)
}

/// A file that is called like a segment.
struct Candidate<F> {
    name: String,
    file: F,
    length: u64,
    /// If it can be read.
    header: Option<SegmentHeader>,
}

struct Files<F> {
    /// In the order of their names.
    candidates: Vec<Candidate<F>>,
    log: LogId,
    total: u64,
}

impl<F: DiskFile> Files<F> {
    fn open<D: Disk<File = F>>(disk: &D) -> Result<Files<F>, SalvageError> {
        let mut names = disk.list().map_err(|source| io_error("the folder", source))?;
        names.retain(|name| segment_first(name).is_some());
        names.sort();
        let mut candidates = Vec::with_capacity(names.len());
        for name in names {
            let io = |source| io_error(&name, source);
            let file = disk.open(&name, false).map_err(io)?;
            let length = file.len().map_err(io)?;
            let header = read_header(&file).map_err(io)?.ok();
            candidates.push(Candidate { name, file, length, header });
        }
        let log = which_log(&candidates)?.ok_or(SalvageError::NoLog)?;
        let total = candidates.iter().map(|candidate| candidate.length).sum();
        Ok(Files { candidates, log, total })
    }
}

/// The id that most headers have; if none can be read, the one that a first frame has.
fn which_log<F: DiskFile>(candidates: &[Candidate<F>]) -> Result<Option<LogId>, SalvageError> {
    let ids = candidates.iter().filter_map(|candidate| Some(candidate.header?.log));
    let count = |log: LogId| ids.clone().filter(|id| *id == log).count();
    // Of equals, the last is the greatest, and here that is the first by name.
    if let Some(log) = ids.clone().rev().max_by_key(|log| count(*log)) {
        return Ok(Some(log));
    }
    for candidate in candidates {
        let mut start = vec![0; FRAME_HEADER];
        let filled = read_full(&candidate.file, &mut start, SEGMENT_HEADER as u64);
        filled.map_err(|source| io_error(&candidate.name, source))?;
        let mut fields = Fields(&start);
        let id = fields.take(8).and_then(|_| fields.uuid()).map(LogId);
        let offset = SEGMENT_HEADER as u64;
        if let Some(log) = id.filter(|log| FrameHeader::decode(&start, *log, offset).is_ok()) {
            return Ok(Some(log));
        }
    }
    Ok(None)
}

struct Salvager<'a, F, T: Disk> {
    files: &'a Files<F>,
    /// Which candidates were kept, and up to where in bytes.
    kept: Vec<Option<u64>>,
    copies: Copies<'a, T>,
    tell: &'a mut dyn FnMut(u64, u64),
    done: u64,
    next: Position,
    chain: Chain,
    time: Timestamp,
    revisions: Revisions,
    salvaged: Salvaged,
}

/// How keeping a segment ended.
enum Kept {
    /// At its seal: another may follow.
    Sealed,
    /// Elsewhere.
    Stopped(Ending),
}

impl<'a, F: DiskFile, T: Disk> Salvager<'a, F, T> {
    fn new(
        files: &'a Files<F>,
        copies: Copies<'a, T>,
        tell: &'a mut dyn FnMut(u64, u64),
    ) -> Salvager<'a, F, T> {
        let salvaged = Salvaged {
            log: files.log,
            head: Position::START,
            head_hash: [0; 32],
            segments: 0,
            commits: 0,
            mended: Vec::new(),
            damage: None,
            behind: Behind::default(),
        };
        Salvager {
            files,
            kept: files.candidates.iter().map(|_| None).collect(),
            copies,
            tell,
            done: 0,
            next: Position(1),
            chain: [0; 32],
            time: Timestamp::default(),
            revisions: Revisions::default(),
            salvaged,
        }
    }

    /// Keeps segment after segment, until one is missing or ends without its seal.
    fn keep_all(&mut self) -> Result<(), SalvageError> {
        while let Some((index, header)) = self.find_next()? {
            if self.keep(index, &header)?.is_break() {
                return Ok(());
            }
        }
        if self.kept.iter().any(Option::is_none) {
            let reason = "the segment is missing, or it is not the one that belongs here";
            let (segment, reason) = (segment_name(self.next), reason.to_owned());
            self.salvaged.damage = Some(Damage { segment, offset: 0, reason });
        }
        Ok(())
    }

    /// The file that continues what was kept, with its header as it is or as it must have been.
    fn find_next(&mut self) -> Result<Option<(usize, SegmentHeader)>, SalvageError> {
        let (log, first, chain) = (self.files.log, self.next, self.chain);
        let name = segment_name(first);
        let candidates = self.files.candidates.iter().zip(&self.kept).enumerate();
        let unused = candidates.filter(|(_, (_, kept))| kept.is_none());
        let unused = unused.map(|(index, (candidate, _))| (index, candidate));
        let says_so = unused.clone().find_map(|(index, candidate)| {
            let header = candidate.header?;
            let continues = (header.log, header.first, header.chain) == (log, first, chain);
            continues.then_some((index, candidate, header))
        });
        if let Some((index, candidate, header)) = says_so {
            if candidate.name != name {
                let what = "its name, which was another segment's";
                self.salvaged.mended.push(Mended { segment: name, offset: 0, what });
            }
            return Ok(Some((index, header)));
        }
        for (index, candidate) in unused.filter(|(_, candidate)| candidate.name == name) {
            let header = SegmentHeader { log, first, created: self.time, chain };
            let mut start = vec![0; FRAME_HEADER];
            let filled = read_full(&candidate.file, &mut start, SEGMENT_HEADER as u64);
            filled.map_err(|source| io_error(&name, source))?;
            let frame = FrameHeader::decode(&start, log, SEGMENT_HEADER as u64);
            if frame.is_ok_and(|frame| (frame.first, frame.chain) == (first, chain)) {
                let what = "its header";
                self.salvaged.mended.push(Mended { segment: name, offset: 0, what });
                return Ok(Some((index, header)));
            }
        }
        Ok(None)
    }

    /// Keeps one segment as far as it goes; a break if nothing can follow it.
    fn keep(
        &mut self,
        index: usize,
        header: &SegmentHeader,
    ) -> Result<ControlFlow<()>, SalvageError> {
        let Some(candidate) = self.files.candidates.get(index) else {
            return Ok(ControlFlow::Break(()));
        };
        let mut draft = self.copies.draft(header)?;
        let mut progress = Progress::start(header, self.time);
        let ended = self.keep_frames(candidate, &mut progress, &mut draft)?;
        draft.close(header.log, &progress)?;
        if let Some(kept) = self.kept.get_mut(index) {
            *kept = Some(progress.offset);
        }
        self.done += candidate.length;
        (self.tell)(self.done, self.files.total);
        (self.next, self.chain, self.time) = (progress.next, progress.chain, progress.time);
        self.salvaged.segments += 1;
        self.salvaged.head = Position(progress.next.0.saturating_sub(1));
        self.salvaged.head_hash = progress.chain;
        let Kept::Stopped(ending) = ended else { return Ok(ControlFlow::Continue(())) };
        let is_last = self.kept.iter().all(Option::is_some);
        let judged = if is_last {
            judge_tail(&candidate.file, header.log, &ending, &progress, header.first).map(|_| ())
        } else {
            must_be_sealed(&ending, &progress, header.first).map(|_| ())
        };
        match judged {
            Ok(()) => {}
            Err(OpenError::Corrupt { offset, reason, .. }) => {
                let segment = candidate.name.clone();
                self.salvaged.damage = Some(Damage { segment, offset, reason });
            }
            Err(OpenError::Io { what, source }) => return Err(SalvageError::Io { what, source }),
            Err(other) => return Err(io_error(&candidate.name, io::Error::other(other))),
        }
        Ok(ControlFlow::Break(()))
    }

    fn keep_frames(
        &mut self,
        candidate: &Candidate<F>,
        progress: &mut Progress,
        draft: &mut Draft<T::File>,
    ) -> Result<Kept, SalvageError> {
        loop {
            let mut failure = None;
            let (mut commits, total, done) = (0, self.files.total, self.done);
            let tell = &mut *self.tell;
            let log = self.files.log;
            let revisions = &mut self.revisions;
            let visit = &mut |frame: &Frame, held: Vec<FrameCommit>| {
                for commit in &held {
                    revisions.follow(commit)?;
                    commit.records(Checksums::Compare).try_for_each(|record| record.map(|_| ()))?;
                }
                commits += held.len() as u64;
                tell(done + frame.end(), total);
                draft.push(frame.bytes()).map_err(|error| {
                    failure = Some(error);
                    "it could not be copied".to_owned()
                })
            };
            let ending = scan(&candidate.file, log, Checksums::Compare, progress, visit);
            let ending = ending.map_err(|source| io_error(&candidate.name, source))?;
            self.salvaged.commits += commits;
            if let Some(error) = failure {
                return Err(error.into());
            }
            let sealed = progress.last == Some(FrameKind::SealMark);
            if sealed && matches!(ending, Ending::Cut | Ending::Zeros) {
                return Ok(Kept::Sealed);
            }
            if !matches!(ending, Ending::Bad(_)) || !self.mend_mark(candidate, progress, draft)? {
                return Ok(Kept::Stopped(ending));
            }
        }
    }

    /// Makes the mark again that must have been here, if what follows has its hash.
    fn mend_mark(
        &mut self,
        candidate: &Candidate<F>,
        progress: &mut Progress,
        draft: &mut Draft<T::File>,
    ) -> Result<bool, SalvageError> {
        let log = self.files.log;
        for kind in [FrameKind::IdleMark, FrameKind::SealMark, FrameKind::CloseMark] {
            let (bytes, chain) = mark(log, progress, kind);
            let end = progress.offset + bytes.len() as u64;
            let follows = if kind == FrameKind::SealMark {
                end == candidate.length
                    && self.files.candidates.iter().filter_map(|other| other.header).any(|header| {
                        (header.log, header.first, header.chain) == (log, progress.next, chain)
                    })
            } else {
                let mut start = vec![0; FRAME_HEADER];
                let filled = read_full(&candidate.file, &mut start, end);
                filled.map_err(|source| io_error(&candidate.name, source))?;
                let frame = FrameHeader::decode(&start, log, end);
                frame.is_ok_and(|frame| (frame.first, frame.chain) == (progress.next, chain))
            };
            if follows {
                let (segment, offset) = (candidate.name.clone(), progress.offset);
                self.salvaged.mended.push(Mended { segment, offset, what: "a mark" });
                draft.push(&bytes)?;
                (progress.last_mark, progress.offset) = (progress.offset, end);
                (progress.chain, progress.last) = (chain, Some(kind));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads what is good behind the damage.
    fn look_behind(&mut self, show: &mut dyn FnMut(&Recorded)) -> Result<(), SalvageError> {
        if self.salvaged.damage.is_none() {
            return Ok(());
        }
        for (candidate, kept) in self.files.candidates.iter().zip(&self.kept) {
            let io = |source| io_error(&candidate.name, source);
            // The search begins behind a byte; a frame may begin right where the good ones end.
            let mut from = kept.unwrap_or(SEGMENT_HEADER as u64).saturating_sub(1);
            let behind = &mut self.salvaged.behind;
            while let Some(offset) =
                valid_frame_after(&candidate.file, self.files.log, from).map_err(io)?
            {
                let end = read_from(&candidate.file, self.files.log, offset, behind, show);
                from = end.map_err(io)?.map_or(offset, |end| end - 1);
            }
            if kept.is_none() {
                self.done += candidate.length;
                (self.tell)(self.done, self.files.total);
            }
        }
        Ok(())
    }
}

/// Reads frames from one that is good, as long as each continues the one before it; where the
/// last of them ends, or nothing if even the first can't be read to its last record.
fn read_from(
    file: &impl DiskFile,
    log: LogId,
    offset: u64,
    behind: &mut Behind,
    show: &mut dyn FnMut(&Recorded),
) -> io::Result<Option<u64>> {
    let mut start = vec![0; FRAME_HEADER];
    read_full(file, &mut start, offset)?;
    let Ok(header) = FrameHeader::decode(&start, log, offset) else { return Ok(None) };
    let mut progress = Progress {
        offset,
        chain: header.chain,
        next: header.first,
        time: header.time,
        begun: None,
        last: None,
        last_mark: offset,
    };
    scan(file, log, Checksums::Compare, &mut progress, &mut |frame, commits| {
        let records = commits.iter().flat_map(|commit| commit.records(Checksums::Compare));
        let events = records.collect::<Result<Vec<_>, _>>()?;
        behind.frames += u64::from(!frame.header.kind.is_mark());
        behind.commits += commits.len() as u64;
        for (_, event) in &events {
            behind.events += 1;
            behind.first = Some(behind.first.map_or(event.position, |at| at.min(event.position)));
            behind.last = behind.last.max(Some(event.position));
            show(event);
        }
        Ok(())
    })?;
    Ok((progress.offset > offset).then_some(progress.offset))
}

fn io_error(what: &str, source: io::Error) -> SalvageError {
    SalvageError::Io { what: format!("reading {what}"), source }
}

impl From<WriteFailed> for SalvageError {
    fn from(failed: WriteFailed) -> SalvageError {
        SalvageError::Io { what: failed.what, source: failed.source }
    }
}
