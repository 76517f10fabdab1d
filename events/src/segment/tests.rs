#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use super::*;

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
