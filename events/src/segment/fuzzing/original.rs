//! A small good log, the same in every run, to begin from.

use std::sync::OnceLock;

use bytes::Bytes;
use uuid::Uuid;

use super::checks::read_all;
use super::new_disk;
use crate::log::{Append, Commit, EventData, Expectation, Recorded};
use crate::segment::core::{create_segment, first_header};
use crate::segment::disk::Disk as _;
use crate::segment::index::MemoryIndex;
use crate::segment::simulation::SimDisk;
use crate::segment::{Options, open};
use crate::{Category, EventType, Fingerprint, LogId, OperationId, RootId, StreamId, Timestamp};

/// So small that the log has several segments.
pub(super) const OPTIONS: Options = Options { segment_bytes: 900, reserve_bytes: 0 };

/// How many commits it has.
const COMMITS: u128 = 8;

/// A log's files and the events in them.
pub(super) struct Original {
    /// In order.
    pub files: Vec<(String, Vec<u8>)>,
    pub events: Vec<Recorded>,
}

impl Original {
    /// The log on a disk of its own.
    pub fn disk(&self) -> SimDisk {
        let disk = new_disk();
        for (name, bytes) in &self.files {
            disk.put(name, bytes);
        }
        disk
    }
}

/// The log, closed or as a killed process leaves it.
pub(super) fn original(is_closed: bool) -> &'static Original {
    static LOGS: [OnceLock<Original>; 2] = [OnceLock::new(), OnceLock::new()];
    let [open, closed] = &LOGS;
    if is_closed { closed.get_or_init(|| make(true)) } else { open.get_or_init(|| make(false)) }
}

fn make(close: bool) -> Original {
    let disk = new_disk();
    let header = first_header(LogId(Uuid::from_u128(0x5C21)), Timestamp(1_000));
    let made = create_segment(&disk, &header, OPTIONS);
    assert!(made.is_ok(), "a segment can't be made on a good disk");
    let index = MemoryIndex::default();
    let opened = open::open(disk.clone(), || Ok(index), OPTIONS, Timestamp(0), &mut |_| {});
    let Ok((mut core, _)) = opened else { panic!("a good log doesn't open") };
    for n in 0..COMMITS {
        let answers = core.append_group(&[commit(n)], Timestamp(2_000));
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        if n == 3 {
            assert!(core.mark_idle().is_ok());
        }
    }
    let events = read_all(core.store()).unwrap_or_default();
    assert!(!events.is_empty());
    assert!(!close || core.close().is_ok());
    drop(core);
    let mut names = disk.list().unwrap_or_default();
    names.sort();
    assert!(names.len() > 2, "{names:?}");
    let files = names.into_iter().map(|name| (name.clone(), disk.contents(&name)));
    Original { files: files.collect(), events }
}

/// The `n`-th commit: one or two streams, up to three events, some without a payload, one
/// without events.
pub(super) fn commit(n: u128) -> Commit {
    let root = RootId(Uuid::from_u128(7));
    let append = |id: u128, count: u128| Append {
        stream: StreamId { category: Category(700), root, id: Uuid::from_u128(id) },
        expected: Expectation::Any,
        events: (0..count).map(|index| event(index, n)).collect(),
    };
    Commit {
        root,
        operation: OperationId(Uuid::from_u128(0x0901_0000 + n)),
        fingerprint: Fingerprint([n as u8; 32]),
        appends: vec![append(1, n % 4), append(2 + n % 2, 1)],
        checks: Vec::new(),
        meta: Bytes::from_static(b"who"),
    }
}

fn event(index: u128, n: u128) -> EventData {
    EventData {
        event_type: EventType(1 + index as u16),
        version: 1,
        codec: 1,
        payload: Bytes::from(vec![n as u8; 40 * index as usize]),
    }
}
