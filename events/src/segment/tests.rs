#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod backup;
mod beside;
mod damage;
mod derived_index;
mod golden;
mod salvage;

use bytes::Bytes;
use futures::TryStreamExt as _;
use uuid::Uuid;

use super::core::{Core, create_segment, first_header};
use super::index::MemoryIndex;
use super::simulation::{Breakage, SimDisk};
use super::*;
use crate::log::conformance::{commit, root, stream, texts};
use crate::log::{Append, EventData, Expectation};
use crate::{Category, EventType, Fingerprint, RootId};

async fn make() -> (SegmentLog, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (log, opened) = SegmentLog::open(folder.path(), small()).unwrap();
    assert!(opened.created);
    (log, folder)
}

/// Segments so small that the suite crosses many of them.
fn small() -> Options {
    Options { segment_bytes: 16 * 1024, reserve_bytes: 0 }
}

mod conformance {
    crate::event_log_conformance!(super::make());
}

type SimCore = Core<SimDisk, MemoryIndex>;

/// A log that is the same in every run: fixed ids, fixed times.
fn fixed_log(disk: &SimDisk, segment_bytes: u64) -> SimCore {
    let options = Options { segment_bytes, reserve_bytes: 0 };
    let header = first_header(LogId(Uuid::from_u128(0x5C21)), Timestamp(1_000));
    create_segment(disk, &header, options).unwrap();
    let opened =
        open::open(disk.clone(), || Ok(MemoryIndex::default()), options, Timestamp(0), &mut |_| {});
    opened.unwrap().0
}

/// The `n`-th commit of a fixed log: one or two streams, one to three events.
fn fixed_commit(n: u128) -> Commit {
    let root = RootId(Uuid::from_u128(7));
    let append = |id: u128, count: u128| Append {
        stream: StreamId { category: Category(700 + id as u16), root, id: Uuid::from_u128(id) },
        expected: Expectation::Any,
        events: (0..count)
            .map(|index| EventData {
                event_type: EventType(1 + index as u16),
                version: 1,
                codec: 1,
                payload: Bytes::from(format!("event {index} of commit {n} in stream {id}")),
            })
            .collect(),
    };
    let mut appends = vec![append(1 + n % 2, 1 + n % 3)];
    if n.is_multiple_of(4) {
        appends.push(append(3, 1));
    }
    Commit {
        root,
        operation: OperationId(Uuid::from_u128(0x0901_0000 + n)),
        fingerprint: Fingerprint([n as u8; 32]),
        appends,
        checks: Vec::new(),
        meta: Bytes::from_static(b"golden"),
    }
}

fn new_disk() -> SimDisk {
    SimDisk::new(1, Breakage::default())
}

#[tokio::test]
async fn a_closed_log_opens_with_all_it_had() {
    let (log, folder) = make().await;
    let stream = stream(root());
    let once = commit(stream, Expectation::NoStream, &["a", "b"]);
    let first = log.append(once.clone()).await.unwrap();
    log.close().await.unwrap();
    let late = log.append(commit(stream, Expectation::Any, &["late"])).await;
    assert!(matches!(late, Err(AppendError::Closed)), "{late:?}");
    drop(log);
    let (log, opened) = SegmentLog::open(folder.path(), small()).unwrap();
    assert_eq!((opened.created, opened.head, opened.cut), (false, first.position, None));
    assert_eq!(texts(&log, stream).await, ["a", "b"]);
    assert!(log.append(once).await.unwrap().replayed);
}

#[tokio::test]
async fn a_folder_in_use_names_the_process() {
    let (_log, folder) = make().await;
    match SegmentLog::open(folder.path(), small()) {
        Err(OpenError::Locked(LockError::Held { pid })) => {
            assert_eq!(pid, Some(std::process::id()));
        }
        other => panic!("not refused: {:?}", other.map(|(_, opened)| opened)),
    }
}

#[tokio::test]
async fn a_log_of_many_segments_reads_as_one() {
    let (log, folder) = make().await;
    let stream = stream(root());
    for round in 0..400 {
        log.append(commit(stream, Expectation::Any, &[&format!("{round:0100}")])).await.unwrap();
    }
    drop(log);
    let (log, opened) = SegmentLog::open(folder.path(), small()).unwrap();
    assert!(opened.segments > 3, "{opened:?}");
    let all: Vec<_> =
        log.read_all(Position::START, Filter::until(opened.head)).try_collect().await.unwrap();
    assert_eq!(all.len(), 400);
    assert_eq!(texts(&log, stream).await[399], format!("{:0100}", 399));
    assert_eq!(log.read_at(Position(200)).await.unwrap().revision, Revision(200));
}

#[test]
fn a_failed_sync_poisons_until_reopening() {
    use super::simulation::Fault;
    let disk = new_disk();
    let mut core = fixed_log(&disk, 64 * 1024);
    assert!(core.append_group(&[fixed_commit(0)], Timestamp(2_000))[0].is_ok());
    disk.plan(2, Fault::Error); // the next frame's write, then its sync
    let failed = core.append_group(&[fixed_commit(1)], Timestamp(2_000)).remove(0);
    assert!(matches!(failed, Err(AppendError::OutcomeUnknown { .. })), "{failed:?}");
    let later = core.append_group(&[fixed_commit(2)], Timestamp(2_000)).remove(0);
    assert!(matches!(later, Err(AppendError::Poisoned { .. })), "{later:?}");
    // Reads of what is durable go on.
    let known = core.store().receipt(fixed_commit(0).operation).unwrap();
    assert_eq!(known.map(|receipt| receipt.position), Some(Position(2)));
    drop(core);
    let options = Options { segment_bytes: 64 * 1024, reserve_bytes: 0 };
    let (mut core, _) =
        open::open(disk, || Ok(MemoryIndex::default()), options, Timestamp(3_000), &mut |_| {})
            .unwrap();
    let again = core.append_group(&[fixed_commit(1)], Timestamp(3_000)).remove(0);
    assert!(again.is_ok(), "{again:?}");
}

#[test]
fn a_full_disk_refuses_reads_on_and_recovers_by_itself() {
    let disk = new_disk();
    drop(fixed_log(&disk, 64 * 1024));
    let options = Options { segment_bytes: 64 * 1024, reserve_bytes: 1 };
    let opened =
        open::open(disk.clone(), || Ok(MemoryIndex::default()), options, Timestamp(0), &mut |_| {});
    let mut core = opened.unwrap().0;
    core.append_group(&[fixed_commit(0)], Timestamp(2_000)).remove(0).unwrap();
    disk.plan(1, simulation::Fault::Full);
    core.mark_idle().unwrap(); // the step that the fault begins with
    let refused = core.append_group(&[fixed_commit(1)], Timestamp(2_000)).remove(0);
    assert!(matches!(refused, Err(AppendError::DiskFull { free: 0, reserve: 1 })), "{refused:?}");
    let known = core.store().receipt(fixed_commit(0).operation).unwrap();
    assert_eq!(known.map(|receipt| receipt.position), Some(Position(2)));
    assert_eq!(core.store().receipt(fixed_commit(1).operation).unwrap(), None);
    disk.mend();
    core.append_group(&[fixed_commit(1)], Timestamp(2_000)).remove(0).unwrap();
}

#[test]
fn space_ahead_is_not_taken_out_of_the_reserve() {
    for (reserve_bytes, pieces) in [(0, 2), (simulation::FREE_BYTES, 1)] {
        let disk = new_disk();
        let segment_bytes = 4 * PREALLOCATED;
        drop(fixed_log(&disk, segment_bytes));
        let options = Options { segment_bytes, reserve_bytes };
        let (mut core, _) = open::open(
            disk.clone(),
            || Ok(MemoryIndex::default()),
            options,
            Timestamp(0),
            &mut |_| {},
        )
        .unwrap();
        let mut large = fixed_commit(0);
        large.appends[0].events[0].payload = vec![7; PREALLOCATED as usize / 4 * 3].into();
        core.append_group(&[large], Timestamp(2_000)).remove(0).unwrap();
        let length = disk.contents(&format::segment_name(Position(1))).len() as u64;
        assert_eq!(length, pieces * PREALLOCATED);
    }
}
