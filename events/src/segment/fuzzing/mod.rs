//! What the fuzz targets do with arbitrary bytes. A panic is a finding; nothing here is part of
//! the contract.

mod checks;
mod edits;
mod original;

use bytes::Bytes;

use self::checks::{Strictness, check_log};
use self::edits::{Input, edit, repair};
use self::original::original;
use super::commit_bytes::{Checksums, CommitHead, Record};
use super::format::{FRAME_HEADER, Fields, FrameHeader, FrameKind, SegmentHeader, segment_name};
use super::frame::{self, Counts, Frame, FramePlace};
use super::index::SegmentIndex;
use super::simulation::{Breakage, SimDisk};
use crate::{LogId, Position, Timestamp};

/// Arbitrary bytes as the only segment, or as the segment after good ones: they are refused, or
/// what is read from the log is what was written before them.
pub fn segment(data: &[u8]) {
    let mut input = Input(data);
    let disk = new_disk();
    let mut name = segment_name(Position(1));
    let mut written: &[_] = &[];
    let (after_good_ones, forge) = (input.bool(), input.bool());
    if after_good_ones {
        let whole = original(true);
        written = &whole.events;
        for (good, bytes) in whole.files.iter().rev().skip(1) {
            disk.put(good, bytes);
        }
        name = whole.files.last().map(|(last, _)| last.clone()).unwrap_or(name);
    }
    disk.put(&name, input.0);
    if forge {
        repair(&disk);
        return check_log(&disk, Strictness::Consistent);
    }
    check_log(&disk, Strictness::WrittenOnly(written));
}

/// A good log with bytes changed, moved, cut off and files swapped: what is read from it is what
/// was written, or an error.
pub fn damaged_log(data: &[u8]) {
    let mut input = Input(data);
    let whole = original(input.bool());
    let disk = whole.disk();
    edit(&disk, &mut input);
    check_log(&disk, Strictness::WrittenOnly(&whole.events));
}

/// The same, but then all checksums and the hash chain are made right again, so that what lies
/// behind them is reached: what verifies also opens and reads, without gaps.
pub fn forged_log(data: &[u8]) {
    let mut input = Input(data);
    let disk = original(input.bool()).disk();
    edit(&disk, &mut input);
    repair(&disk);
    check_log(&disk, Strictness::Consistent);
}

/// Arbitrary bytes as each of the things that a segment is made of.
pub fn pieces(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    if let Ok(header) = SegmentHeader::decode(&bytes) {
        assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
    }
    if let Some((log, offset)) = claimed_place(&bytes)
        && let Ok(header) = FrameHeader::decode(&bytes, log, offset)
    {
        assert_eq!(FrameHeader::decode(&header.encode(), log, offset), Ok(header));
        let length = bytes.len().min(header.length as usize);
        if let Ok(frame) = Frame::check(header, bytes.slice(..length)) {
            walk(&frame);
        }
    }
    for checksums in [Checksums::Compare, Checksums::Trust] {
        let head = CommitHead::decode(&bytes, checksums);
        let record = Record::decode(&bytes, 0, checksums);
        if let Ok(head) = &head {
            assert!(head.head_length <= bytes.len() && head.meta.len() <= bytes.len());
            assert_eq!(head.receipt().events, head.events);
        }
        if let (Ok(head), Ok(record)) = (head, record) {
            let _may_not_fit = head.recorded(record);
        }
    }
    if let Some(frame) = framed(&bytes) {
        walk(&frame);
    }
}

/// The log and the offset that a frame's header claims.
fn claimed_place(bytes: &[u8]) -> Option<(LogId, u64)> {
    let mut fields = Fields(bytes);
    fields.take(8)?;
    Some((LogId(fields.uuid()?), fields.u64()?))
}

/// A good frame around an arbitrary body, with counts out of the bytes too.
fn framed(bytes: &Bytes) -> Option<Frame> {
    let mut fields = Fields(bytes);
    let counts = Counts { events: fields.u16()?.into(), commits: fields.u8()?.into() };
    let log = LogId(uuid::Uuid::nil());
    let first = Position(fields.u64()?);
    let (offset, time, chain) = (0, Timestamp::default(), [0; 32]);
    let mut buffer = Vec::new();
    frame::begin(&mut buffer);
    buffer.extend_from_slice(fields.0);
    let place = FramePlace { log, offset, first, time, chain };
    frame::finish(&mut buffer, place, counts, FrameKind::Commits);
    let header = FrameHeader::decode(buffer.get(..FRAME_HEADER)?, log, offset).ok()?;
    Frame::check(header, buffer.into()).ok()
}

/// Everything in a frame, as opening and verifying read it.
fn walk(frame: &Frame) {
    for checksums in [Checksums::Compare, Checksums::Trust] {
        let mut events = 0;
        let mut index = SegmentIndex::new(frame.header.first);
        for commit in frame.commits(checksums) {
            let Ok(commit) = commit else { return };
            for record in commit.records(checksums) {
                let Ok((offset, _)) = record else { return };
                assert!(offset < frame.end());
                events += 1;
            }
            if let Ok(indexed) = commit.indexed(checksums) {
                let _may_not_continue = index.add(commit.offset, commit.head.first, 1, &[indexed]);
            }
        }
        assert_eq!(events, frame.header.events);
    }
}

fn new_disk() -> SimDisk {
    SimDisk::new(1, Breakage::default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use proptest::prelude::*;

    use super::*;
    use crate::segment::format::SEGMENT_HEADER;
    use crate::segment::salvage::salvage_disk;
    use crate::segment::verify;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

        #[test]
        fn no_bytes_are_a_wrong_segment(data in prop::collection::vec(any::<u8>(), 0..600)) {
            segment(&data);
            pieces(&data);
        }

        /// One change or two: more of them nearly always make a log that is refused at once.
        #[test]
        fn no_change_makes_a_wrong_log(data in prop::collection::vec(any::<u8>(), 4..14)) {
            damaged_log(&data);
            forged_log(&data);
        }
    }

    /// What fuzzing found, smallest first.
    #[test]
    fn what_was_found_before_is_not_found_again() {
        forged_log(&[0x0A, 0x00, 0x00, 0x52]); // a commit of another time than its frame
        pieces(b"+\x0A\0\0\0\0\0\0\0\0\0A"); // events without a commit
        damaged_log(&[0, 0, 7]); // the first segment is gone
    }

    /// Right checksums don't make right revisions: what verification refuses is not salvaged.
    #[test]
    fn what_contradicts_itself_is_not_salvaged() {
        let whole = original(true);
        let disk = whole.disk();
        let (name, mut bytes) = whole.files[1].clone();
        let before = SEGMENT_HEADER + FRAME_HEADER + 104 + 18;
        bytes[before] ^= 1;
        disk.put(&name, &bytes);
        repair(&disk);
        let target = new_disk();
        let salvaged = salvage_disk(&disk, &target, &mut |_| {}, &mut |_, _| {}).unwrap();
        assert!(salvaged.damage.is_some_and(|damage| damage.reason.contains("goes on after")));
        assert!(salvaged.head.next() == crate::segment::format::segment_first(&name).unwrap());
        assert!(verify(&target, &mut |_| Ok(()), &mut |_, _| {}).is_ok());
    }

    #[test]
    fn logs_without_edits_are_whole() {
        for is_closed in [false, true] {
            let whole = original(is_closed);
            check_log(&whole.disk(), Strictness::Whole(&whole.events));
        }
    }

    /// The repair must not change what is right: else the forged logs would all be refused early.
    #[test]
    fn a_repair_of_a_good_log_changes_nothing() {
        for is_closed in [false, true] {
            let whole = original(is_closed);
            let disk = whole.disk();
            repair(&disk);
            for (name, bytes) in &whole.files {
                assert!(disk.contents(name) == *bytes, "{name} was changed");
            }
        }
    }
}
