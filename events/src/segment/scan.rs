//! Reading a segment from its first byte to its last, believing nothing.

use std::io;

use bytes::Bytes;

use super::commit_bytes::Checksums;
use super::disk::{DiskFile, read_vec};
use super::format::{
    Chain, FRAME_HEADER, FRAME_MAGIC, FrameHeader, FrameKind, SEGMENT_HEADER, SegmentHeader,
};
use super::frame::{Frame, FrameCommit};
use crate::{LogId, Position, Timestamp};

/// How much is read at once, in bytes.
const WINDOW: usize = 1024 * 1024;

/// Where the frames of a log have got to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// In the segment, in bytes: the end of the last good frame.
    pub offset: u64,
    pub chain: Chain,
    pub next: Position,
    pub time: Timestamp,
    /// The time of this segment's first frame.
    pub begun: Option<Timestamp>,
    pub last: Option<FrameKind>,
    /// Where the last mark of this segment begins, or its first frame would.
    pub last_mark: u64,
}

/// What comes after the last good frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The end of the file.
    Cut,
    /// Nothing but zeros.
    Zeros,
    /// Something that is not the next frame.
    Bad(Bad),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub reason: String,
    /// Whether a crash while the frame was being written can have left it so.
    pub can_be_torn: bool,
}

impl Progress {
    /// The beginning of a segment that continues with `chain` and `time`.
    pub fn start(header: &SegmentHeader, time: Timestamp) -> Progress {
        Progress {
            offset: SEGMENT_HEADER as u64,
            chain: header.chain,
            next: header.first,
            time,
            begun: None,
            last: None,
            last_mark: SEGMENT_HEADER as u64,
        }
    }
}

/// Reads a segment's header; the inner error says what is wrong with it.
pub(super) fn read_header(file: &impl DiskFile) -> io::Result<Result<SegmentHeader, String>> {
    Ok(SegmentHeader::decode(&read_vec(file, SEGMENT_HEADER, 0)?))
}

/// Sees a good frame; its refusal makes it a bad one.
pub(super) type Visit<'a> = dyn FnMut(&Frame, Vec<FrameCommit>) -> Result<(), String> + 'a;

/// Reads all frames from `progress` on and gives each to `visit`, whose refusal makes the frame
/// a bad one.
pub(super) fn scan(
    file: &impl DiskFile,
    log: LogId,
    checksums: Checksums,
    progress: &mut Progress,
    visit: &mut Visit<'_>,
) -> io::Result<Ending> {
    let mut window =
        Window { file, length: file.len()?, offset: progress.offset, bytes: Bytes::new() };
    loop {
        if window.offset >= window.length {
            return Ok(Ending::Cut);
        }
        let start = window.peek(FRAME_HEADER)?;
        if start.iter().all(|byte| *byte == 0) {
            return match first_other_than_zero(file, window.offset)? {
                None => Ok(Ending::Zeros),
                Some(offset) => {
                    Ok(torn(format!("no frame begins here, but there are bytes at {offset}")))
                }
            };
        }
        if start.len() < FRAME_HEADER {
            // A frame that is being written always has zeros behind it.
            return Ok(corrupt("the file was cut inside a frame's header".to_owned()));
        }
        let header = match FrameHeader::decode(&start, log, window.offset) {
            Ok(header) => header,
            Err(reason) => return Ok(torn(reason)),
        };
        let whole = window.peek(header.length as usize)?;
        if whole.len() < header.length as usize {
            return Ok(corrupt("the file was cut inside this frame".to_owned()));
        }
        let whole = whole.slice(..header.length as usize);
        let frame = match Frame::check(header, whole) {
            Ok(frame) => frame,
            Err(reason) => return Ok(torn(reason)),
        };
        let continued = progress
            .continues(&frame)
            .and_then(|()| visit(&frame, frame.commits(checksums).collect::<Result<_, _>>()?));
        if let Err(reason) = continued {
            return Ok(corrupt(reason));
        }
        progress.advance(&frame);
        window.skip(frame.header.length as usize);
    }
}

fn torn(reason: String) -> Ending {
    Ending::Bad(Bad { reason, can_be_torn: true })
}

fn corrupt(reason: String) -> Ending {
    Ending::Bad(Bad { reason, can_be_torn: false })
}

impl Progress {
    fn continues(&self, frame: &Frame) -> Result<(), String> {
        if frame.header.chain != self.chain {
            return Err("the frame doesn't continue the frame before it".to_owned());
        }
        if frame.header.first != self.next {
            return Err(format!(
                "the frame begins at position {}, not {}",
                frame.header.first, self.next
            ));
        }
        if frame.header.time < self.time {
            return Err("the frame is older than the frame before it".to_owned());
        }
        Ok(())
    }

    fn advance(&mut self, frame: &Frame) {
        if frame.header.kind.is_mark() {
            self.last_mark = frame.header.offset;
        }
        self.offset = frame.end();
        self.chain = frame.hash();
        self.next = frame.next();
        self.time = frame.header.time;
        self.begun.get_or_insert(frame.header.time);
        self.last = Some(frame.header.kind);
    }
}

/// The offset of the first whole frame of this log after `offset`.
pub(super) fn valid_frame_after(
    file: &impl DiskFile,
    log: LogId,
    offset: u64,
) -> io::Result<Option<u64>> {
    let mut window = Window { file, length: file.len()?, offset: offset + 1, bytes: Bytes::new() };
    while window.offset < window.length {
        let bytes = window.peek(WINDOW)?;
        let mut starts = bytes.windows(FRAME_MAGIC.len());
        let Some(skipped) = starts.position(|start| *start == FRAME_MAGIC) else {
            // The last bytes may be the beginning of the magic.
            let kept = FRAME_MAGIC.len() - 1;
            window.skip(bytes.len().saturating_sub(kept).max(1));
            continue;
        };
        window.skip(skipped);
        let start = window.peek(FRAME_HEADER)?;
        if let Ok(header) = FrameHeader::decode(&start, log, window.offset) {
            let whole = window.peek(header.length as usize)?;
            let whole = whole.slice(..whole.len().min(header.length as usize));
            if Frame::check(header, whole).is_ok() {
                return Ok(Some(window.offset));
            }
        }
        window.skip(1);
    }
    Ok(None)
}

/// The offset of the first byte from `offset` on that is not zero.
fn first_other_than_zero(file: &impl DiskFile, offset: u64) -> io::Result<Option<u64>> {
    let mut window = Window { file, length: file.len()?, offset, bytes: Bytes::new() };
    while window.offset < window.length {
        let bytes = window.peek(WINDOW)?;
        if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
            return Ok(Some(window.offset + at as u64));
        }
        window.skip(bytes.len());
    }
    Ok(None)
}

struct Window<'a, F> {
    file: &'a F,
    length: u64,
    offset: u64,
    bytes: Bytes,
}

impl<F: DiskFile> Window<'_, F> {
    /// At least `count` bytes from the offset on, or what there is before the end of the file.
    fn peek(&mut self, count: usize) -> io::Result<Bytes> {
        let left = usize::try_from(self.length.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        if self.bytes.len() < count.min(left) {
            self.bytes = read_vec(self.file, count.max(WINDOW).min(left), self.offset)?.into();
            // The file became shorter meanwhile.
            if self.bytes.len() < count.min(left) {
                self.length = self.offset + self.bytes.len() as u64;
            }
        }
        Ok(self.bytes.clone())
    }

    fn skip(&mut self, count: usize) {
        self.offset += count as u64;
        self.bytes = self.bytes.slice(count.min(self.bytes.len())..);
    }
}
