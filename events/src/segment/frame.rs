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

/// Ends a frame: its header, and the mark behind it.
pub(crate) fn finish(buffer: &mut Vec<u8>, place: FramePlace, counts: Counts, kind: FrameKind) {
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
}

/// A mark frame.
pub(crate) fn mark(place: FramePlace, kind: FrameKind) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(MARK_FRAME);
    begin(&mut buffer);
    finish(&mut buffer, place, Counts::default(), kind);
    buffer
}

/// The hash of a frame, which the next one carries.
pub(crate) fn hash(frame: &[u8]) -> Chain {
    *blake3::hash(frame).as_bytes()
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
        if header.kind.is_mark() && !body.is_empty() {
            return Err("a mark has a body".to_owned());
        }
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
        hash(&self.whole)
    }

    /// The offset behind it.
    pub fn end(&self) -> u64 {
        self.header.end()
    }

    /// The position after its last event.
    pub fn next(&self) -> Position {
        self.header.next()
    }

    /// Its commits, in order. The positions and counts are compared with the frame's header.
    pub fn commits(&self, checksums: Checksums) -> Commits {
        self.clone().into_commits(checksums)
    }

    /// The same of a frame that nobody else needs.
    pub fn into_commits(self, checksums: Checksums) -> Commits {
        let Frame { header, body, .. } = self;
        Commits { header, checksums, rest: body, next: header.first, seen: 0 }
    }
}

/// The commits of a frame, up to the first error.
pub(crate) struct Commits {
    header: FrameHeader,
    checksums: Checksums,
    rest: Bytes,
    next: Position,
    seen: u32,
}

impl Commits {
    fn take(&mut self) -> Result<FrameCommit, String> {
        let head = CommitHead::decode(&self.rest, self.checksums)?;
        if head.length > self.rest.len() {
            return Err("a commit is cut off".to_owned());
        }
        if head.first != self.next {
            return Err(format!("a commit begins at position {}, not {}", head.first, self.next));
        }
        if head.time != self.header.time {
            return Err("a commit's time is not its frame's".to_owned());
        }
        self.next = Position(self.next.0 + u64::from(head.events));
        self.seen += 1;
        let offset = self.header.end() - END_MARK.len() as u64 - self.rest.len() as u64;
        let bytes = self.rest.split_to(head.length);
        let fits = self.next == self.header.next() && self.seen == self.header.commits;
        if self.rest.is_empty() && !fits {
            return Err("the frame's counts don't fit its commits".to_owned());
        }
        Ok(FrameCommit { offset, head, bytes })
    }
}

impl Iterator for Commits {
    type Item = Result<FrameCommit, String>;

    fn next(&mut self) -> Option<Result<FrameCommit, String>> {
        if self.rest.is_empty() {
            let FrameHeader { events, commits, .. } = self.header;
            let missing = self.seen == 0 && (events > 0 || commits > 0);
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
        let mut ordinals = self.head.ordinals();
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let Some(ordinal) = ordinals.next() else {
                ended = true;
                let left = at != self.bytes.len();
                return left.then(|| Err("a commit has bytes left over".to_owned()));
            };
            let record = Record::decode(&self.bytes, at, checksums).and_then(|record| {
                let fits = record.back == at && record.ordinal == ordinal;
                let offset = self.offset + at as u64;
                at += record.length;
                let recorded = if fits { self.head.recorded(record) } else { None };
                Ok((offset, recorded.ok_or("a record doesn't fit its commit")?))
            });
            ended = record.is_err();
            Some(record)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use bytes::Bytes;
    use uuid::Uuid;

    use super::*;
    use crate::log::{Append, Commit, EventData, Expectation};
    use crate::segment::commit_bytes::encode_commit;
    use crate::{Category, EventType, Revision, RootId, StreamId};

    const LOG: LogId = LogId(Uuid::nil());
    const TIME: Timestamp = Timestamp(1_000);

    /// A frame with right checksums around any body.
    fn framed(first: u64, counts: Counts, kind: FrameKind, body: &[u8]) -> Result<Frame, String> {
        let mut buffer = Vec::new();
        begin(&mut buffer);
        buffer.extend_from_slice(body);
        let first = Position(first);
        let place = FramePlace { log: LOG, offset: 0, first, time: TIME, chain: [0; 32] };
        finish(&mut buffer, place, counts, kind);
        let header = FrameHeader::decode(&buffer, LOG, 0)?;
        Frame::check(header, buffer.into())
    }

    /// A commit of two streams with two events each.
    fn commit_bytes(time: Timestamp, before: u64) -> Vec<u8> {
        let root = RootId(Uuid::nil());
        let event =
            EventData { event_type: EventType(1), version: 1, codec: 1, payload: "x".into() };
        let stream = |id| StreamId { category: Category(1), root, id: Uuid::from_u128(id) };
        let append = |id| Append {
            stream: stream(id),
            expected: Expectation::Any,
            events: vec![event.clone(), event.clone()],
        };
        let commit = Commit { appends: vec![append(1), append(2)], ..Commit::new(root) };
        let mut body = Vec::new();
        encode_commit(&mut body, &commit, Position(1), time, &[Revision(before), Revision(0)]);
        body
    }

    /// Everything in a frame, or the first thing that is wrong with it.
    fn events(frame: &Frame, checksums: Checksums) -> Result<Vec<Recorded>, String> {
        let mut events = Vec::new();
        for commit in frame.commits(checksums) {
            for record in commit?.records(checksums) {
                events.push(record?.1);
            }
        }
        Ok(events)
    }

    const FOUR_EVENTS: Counts = Counts { events: 4, commits: 1 };

    fn refused(body: &[u8]) -> String {
        let frame = framed(1, FOUR_EVENTS, FrameKind::Commits, body).unwrap();
        events(&frame, Checksums::Trust).unwrap_err()
    }

    #[test]
    fn a_good_frame_has_its_events() {
        let frame = framed(1, FOUR_EVENTS, FrameKind::Commits, &commit_bytes(TIME, 5)).unwrap();
        let events = events(&frame, Checksums::Compare).unwrap();
        let revisions: Vec<u64> = events.iter().map(|event| event.revision.0).collect();
        assert_eq!(revisions, [6, 7, 1, 2]);
    }

    #[test]
    fn counts_without_a_body_are_refused() {
        for counts in [Counts { events: 1, commits: 0 }, Counts { events: 0, commits: 1 }] {
            let frame = framed(1, counts, FrameKind::Commits, &[]).unwrap();
            let reason = events(&frame, Checksums::Compare).unwrap_err();
            assert!(reason.contains("missing"), "{reason}");
        }
    }

    #[test]
    fn a_mark_with_a_body_is_refused() {
        let body = commit_bytes(TIME, 0);
        let reason = framed(1, FOUR_EVENTS, FrameKind::IdleMark, &body).unwrap_err();
        assert!(reason.contains("mark"), "{reason}");
    }

    #[test]
    fn a_commit_of_another_time_than_its_frame_is_refused() {
        let reason = refused(&commit_bytes(Timestamp(TIME.0 - 1), 0));
        assert!(reason.contains("time"), "{reason}");
    }

    #[test]
    fn positions_and_revisions_beyond_what_can_be_counted_are_refused() {
        let reason = refused(&commit_bytes(TIME, u64::MAX));
        assert!(reason.contains("malformed"), "{reason}");
        let body = commit_bytes(TIME, 0);
        let reason = framed(u64::MAX, FOUR_EVENTS, FrameKind::Commits, &body).unwrap_err();
        assert!(reason.contains("impossible"), "{reason}");
    }

    /// Each of them would show an event at a place that is not its own.
    #[test]
    fn records_out_of_their_order_are_refused() {
        let body = commit_bytes(TIME, 0);
        let whole = Bytes::from(body.clone());
        let head = CommitHead::decode(&whole, Checksums::Compare).unwrap();
        let record = Record::decode(&whole, head.head_length, Checksums::Compare).unwrap();
        // The second record says that it is another one: of the commit, the stream, within it.
        for field in [12, 14, 16] {
            let mut body = body.clone();
            let at = head.head_length + record.length + field;
            body[at] ^= 1;
            let reason = refused(&body);
            assert!(reason.contains("doesn't fit"), "{reason}");
        }
    }
}
