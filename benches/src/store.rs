//! Scripta's log under the measured load.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use scripta_events::log::{Append, Commit, EventData, EventLog, Expectation};
use scripta_events::segment::{LOG_FOLDER, Options, SegmentLog};
use scripta_events::{Category, EventType, Fingerprint, OperationId, Revision, RootId, StreamId};
use uuid::Uuid;

use crate::load::{Load, Write};

/// Events a second under a load, in a new log in this folder.
pub async fn append(folder: &Path, load: Load) -> anyhow::Result<f64> {
    let (log, _) = SegmentLog::open(folder, options())?;
    let writer = log.clone();
    let append = move |write: Write| {
        let appended = writer.append(commit(write, OperationId::random()));
        async move {
            appended.await?;
            Ok(())
        }
    };
    let rate = load.drive(append).await?;
    log.close().await?;
    Ok(rate)
}

/// The log's default options, but for the reserve: a measurement may use a small disk.
pub fn options() -> Options {
    Options { reserve_bytes: 0, ..Options::default() }
}

/// A write as a commit, which expects the stream where the write does.
pub fn commit(write: Write, operation: OperationId) -> Commit {
    let stream = stream(write.stream);
    let event =
        |payload: Bytes| EventData { event_type: EventType(1), version: 1, codec: 0, payload };
    let append = Append {
        stream,
        expected: Expectation::Exactly(Revision(write.after)),
        events: write.events.into_iter().map(event).collect(),
    };
    Commit {
        root: stream.root,
        operation,
        fingerprint: Fingerprint([7; 32]),
        appends: vec![append],
        checks: Vec::new(),
        meta: Bytes::new(),
    }
}

/// A stream that is a root of its own.
pub fn stream(id: Uuid) -> StreamId {
    StreamId { category: Category(700), root: RootId(id), id }
}

/// The files of a log, in its order.
pub fn segments(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder.join(LOG_FOLDER))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "segment") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
