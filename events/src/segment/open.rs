//! Opening a log: what is there is read, what a crash left is mended, damage is refused.

use std::io;
use std::sync::Arc;

use uuid::Uuid;

use super::commit_bytes::Checksums;
use super::core::{Core, OPEN_ZEROS, Resume, create_segment, first_header};
use super::disk::{Disk, DiskFile, read_full};
use super::format::{FrameKind, SEGMENT_HEADER, SegmentHeader, segment_first, segment_name};
use super::index::{Index, Sealed, SegmentIndex};
use super::scan::{Bad, Ending, Progress, read_header, scan, valid_frame_after};
use super::store::{Segment, Store};
use super::{CutTail, OpenError, Opened, Options, Rebuilt, TEMPORARY_SUFFIX};
use crate::{LogId, Position, Timestamp};

/// How much of the tail is written again at once, in bytes.
const REWRITE_CHUNK: usize = 1024 * 1024;

/// Opens the log on `disk`, or makes one. `now` is the time of its making. `index` is asked for
/// once the last segment was read, which needs none, so that it can be opened meanwhile.
pub(crate) fn open<D: Disk, I: Index>(
    disk: D,
    index: impl FnOnce() -> Result<I, OpenError>,
    options: Options,
    now: Timestamp,
    progress: &mut dyn FnMut(Rebuilt),
) -> Result<(Core<D, I>, Opened), OpenError> {
    // The folder is synced, since the process before may have failed to.
    let swept = sweep(&disk).and_then(|()| disk.sync_folder());
    let listed = swept.and_then(|()| segment_firsts(&disk));
    let mut firsts = listed
        .map_err(|source| OpenError::Io { what: "listing the log's folder".to_owned(), source })?;
    let created = firsts.is_empty();
    if created {
        let header = first_header(LogId(Uuid::now_v7()), now);
        create_segment(&disk, &header, options)
            .map_err(|source| failed("creating", &header, source))?;
        firsts.push(header.first);
    }
    let mut chain = Walk { log: None, expected: None, time: Timestamp::default() };
    let mut segments = Vec::with_capacity(firsts.len());
    let last = firsts.pop().unwrap_or(Position(1));
    let tail = Tail::read(&disk, last)?;
    let index = index()?;
    begin_index(&disk, &index, &firsts, last)?;
    let total = firsts.len();
    for (done, first) in firsts.into_iter().enumerate() {
        let (segment, was_read) = chain.sealed_segment(&disk, &index, first)?;
        segments.push(Arc::new(segment));
        if was_read {
            progress(Rebuilt { segments: done + 1, of: total });
        }
    }
    let (resume, tail, log, cut) = chain.last_segment(tail, last)?;
    segments.push(resume.active.clone());
    let head = Position(resume.next.0.saturating_sub(1));
    let opened = Opened { log, head, segments: segments.len(), created, cut };
    let store = Arc::new(Store::new(disk, index, log, tail, segments, head));
    Ok((Core::new(store, options, resume), opened))
}

/// Lets the index begin, and compares what it knows of sealed segments with those that are there:
/// it learns of a segment when the next one is on the disk.
fn begin_index<D: Disk, I: Index>(
    disk: &D,
    index: &I,
    sealed: &[Position],
    last: Position,
) -> Result<(), OpenError> {
    let first = sealed.first().copied().unwrap_or(last);
    let io = |source| OpenError::Io { what: reading(first), source };
    let file = disk.open(&segment_name(first), false).map_err(io)?;
    let header = read_header(&file).map_err(io)?.map_err(|reason| corrupt(first, 0, reason))?;
    let known = index.begin(header.log).map_err(OpenError::Index)?;
    match known.into_iter().find(|known| sealed.binary_search(known).is_err()) {
        None => Ok(()),
        Some(known) => {
            let reason = "the index knows that another segment followed this one, and it is \
                          missing; if an older backup was restored on purpose, delete the index";
            Err(corrupt(known, 0, reason.to_owned()))
        }
    }
}

/// The first positions of the segments, in order.
pub(super) fn segment_firsts<D: Disk>(disk: &D) -> io::Result<Vec<Position>> {
    let mut firsts: Vec<_> = disk.list()?.iter().filter_map(|name| segment_first(name)).collect();
    firsts.sort_unstable();
    Ok(firsts)
}

/// Removes segments whose making a crash cut short.
fn sweep<D: Disk>(disk: &D) -> io::Result<()> {
    for name in disk.list()? {
        if name.strip_suffix(TEMPORARY_SUFFIX).and_then(segment_first).is_some() {
            disk.remove(&name)?;
        }
    }
    Ok(())
}

fn failed(doing: &str, header: &SegmentHeader, source: io::Error) -> OpenError {
    OpenError::Io { what: format!("{doing} {}", segment_name(header.first)), source }
}

/// The last segment as it was read, before anything was compared with the segments before it.
struct Tail<F> {
    file: F,
    held: SegmentIndex,
    progress: Progress,
    ending: Ending,
}

impl<F: DiskFile> Tail<F> {
    fn read(disk: &impl Disk<File = F>, first: Position) -> Result<Tail<F>, OpenError> {
        let io = |source| OpenError::Io { what: reading(first), source };
        let file = disk.open(&segment_name(first), true).map_err(io)?;
        let header = read_header(&file).map_err(io)?.map_err(|reason| corrupt(first, 0, reason))?;
        let mut held = SegmentIndex::new(first);
        let mut progress = Progress::start(&header, Timestamp::default());
        let ending = scan_into(&file, &header, &mut progress, &mut held).map_err(io)?;
        Ok(Tail { file, held, progress, ending })
    }
}

/// The chain from segment to segment.
pub(super) struct Walk {
    pub log: Option<LogId>,
    /// How the segment before ended.
    pub expected: Option<Sealed>,
    pub time: Timestamp,
}

impl Walk {
    /// The header of the next segment, if it continues the one before.
    pub fn header<F: DiskFile>(
        &mut self,
        file: &F,
        first: Position,
    ) -> Result<SegmentHeader, OpenError> {
        let corrupt = |offset, reason| corrupt(first, offset, reason);
        let header = read_header(file)
            .map_err(|source| OpenError::Io { what: reading(first), source })?
            .map_err(|reason| corrupt(0, reason))?;
        if *self.log.get_or_insert(header.log) != header.log {
            return Err(corrupt(16, format!("the segment belongs to another log, {}", header.log)));
        }
        if header.first != first {
            return Err(corrupt(32, format!("the segment begins at position {}", header.first)));
        }
        let (next, chain) = match &self.expected {
            Some(sealed) => (sealed.next, sealed.chain),
            None => (Position(1), [0; 32]),
        };
        if header.first != next {
            let reason = format!("position {next} should begin here: a segment is missing before");
            return Err(corrupt(32, reason));
        }
        if header.chain != chain {
            return Err(corrupt(48, "the segment doesn't continue the one before it".to_owned()));
        }
        Ok(header)
    }

    /// A segment that is not the last: it must be whole. Whether it had to be read, too.
    fn sealed_segment<D: Disk, I: Index>(
        &mut self,
        disk: &D,
        index: &I,
        first: Position,
    ) -> Result<(Segment<D::File>, bool), OpenError> {
        let io = |source| OpenError::Io { what: reading(first), source };
        let file = disk.open(&segment_name(first), false).map_err(io)?;
        let header = self.header(&file, first)?;
        let length = file.len().map_err(io)?;
        let known = index.sealed(first).map_err(OpenError::Index)?;
        let known = known.filter(|sealed| sealed.length <= length);
        let sealed = match known {
            Some(sealed) => sealed,
            None => {
                let mut held = SegmentIndex::new(first);
                let mut progress = Progress::start(&header, self.time);
                let ending = scan_into(&file, &header, &mut progress, &mut held).map_err(io)?;
                let sealed = must_be_sealed(&ending, &progress, first)?;
                index.make_room();
                index.seal(&Arc::new(held), sealed).map_err(OpenError::Index)?;
                sealed
            }
        };
        self.time = sealed.time;
        self.expected = Some(sealed);
        let segment = Segment::new(first, file, sealed.length);
        segment.set_sealed();
        Ok((segment, known.is_none()))
    }

    /// The last segment: what a crash left at its end is mended.
    #[allow(clippy::type_complexity)]
    fn last_segment<F: DiskFile>(
        &mut self,
        tail: Tail<F>,
        first: Position,
    ) -> Result<(Resume<F>, SegmentIndex, LogId, Option<CutTail>), OpenError> {
        let io = |source| OpenError::Io { what: reading(first), source };
        let Tail { file, held, mut progress, ending } = tail;
        let header = self.header(&file, first)?;
        if progress.begun.is_some_and(|begun| begun < self.time) {
            let reason = "the frame is older than the frame before it".to_owned();
            return Err(corrupt(first, SEGMENT_HEADER as u64, reason));
        }
        progress.time = progress.time.max(self.time);
        let torn = judge_tail(&file, header.log, &ending, &progress, first)?;
        let mut length = file.len().map_err(io)?;
        let cut = if torn {
            Some(wipe(&file, progress.offset, length, first).map_err(io)?)
        } else {
            None
        };
        let is_sealed = progress.last == Some(FrameKind::SealMark);
        // What follows the last mark, and the mark itself, may be in the page cache only; and so
        // may the length of a file that was extended.
        let zeros = length.saturating_sub(progress.offset).min(OPEN_ZEROS as u64);
        file.write_at(&vec![0; zeros as usize], length - zeros).map_err(io)?;
        write_again(&file, progress.last_mark, progress.offset).map_err(io)?;
        if is_sealed && length > progress.offset {
            // After the seal is surely there: a cut without it would be taken for damage.
            file.set_len(progress.offset).and_then(|()| file.sync()).map_err(io)?;
            length = progress.offset;
        }
        let sealed = is_sealed.then_some(Sealed {
            next: progress.next,
            chain: progress.chain,
            time: progress.time,
            length,
        });
        let resume = Resume {
            active: Arc::new(Segment::new(first, file, progress.offset)),
            end: progress.offset,
            allocated: length,
            chain: progress.chain,
            next: progress.next,
            time: progress.time,
            last: progress.last,
            sealed,
        };
        Ok((resume, held, header.log, cut))
    }
}

fn scan_into(
    file: &impl DiskFile,
    header: &SegmentHeader,
    progress: &mut Progress,
    held: &mut SegmentIndex,
) -> io::Result<Ending> {
    scan(file, header.log, Checksums::Trust, progress, &mut |frame, commits| {
        let indexed = commits.iter().map(|commit| commit.indexed(Checksums::Trust));
        let indexed = indexed.collect::<Result<Vec<_>, _>>()?;
        held.add(frame.header.offset, frame.header.first, frame.header.events, &indexed)
    })
}

/// How a segment that is followed by another ended, which must be with a seal.
pub(super) fn must_be_sealed(
    ending: &Ending,
    progress: &Progress,
    first: Position,
) -> Result<Sealed, OpenError> {
    let reason = match ending {
        // Zeros where the cut to the seal did not reach the disk.
        Ending::Cut | Ending::Zeros if progress.last == Some(FrameKind::SealMark) => {
            return Ok(Sealed {
                next: progress.next,
                chain: progress.chain,
                time: progress.time,
                length: progress.offset,
            });
        }
        Ending::Cut => "the segment was cut short: its seal is missing".to_owned(),
        Ending::Zeros => {
            "zeros follow, where the segment's next frame or its end should be".to_owned()
        }
        Ending::Bad(bad) => bad.reason.clone(),
    };
    Err(corrupt(first, progress.offset, reason))
}

/// Whether the last segment ends in a torn frame; an error if it is damaged.
///
/// Only the last frame can be unsynced, since the next is written after its sync. So a bad frame
/// is what a crash left only if nothing valid follows it and the file was open for writing.
pub(super) fn judge_tail(
    file: &impl DiskFile,
    log: LogId,
    ending: &Ending,
    progress: &Progress,
    first: Position,
) -> Result<bool, OpenError> {
    let corrupt = |reason: String| Err(corrupt(first, progress.offset, reason));
    match ending {
        Ending::Zeros => Ok(false),
        Ending::Cut => match progress.last {
            Some(FrameKind::CloseMark | FrameKind::SealMark) => Ok(false),
            _ => corrupt("the file was cut short here: its closing mark is missing".to_owned()),
        },
        Ending::Bad(Bad { reason, can_be_torn: false }) => corrupt(reason.clone()),
        Ending::Bad(Bad { reason, can_be_torn: true }) => {
            let io = |source| OpenError::Io { what: reading(first), source };
            if let Some(offset) = valid_frame_after(file, log, progress.offset).map_err(io)? {
                return corrupt(format!("{reason}, and a good frame follows at byte {offset}"));
            }
            if !was_open(file).map_err(io)? {
                return corrupt(format!("{reason}, in a log that was closed cleanly"));
            }
            Ok(true)
        }
    }
}

/// Whether the file was open for writing: it then ends with zeros.
fn was_open(file: &impl DiskFile) -> io::Result<bool> {
    let mut end = [1; OPEN_ZEROS];
    let length = file.len()?;
    read_full(file, &mut end, length.saturating_sub(OPEN_ZEROS as u64))?;
    Ok(end == [0; OPEN_ZEROS])
}

/// Overwrites a torn frame with zeros. The file is not made shorter: its length tells that it
/// was open.
fn wipe(file: &impl DiskFile, offset: u64, length: u64, first: Position) -> io::Result<CutTail> {
    let zeros = vec![0; REWRITE_CHUNK];
    let mut at = offset;
    while at < length {
        let count = usize::try_from(length - at).unwrap_or(usize::MAX).min(REWRITE_CHUNK);
        file.write_at(zeros.get(..count).unwrap_or(&zeros), at)?;
        at += count as u64;
    }
    file.sync()?;
    let cut = CutTail { segment: segment_name(first), offset, bytes: length - offset };
    tracing::warn!(segment = %cut.segment, offset, bytes = cut.bytes, "cut off a torn frame that was never acknowledged");
    Ok(cut)
}

/// Writes the bytes from `from` to `to` again and syncs them.
fn write_again(file: &impl DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut at = from;
    while at < to {
        let count = usize::try_from(to - at).unwrap_or(usize::MAX).min(REWRITE_CHUNK);
        let mut chunk = vec![0; count];
        let filled = read_full(file, &mut chunk, at)?;
        if filled < count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_at(&chunk, at)?;
        at += count as u64;
    }
    file.sync()
}

pub(super) fn corrupt(first: Position, offset: u64, reason: String) -> OpenError {
    OpenError::Corrupt { segment: segment_name(first), offset, reason }
}

pub(super) fn reading(first: Position) -> String {
    format!("reading {}", segment_name(first))
}
