//! The index in sled: believed only when it is whole and this log's.

use std::path::Path;

use super::*;
use crate::log::conformance::text;

/// A log of many segments over a hundred streams, closed; what it holds.
async fn filled(folder: &Path) -> Vec<(Commit, Receipt)> {
    let (log, _) = SegmentLog::open(folder, small()).unwrap();
    let root = root();
    let streams: Vec<_> = (0..100).map(|_| stream(root)).collect();
    let mut written = Vec::new();
    for round in 0..600 {
        let commit = commit(streams[round * 7 % 100], Expectation::Any, &[&format!("{round}")]);
        let receipt = log.append(commit.clone()).await.unwrap();
        written.push((commit, receipt));
    }
    log.close().await.unwrap();
    written
}

/// Opens the log and compares every receipt, stream and event with what was written; how many
/// segments had to be read for the index.
async fn compare(folder: &Path, written: &[(Commit, Receipt)]) -> usize {
    let mut rebuilt = 0;
    let (log, opened) =
        SegmentLog::open_with(folder, small(), &mut |_| rebuilt += 1).expect("the log opens");
    assert!(opened.segments > 5, "{opened:?}");
    for (commit, receipt) in written {
        let held = log.receipt(commit.operation).await.unwrap();
        assert_eq!(held.as_ref(), Some(receipt));
        assert!(log.append(commit.clone()).await.unwrap().replayed);
        let event = log.read_at(receipt.position).await.unwrap();
        assert_eq!(event.payload, commit.appends[0].events[0].payload);
    }
    assert_eq!(log.receipt(OperationId::random()).await.unwrap(), None);
    let one = written[0].0.appends[0].stream;
    let own = written.iter().filter(|(commit, _)| commit.appends[0].stream == one);
    let expected: Vec<String> = own
        .map(|(commit, _)| String::from_utf8(commit.appends[0].events[0].payload.to_vec()).unwrap())
        .collect();
    assert_eq!(texts(&log, one).await, expected);
    let after: Vec<_> = log.read_stream(one, Revision(4)).try_collect().await.unwrap();
    assert_eq!(after.iter().map(text).collect::<Vec<_>>(), expected[4..]);
    assert_eq!(log.revision(one).await.unwrap(), Revision(expected.len() as u64));
    log.close().await.unwrap();
    rebuilt
}

/// Whether opening comes to use the index as it is. sled's threads may still be at work on a
/// database that this very process dropped a moment ago; one that doesn't open for that reason is
/// set aside and rebuilt, which `compare` shows to lose nothing.
async fn is_used(folder: &Path, written: &[(Commit, Receipt)]) -> bool {
    for _ in 0..3 {
        if compare(folder, written).await == 0 {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn a_whole_index_is_used_and_a_deleted_one_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let written = filled(folder.path()).await;
    assert!(is_used(folder.path(), &written).await);
    std::fs::remove_dir_all(folder.path().join(INDEX_FOLDER)).unwrap();
    assert!(compare(folder.path(), &written).await > 5);
    assert!(is_used(folder.path(), &written).await);
}

#[tokio::test]
async fn the_index_of_another_log_is_rebuilt() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let written = filled(one.path()).await;
    filled(other.path()).await;
    std::fs::remove_dir_all(one.path().join(INDEX_FOLDER)).unwrap();
    std::fs::rename(other.path().join(INDEX_FOLDER), one.path().join(INDEX_FOLDER)).unwrap();
    assert!(compare(one.path(), &written).await > 5);
}

#[tokio::test]
async fn an_index_that_does_not_open_is_set_aside_and_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let written = filled(folder.path()).await;
    let index = folder.path().join(INDEX_FOLDER);
    for entry in std::fs::read_dir(&index).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::write(path, [0xA7; 4_000]).unwrap();
        }
    }
    assert!(compare(folder.path(), &written).await > 5);
    assert!(folder.path().join("index.set-aside").exists());
}

/// Removes rows from an index, as if the process or the machine had ended without closing it.
fn crash(folder: &Path, lost: impl FnOnce(&sled::Tree)) {
    let tree = sled_index::open_sled(&folder.join(INDEX_FOLDER)).unwrap();
    tree.remove(b"k").unwrap().expect("it was closed cleanly");
    lost(&tree);
    tree.flush().unwrap();
}

fn lose(tree: &sled::Tree, kind: &[u8], nth: usize) {
    let lost = tree.scan_prefix(kind).keys().nth(nth).unwrap().unwrap();
    tree.remove(lost).unwrap();
}

#[tokio::test]
async fn a_segment_that_lost_a_row_in_a_power_cut_is_indexed_again() {
    let folder = tempfile::tempdir().unwrap();
    let written = filled(folder.path()).await;
    crash(folder.path(), |tree| {
        tree.remove(b"u").unwrap().expect("it knew its boot");
        lose(tree, b"c", 2);
    });
    assert_eq!(compare(folder.path(), &written).await, 1);
}

#[tokio::test]
async fn a_segment_that_lost_a_row_with_its_process_is_indexed_again() {
    let folder = tempfile::tempdir().unwrap();
    let written = filled(folder.path()).await;
    crash(folder.path(), |tree| {
        let last = tree.scan_prefix(b"t").keys().next_back().unwrap().unwrap();
        tree.remove(last).unwrap();
    });
    assert_eq!(compare(folder.path(), &written).await, 1);
}

#[tokio::test]
async fn a_filter_that_lost_a_part_is_rebuilt_with_all() {
    let folder = tempfile::tempdir().unwrap();
    let written = filled(folder.path()).await;
    crash(folder.path(), |tree| lose(tree, b"p", 0));
    assert!(compare(folder.path(), &written).await > 5);
}

#[tokio::test]
async fn a_missing_last_segment_is_noticed_by_the_index() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path()).await;
    let segments = folder.path().join(LOG_FOLDER);
    let mut names: Vec<_> = std::fs::read_dir(&segments)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "segment"))
        .collect();
    names.sort();
    std::fs::remove_file(names.pop().unwrap()).unwrap();
    let last = names.pop().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    match SegmentLog::open(folder.path(), small()) {
        Err(OpenError::Corrupt { segment, reason, .. }) => {
            assert_eq!(segment, last);
            assert!(reason.contains("missing"), "{reason}");
        }
        other => panic!("not noticed: {:?}", other.map(|(_, opened)| opened)),
    }
}
