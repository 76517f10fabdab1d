//! What damage looks like, and where it is found.

use super::*;
use crate::segment::disk::Disk as _;
use crate::segment::format::{FRAME_MAGIC, SEGMENT_HEADER};

/// A log of three segments on a disk of its own.
pub(super) fn three_segments(close: bool) -> SimDisk {
    let disk = new_disk();
    let mut core = fixed_log(&disk, 1_500);
    for n in 0..9 {
        core.append_group(&[fixed_commit(n)], Timestamp(2_000)).remove(0).unwrap();
        if n == 4 {
            core.mark_idle().unwrap();
        }
    }
    if close {
        core.close().unwrap();
    }
    assert_eq!(names(&disk).len(), 3);
    disk
}

pub(super) fn names(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list().unwrap();
    names.sort();
    names
}

pub(super) fn reopen(disk: &SimDisk) -> Result<Opened, OpenError> {
    let options = Options { segment_bytes: 1_500, reserve_bytes: 0 };
    let opened = open::open(
        disk.clone(),
        || Ok(MemoryIndex::default()),
        options,
        Timestamp(3_000),
        &mut |_| {},
    );
    opened.map(|(_, opened)| opened)
}

pub(super) fn verified(disk: &SimDisk) -> Result<Verified, VerifyError> {
    verify(disk, &mut |_| Ok(()), &mut |_, _| {})
}

/// Where the frames of a segment begin.
pub(super) fn frames(bytes: &[u8]) -> Vec<usize> {
    let starts = bytes.windows(FRAME_MAGIC.len()).enumerate();
    starts.filter(|(_, four)| *four == FRAME_MAGIC).map(|(at, _)| at).collect()
}

/// The beginning of the frame, or header, that a byte belongs to.
fn place(bytes: &[u8], at: usize) -> u64 {
    frames(bytes).into_iter().rfind(|start| *start <= at).unwrap_or(0) as u64
}

#[test]
fn every_flipped_byte_of_a_closed_log_is_found_and_named() {
    let whole = three_segments(true);
    verified(&whole).unwrap();
    for name in names(&whole) {
        let bytes = whole.contents(&name);
        for at in 0..bytes.len() {
            let disk = three_segments(true);
            disk.flip(&name, at, at as u8);
            let Err(VerifyError::Corrupt { segment, offset, .. }) = verified(&disk) else {
                panic!("byte {at} of {name} is not found by verify");
            };
            assert_eq!(segment, name, "byte {at}");
            assert_named(&bytes, at, offset);
            match reopen(&disk) {
                Err(OpenError::Corrupt { segment, offset, .. }) => {
                    assert_eq!(segment, name, "byte {at}");
                    assert_named(&bytes, at, offset);
                }
                other => panic!("byte {at} of {name} is not found by open: {other:?}"),
            }
        }
    }
}

/// A byte of a frame is named by the frame; one of the header by the header's fields.
fn assert_named(bytes: &[u8], at: usize, offset: u64) {
    if at < SEGMENT_HEADER {
        assert!(offset < SEGMENT_HEADER as u64, "byte {at} was named by offset {offset}");
    } else {
        assert_eq!(offset, place(bytes, at), "byte {at}");
    }
}

#[test]
fn in_a_killed_log_only_the_last_frame_can_be_taken_for_torn() {
    let whole = three_segments(false);
    let last = names(&whole).pop().unwrap();
    for name in names(&whole) {
        let bytes = whole.contents(&name);
        let last_frame = *frames(&bytes).last().unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        for at in 0..end {
            let disk = three_segments(false);
            disk.flip(&name, at, at as u8);
            match reopen(&disk) {
                Err(OpenError::Corrupt { segment, offset, .. }) => {
                    assert_eq!(segment, name);
                    assert_named(&bytes, at, offset);
                }
                Ok(opened) if name == last && at >= last_frame => {
                    let cut = opened.cut.expect("a frame was cut off");
                    assert_eq!((cut.segment, cut.offset), (name.clone(), last_frame as u64));
                }
                other => panic!("byte {at} of {name}: {other:?}"),
            }
        }
    }
}

#[test]
fn every_cut_tail_of_a_closed_log_is_found_and_named() {
    let whole = three_segments(true);
    for name in names(&whole) {
        let bytes = whole.contents(&name);
        for length in 0..bytes.len() {
            let disk = three_segments(true);
            disk.put(&name, &bytes[..length]);
            match (verified(&disk), reopen(&disk)) {
                (
                    Err(VerifyError::Corrupt { segment, .. }),
                    Err(OpenError::Corrupt { segment: same, .. }),
                ) => assert_eq!((&segment, &same), (&name, &name), "cut to {length}"),
                other => panic!("{name} cut to {length} bytes: {other:?}"),
            }
        }
    }
}

#[test]
fn segments_that_are_not_where_they_belong_are_refused() {
    let whole = three_segments(true);
    let names = names(&whole);
    let contents: Vec<_> = names.iter().map(|name| whole.contents(name)).collect();

    let swapped = three_segments(true);
    swapped.put(&names[1], &contents[2]);
    swapped.put(&names[2], &contents[1]);
    let missing = three_segments(true);
    missing.remove(&names[1]).unwrap();
    let first_missing = three_segments(true);
    first_missing.remove(&names[0]).unwrap();
    let garbage = three_segments(true);
    garbage.put(&names[1], &[0xA7; 3_000]);
    let foreign = three_segments(true);
    let mut other = contents[1].clone();
    other[16] ^= 1;
    let crc = crc32c::crc32c(&other[..92]).to_le_bytes();
    other[92..96].copy_from_slice(&crc);
    foreign.put(&names[1], &other);
    let expectations = [
        (swapped, &names[1], "begins at position"),
        (missing, &names[2], "a segment is missing"),
        (first_missing, &names[1], "a segment is missing"),
        (garbage, &names[1], "does not begin like a segment"),
        (foreign, &names[1], "belongs to another log"),
    ];
    for (disk, name, words) in expectations {
        match reopen(&disk) {
            Err(OpenError::Corrupt { segment, reason, .. }) => {
                assert_eq!(&segment, name);
                assert!(reason.contains(words), "{reason}");
            }
            other => panic!("not refused for {words:?}: {other:?}"),
        }
    }
}

#[test]
fn a_newer_format_version_is_named() {
    let disk = three_segments(true);
    let name = names(&disk).remove(1);
    let mut bytes = disk.contents(&name);
    bytes[8] = 2;
    let crc = crc32c::crc32c(&bytes[..92]).to_le_bytes();
    bytes[92..96].copy_from_slice(&crc);
    disk.put(&name, &bytes);
    let error = reopen(&disk).unwrap_err().to_string();
    assert!(error.contains("format version is 2") && error.contains(&name), "{error}");
}

#[test]
fn what_a_crash_left_of_a_new_segment_is_swept_away() {
    let disk = three_segments(true);
    disk.put("00000000000000000099.segment.new", b"half a header");
    reopen(&disk).unwrap();
    assert_eq!(names(&disk).len(), 3);
}
