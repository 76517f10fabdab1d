//! A whole frame: how one is made, and how one is read and checked.

use bytes::Bytes;

use super::commit_bytes::{Checksums, CommitHead, Record};
use super::format::{Chain, END_MARK, FRAME_HEADER, FrameHeader, FrameKind, MARK_FRAME};
use super::index::IndexedCommit;
use crate::log::Recorded;
use crate::{LogId, Position, Timestamp};

/// A frame that was read, and whose checksums are right.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub header: FrameHeader,
    body: Bytes,
    whole: Bytes,
}

/// A commit of a frame.
#[derive(Clone, Debug)]
pub(crate) struct FrameCommit {
    /// Where it begins in the segment.
    pub offset: u64,
    pub head: CommitHead,
    bytes: Bytes,
}

/// Where a frame goes, and what it continues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePlace {
    pub log: LogId,
    pub offset: u64,
    pub first: Position,
    pub time: Timestamp,
    pub chain: Chain,
}

/// What a frame's body has, for its header.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub events: u32,
    pub commits: u32,
}

/// Begins a frame: room for its header, which [`finish`] fills in. The body is appended to it.
pub(crate) fn begin(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.resize(FRAME_HEADER, 0);
}

/// Ends a frame of commits: its hash, for the next one.
pub(crate) fn finish(
    buffer: &mut Vec<u8>,
    place: FramePlace,
    counts: Counts,
    kind: FrameKind,
) -> Chain {
    let body_crc = crc32c::crc32c(buffer.get(FRAME_HEADER..).unwrap_or_default());
    buffer.extend_from_slice(&END_MARK);
    let header = FrameHeader {
        length: buffer.len() as u32,
        log: place.log,
        offset: place.offset,
        first: place.first,
        time: place.time,
        events: counts.events,
        commits: counts.commits,
        kind,
        body_crc,
        chain: place.chain,
    };
    if let Some(room) = buffer.get_mut(..FRAME_HEADER) {
        room.copy_from_slice(&header.encode());
    }
    *blake3::hash(buffer).as_bytes()
}

/// A mark frame and its hash.
pub(crate) fn mark(place: FramePlace, kind: FrameKind) -> (Vec<u8>, Chain) {
    let mut buffer = Vec::with_capacity(MARK_FRAME);
    begin(&mut buffer);
    let chain = finish(&mut buffer, place, Counts::default(), kind);
    (buffer, chain)
}

impl Frame {
    /// The frame that `whole` is, whose header was decoded from it before; or what is wrong.
    pub fn check(header: FrameHeader, whole: Bytes) -> Result<Frame, String> {
        let end = (header.length as usize).saturating_sub(END_MARK.len());
        if whole.len() != header.length as usize || end < FRAME_HEADER {
            return Err("the file ends inside a frame".to_owned());
        }
        if whole.get(end..) != Some(&END_MARK) {
            return Err("the frame's end mark is wrong".to_owned());
        }
        let body = whole.slice(FRAME_HEADER..end);
        if crc32c::crc32c(&body) != header.body_crc {
            return Err("the checksum of the frame's body is wrong".to_owned());
        }
        Ok(Frame { header, body, whole })
    }

    /// All of its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.whole
    }

    /// Its hash, which the next frame carries.
    pub fn hash(&self) -> Chain {
        *blake3::hash(&self.whole).as_bytes()
    }

    /// The offset behind it.
    pub fn end(&self) -> u64 {
        self.header.offset + u64::from(self.header.length)
    }

    /// The position after its last event.
    pub fn next(&self) -> Position {
        Position(self.header.first.0 + u64::from(self.header.events))
    }

    /// Its commits, in order. The positions and counts are compared with the frame's header.
    pub fn commits(&self, checksums: Checksums) -> Commits<'_> {
        Commits {
            frame: self,
            checksums,
            rest: self.body.clone(),
            next: self.header.first,
            seen: 0,
        }
    }
}

/// The commits of a frame, up to the first error.
pub(crate) struct Commits<'a> {
    frame: &'a Frame,
    checksums: Checksums,
    rest: Bytes,
    next: Position,
    seen: u32,
}

impl Commits<'_> {
    fn take(&mut self) -> Result<FrameCommit, String> {
        let head = CommitHead::decode(&self.rest, self.checksums)?;
        if head.length > self.rest.len() {
            return Err("a commit is cut off".to_owned());
        }
        if head.first != self.next {
            return Err(format!("a commit begins at position {}, not {}", head.first, self.next));
        }
        self.next = Position(self.next.0 + u64::from(head.events));
        self.seen += 1;
        let offset = self.frame.end() - END_MARK.len() as u64 - self.rest.len() as u64;
        let bytes = self.rest.split_to(head.length);
        let fits = self.next == self.frame.next() && self.seen == self.frame.header.commits;
        if self.rest.is_empty() && !fits {
            return Err("the frame's counts don't fit its commits".to_owned());
        }
        Ok(FrameCommit { offset, head, bytes })
    }
}

impl Iterator for Commits<'_> {
    type Item = Result<FrameCommit, String>;

    fn next(&mut self) -> Option<Result<FrameCommit, String>> {
        if self.rest.is_empty() {
            let missing = self.seen == 0 && self.frame.header.commits > 0;
            self.seen += u32::from(missing);
            return missing.then(|| Err("the frame's commits are missing".to_owned()));
        }
        let taken = self.take();
        if taken.is_err() {
            self.rest.clear();
        }
        Some(taken)
    }
}

impl FrameCommit {
    /// What the index keeps of it.
    pub fn indexed(&self, checksums: Checksums) -> Result<IndexedCommit, String> {
        let place = |offset: u64| (offset - self.offset) as u32;
        let records = self.records(checksums).map(|record| Ok(place(record?.0)));
        Ok(IndexedCommit {
            operation: self.head.operation,
            offset: self.offset,
            streams: self.head.streams.clone(),
            records: records.collect::<Result<_, String>>()?,
        })
    }

    /// Its events in order, each with the offset of its record in the segment.
    pub fn records(
        &self,
        checksums: Checksums,
    ) -> impl Iterator<Item = Result<(u64, Recorded), String>> + '_ {
        let mut at = self.head.head_length;
        let mut index = 0;
        std::iter::from_fn(move || {
            if index == self.head.events {
                let left = at != self.bytes.len();
                index += u32::from(left);
                return left.then(|| Err("a commit has bytes left over".to_owned()));
            }
            if index > self.head.events {
                return None;
            }
            let result = self.record(at, index, checksums);
            match &result {
                Ok((_, length, _)) => {
                    at += length;
                    index += 1;
                }
                Err(_) => index = u32::MAX,
            }
            Some(result.map(|(offset, _, recorded)| (offset, recorded)))
        })
    }

    fn record(
        &self,
        at: usize,
        index: u32,
        checksums: Checksums,
    ) -> Result<(u64, usize, Recorded), String> {
        if at > self.bytes.len() {
            return Err("a record is cut off".to_owned());
        }
        let record = Record::decode(&self.bytes.slice(at..), checksums)?;
        let (length, back) = (record.length, record.back);
        let expected = Position(self.head.first.0 + u64::from(index));
        let recorded = self.head.recorded(record).filter(|event| event.position == expected);
        let recorded = recorded.filter(|_| back == at);
        let recorded = recorded.ok_or_else(|| "a record doesn't fit its commit".to_owned())?;
        Ok((self.offset + at as u64, length, recorded))
    }
}
