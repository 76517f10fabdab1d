//! The bytes of format version 1, which are readable for ever.

use super::*;
use crate::segment::disk::Disk as _;
use crate::segment::store::FrameReader;

const NAME: &str = "00000000000000000001.segment";
const GOLDEN: &[u8] = include_bytes!("../../../testdata/format-1.segment");

/// The log that the golden file holds.
fn golden_log() -> SimDisk {
    let disk = new_disk();
    let mut core = fixed_log(&disk, 64 * 1024);
    core.append_group(&[fixed_commit(0), fixed_commit(1)], Timestamp(2_000));
    core.mark_idle().unwrap();
    core.append_group(&[fixed_commit(2)], Timestamp(1_500));
    core.append_group(&[fixed_commit(3), fixed_commit(4)], Timestamp(3_000));
    core.close().unwrap();
    assert_eq!(disk.list().unwrap(), [NAME]);
    disk
}

#[test]
fn what_is_written_today_is_format_version_1() {
    let written = golden_log().contents(NAME);
    if let Some(path) = std::env::var_os("SCRIPTA_WRITE_GOLDEN") {
        std::fs::write(path, &written).unwrap();
    }
    assert!(written == GOLDEN, "the format changed: give it a new version, and keep this file");
}

#[test]
fn the_golden_file_reads_as_it_was_written() {
    let disk = new_disk();
    disk.put(NAME, GOLDEN);
    let verified = verify(&disk, &mut |_| Ok(()), &mut |_, _| {}).unwrap();
    assert_eq!((verified.events, verified.commits, verified.frames), (11, 5, 5));
    let opened = open::open(
        disk,
        || Ok(MemoryIndex::default()),
        Options::default(),
        Timestamp(0),
        &mut |_| {},
    );
    let (core, _) = opened.unwrap();
    let mut reader = FrameReader::at(core.store().clone(), Position(1)).unwrap();
    let mut events = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        reader.each_event(&frame, |event| events.push(event)).unwrap();
    }
    let commits = (0..5).map(fixed_commit);
    let expected = commits.flat_map(|commit| {
        let operation = commit.operation;
        let appends = commit.appends.into_iter();
        appends.flat_map(move |append| {
            append.events.into_iter().map(move |event| (operation, append.stream, event))
        })
    });
    let mut count = 0;
    for (event, (operation, stream, data)) in events.iter().zip(expected) {
        count += 1;
        assert_eq!(event.position, Position(count));
        assert_eq!((event.operation, event.stream), (operation, stream));
        assert_eq!((event.event_type, event.version, event.codec), (data.event_type, 1, 1));
        assert_eq!((&event.payload, &event.meta[..]), (&data.payload, &b"golden"[..]));
    }
    assert_eq!((count, events.len()), (11, 11));
    // The clock went back between the first frame and the second; the time did not.
    let times: Vec<i64> = events.iter().map(|event| event.time.0).collect();
    assert!(times.is_sorted() && times[0] == 2_000 && times[10] == 3_000, "{times:?}");
}
