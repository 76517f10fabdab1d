//! What must hold of any log, however its bytes came to be.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::new_disk;
use super::original::{OPTIONS, commit};
use crate::log::{ReadError, Recorded};
use crate::segment::index::{Index, MemoryIndex};
use crate::segment::salvage::salvage_disk;
use crate::segment::simulation::SimDisk;
use crate::segment::store::{FrameReader, RecordReader, Store};
use crate::segment::{OpenError, VerifyError, View, open, verify};
use crate::{Position, Revision, StreamId, Timestamp};

/// What is known of the log.
#[derive(Clone, Copy)]
pub(super) enum Strictness<'a> {
    /// It holds exactly these.
    #[cfg_attr(not(test), allow(dead_code))]
    Whole(&'a [Recorded]),
    /// If it can be read, then it holds these from the first on, and perhaps not the last ones.
    WrittenOnly(&'a [Recorded]),
    /// If it verifies, then it is a log without gaps.
    Consistent,
}

/// Verifies the log, looks at it from beside, salvages it, opens it, reads it in every way, appends to it and verifies it again.
pub(super) fn check_log(disk: &SimDisk, strictness: Strictness<'_>) {
    let mut seen = Vec::new();
    let verified = verify(
        disk,
        &mut |event| {
            seen.push(event.clone());
            Ok(())
        },
        &mut |_, _| {},
    );
    compare(&seen, strictness);
    if let Strictness::Whole(written) = strictness {
        assert!(verified.is_ok() && seen.len() == written.len(), "{verified:?}");
    }
    check_view(disk, strictness, verified.is_ok().then_some(&seen));
    check_salvage(disk, strictness, verified.is_ok().then_some(&seen));
    let index = MemoryIndex::default();
    let opened = open::open(disk.clone(), || Ok(index), OPTIONS, Timestamp(3_000), &mut |_| {});
    let (mut core, opened) = match (opened, &verified) {
        (Ok(opened), _) => opened,
        // Without files there is no log, which opening would have made.
        (Err(error), Ok(_)) => panic!("what verifies doesn't open: {error}"),
        (Err(OpenError::Corrupt { .. } | OpenError::Io { .. }), Err(_)) => return,
        (Err(error), Err(_)) => panic!("not opened for another reason: {error}"),
    };
    let events = read_all(core.store());
    if let Ok(events) = &events {
        compare(events, strictness);
    }
    // Opening believes what a forger says of revisions in earlier segments; verifying does not.
    let is_forged = matches!(strictness, Strictness::Consistent) && verified.is_err();
    let streams = if is_forged { Ok(()) } else { read_streams(core.store(), &seen) };
    match &verified {
        Ok(verified) => {
            assert_eq!(opened.head, Position(verified.events));
            let events = events.unwrap_or_else(|error| panic!("verified but not read: {error}"));
            assert_eq!(events, seen);
            assert_consistent(&events);
            streams.unwrap_or_else(|error| panic!("verified but not read: {error}"));
        }
        Err(VerifyError::NoLog) => assert!(opened.created),
        Err(_) => {}
    }
    // A log that was opened takes commits; one that repeats is answered from what is there.
    let _may_repeat = core.append_group(&[commit(0)], Timestamp(3_000));
    let new = core.append_group(&[commit(0xFFFF)], Timestamp(3_000));
    let closed = core.close();
    if verified.is_ok() {
        let before = seen.len() as u64;
        assert!(new.iter().all(Result::is_ok), "{new:?}");
        assert!(closed.is_ok(), "{closed:?}");
        let again = verify(disk, &mut |_| Ok(()), &mut |_, _| {});
        match again {
            Ok(again) => assert!(again.events > before),
            Err(error) => panic!("not verified after an append: {error}"),
        }
    }
}

fn compare(events: &[Recorded], strictness: Strictness<'_>) {
    match strictness {
        Strictness::Whole(written) => assert_eq!(events, written),
        Strictness::WrittenOnly(written) => {
            let held = written.get(..events.len());
            let positions: Vec<u64> = events.iter().map(|event| event.position.0).collect();
            assert!(held == Some(events), "read, and not as it was written: {positions:?}");
        }
        Strictness::Consistent => {}
    }
}

/// Reads it as a process beside the writer does; all of it, if it was `verified`.
fn check_view(disk: &SimDisk, strictness: Strictness<'_>, verified: Option<&Vec<Recorded>>) {
    let mut events = Vec::new();
    let view = View::over(disk.clone(), Position::START);
    let read = view.and_then(|mut view| {
        view.read(&mut |event| {
            events.push(event.clone());
            ControlFlow::Continue(())
        })
    });
    compare(&events, strictness);
    if let Some(seen) = verified {
        assert!(read.is_ok(), "verified but not to be looked at: {read:?}");
        assert_eq!(&events, seen);
    }
}

/// Salvages it: what is kept is a log, and all of it, if it was `verified`.
fn check_salvage(disk: &SimDisk, strictness: Strictness<'_>, verified: Option<&Vec<Recorded>>) {
    let target = new_disk();
    let mut behind = Vec::new();
    let salvaged = salvage_disk(
        disk,
        &target,
        &mut |event: &Recorded| behind.push(event.clone()),
        &mut |_, _| {},
    );
    if let Strictness::Whole(written) | Strictness::WrittenOnly(written) = strictness {
        let strange = behind.iter().find(|event| !written.contains(event));
        assert_eq!(strange, None, "what was never written is shown");
    }
    let Ok(salvaged) = salvaged else {
        assert!(verified.is_none(), "verified but not salvaged: {salvaged:?}");
        return;
    };
    assert!(verified.is_none_or(|seen| salvaged.head == Position(seen.len() as u64)));
    if salvaged.head == Position::START {
        return;
    }
    let mut kept = Vec::new();
    let mut keep = |event: &Recorded| {
        kept.push(event.clone());
        Ok(())
    };
    match verify(&target, &mut keep, &mut |_, _| {}) {
        Ok(again) => assert_eq!(Position(again.events), salvaged.head),
        Err(error) => panic!("salvaged but not verified: {error}"),
    }
    compare(&kept, strictness);
    assert_consistent(&kept);
}

/// Positions and the revisions of each stream go 1, 2, 3 …, and times never go back.
fn assert_consistent(events: &[Recorded]) {
    let mut revisions: HashMap<StreamId, Revision> = HashMap::new();
    let mut time = Timestamp(i64::MIN);
    for (event, position) in events.iter().zip(1..) {
        let reached = revisions.entry(event.stream).or_default();
        *reached = reached.next();
        assert_eq!((event.position, event.revision), (Position(position), *reached));
        assert!(event.time >= time, "{} goes back to {:?}", event.position, event.time);
        time = event.time;
    }
}

/// All events, frame by frame.
pub(super) fn read_all<I: Index>(
    store: &Arc<Store<SimDisk, I>>,
) -> Result<Vec<Recorded>, ReadError> {
    let mut reader = FrameReader::at(store.clone(), Position(1))?;
    let mut events = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        reader.each_event(&frame, |event| events.push(event))?;
    }
    Ok(events)
}

/// Each stream by its records, and each receipt; they must be those of `seen`, where read.
fn read_streams<I: Index>(
    store: &Arc<Store<SimDisk, I>>,
    seen: &[Recorded],
) -> Result<(), ReadError> {
    let mut reader = RecordReader::new(store);
    let mut streams: HashMap<StreamId, Vec<&Recorded>> = HashMap::new();
    for event in seen {
        streams.entry(event.stream).or_default().push(event);
        let receipt = store.receipt(event.operation)?;
        assert!(receipt.is_none_or(|receipt| receipt.operation == event.operation));
        assert_eq!(store.read_at(event.position)?.position, event.position);
    }
    for (stream, expected) in streams {
        let places = store.record_places(stream, Revision::NONE)?;
        for ((place, revision), expected) in places.into_iter().zip(1..).zip(expected) {
            let event = reader.read(place, stream, Revision(revision))?;
            assert_eq!(&event, expected);
        }
    }
    Ok(())
}
