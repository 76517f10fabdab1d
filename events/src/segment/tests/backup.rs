//! Backups: whole or not there, incremental, and never of another log.

use std::path::Path;

use super::damage::{names, reopen, three_segments, verified};
use super::*;
use crate::segment::backup::copy_new;
use crate::segment::disk::Disk as _;
use crate::segment::simulation::Fault;

fn back_up(source: &SimDisk, target: &SimDisk) -> Result<Copied, BackupError> {
    copy_new(source, target, &mut |_, _| {})
}

/// Another disk with the same files.
fn copy_of(disk: &SimDisk) -> SimDisk {
    let copy = new_disk();
    for name in disk.list().unwrap() {
        copy.put(&name, &disk.contents(&name));
    }
    copy
}

fn events_of(disk: &SimDisk) -> Vec<Recorded> {
    let mut events = Vec::new();
    let mut collect = |event: &Recorded| {
        events.push(event.clone());
        Ok(())
    };
    verify(disk, &mut collect, &mut |_, _| {}).unwrap();
    events
}

/// Whether the log has a frame with this hash.
fn has_head(disk: &SimDisk, head: [u8; 32]) -> Result<Verified, VerifyError> {
    let demands = Demands { head: Some(head), durable: true };
    verify_with(disk, demands, &mut |_| Ok(()), &mut |_, _| {})
}

/// Appends more commits to a log of small segments.
fn grow(disk: &SimDisk, commits: std::ops::Range<u128>) -> SimCore {
    let options = Options { segment_bytes: 1_500, reserve_bytes: 0 };
    let opened =
        open::open(disk.clone(), || Ok(MemoryIndex::default()), options, Timestamp(0), &mut |_| {});
    let mut core = opened.unwrap().0;
    for n in commits {
        core.append_group(&[fixed_commit(n)], Timestamp(4_000)).remove(0).unwrap();
    }
    core
}

#[test]
fn a_closed_log_is_copied_byte_for_byte() {
    let (source, target) = (three_segments(true), new_disk());
    let copied = back_up(&source, &target).unwrap();
    assert_eq!(names(&source), names(&target));
    for name in names(&source) {
        assert!(source.contents(&name) == target.contents(&name), "{name}");
    }
    let whole = verified(&source).unwrap();
    assert_eq!((copied.log, copied.head.0), (whole.log, whole.events));
    assert_eq!(copied.head_hash, whole.head_hash);
    assert_eq!((copied.segments, copied.copied_segments), (3, 3));
}

#[test]
fn a_log_that_is_open_is_copied_as_if_it_had_been_closed() {
    let (source, target) = (three_segments(false), new_disk());
    let copied = back_up(&source, &target).unwrap();
    assert_eq!(events_of(&target), events_of(&source));
    assert_eq!(has_head(&target, copied.head_hash).unwrap().demanded_head, Some(copied.head));
    assert_eq!(has_head(&source, copied.head_hash).unwrap().demanded_head, Some(copied.head));
    let opened = reopen(&target).unwrap();
    assert_eq!((opened.head, opened.cut, opened.created), (copied.head, None, false));
    grow(&target, 100..120).close().unwrap();
    verified(&target).unwrap();
}

#[test]
fn a_torn_frame_is_not_copied() {
    let (source, target) = (three_segments(false), new_disk());
    let last = names(&source).pop().unwrap();
    let events = events_of(&source);
    let at = *super::damage::frames(&source.contents(&last)).last().unwrap();
    source.flip(&last, at + 120, 1);
    back_up(&source, &target).unwrap();
    let kept = events_of(&target);
    assert!(kept.len() < events.len() && kept[..] == events[..kept.len()]);
    assert_eq!(reopen(&target).unwrap().cut, None);
}

#[test]
fn a_second_backup_copies_only_what_is_new() {
    let (source, target) = (three_segments(false), new_disk());
    back_up(&source, &target).unwrap();
    let nothing = back_up(&source, &target).unwrap();
    assert_eq!((nothing.copied_segments, nothing.copied_bytes, nothing.segments), (0, 0, 3));

    let core = grow(&source, 9..18);
    let before = names(&target);
    let sealed: Vec<_> = before[..2].iter().map(|name| target.contents(name)).collect();
    let more = back_up(&source, &target).unwrap();
    let now = names(&source);
    assert!(now.len() > 4);
    assert_eq!(more.copied_segments as usize, now.len() - 2, "the third was active before");
    assert_eq!(names(&target), now);
    assert_eq!(events_of(&target), events_of(&source));
    for (name, bytes) in before.iter().zip(sealed) {
        assert!(target.contents(name) == bytes);
    }
    drop(core);
    // The log was closed in between: its own close mark stands where the backup's was, or not.
    grow(&source, 18..19).close().unwrap();
    back_up(&source, &target).unwrap();
    grow(&source, 19..20).close().unwrap();
    let copied = back_up(&source, &target).unwrap();
    assert_eq!(copied.copied_segments, 1);
    assert_eq!(events_of(&target), events_of(&source));
}

#[test]
fn every_change_of_a_backup_is_found() {
    let target = new_disk();
    back_up(&three_segments(false), &target).unwrap();
    for name in names(&target) {
        let bytes = target.contents(&name);
        for at in 0..bytes.len() {
            let flipped = copy_of(&target);
            flipped.flip(&name, at, at as u8);
            let cut = copy_of(&target);
            cut.put(&name, &bytes[..at]);
            for damaged in [flipped, cut] {
                match (verified(&damaged), back_up(&damaged, &new_disk())) {
                    (
                        Err(VerifyError::Corrupt { segment, .. }),
                        Err(BackupError::Log(VerifyError::Corrupt { segment: same, .. })),
                    ) => assert_eq!((&segment, &same), (&name, &name), "byte {at}"),
                    other => panic!("byte {at} of {name}: {other:?}"),
                }
            }
        }
    }
    for name in names(&target) {
        let lacking = copy_of(&target);
        lacking.remove(&name).unwrap();
        let head = verified(&target).unwrap().head_hash;
        assert!(has_head(&lacking, head).is_err(), "without {name}");
    }
}

/// What an interrupted backup leaves: the old one, the new one, or one that doesn't open.
fn assert_old_or_new(target: &SimDisk, old: &[Recorded], new: &[Recorded], step: u64) {
    match verified(target) {
        Ok(_) => {
            let held = events_of(target);
            assert!(held == old || held == new, "step {step}: {} events", held.len());
            reopen(&copy_of(target)).unwrap();
        }
        Err(VerifyError::NoLog) => assert!(old.is_empty(), "step {step}"),
        Err(VerifyError::Corrupt { .. }) => {
            let opened = reopen(&copy_of(target));
            assert!(matches!(opened, Err(OpenError::Corrupt { .. })), "step {step}: {opened:?}");
        }
        Err(error) => panic!("step {step}: {error}"),
    }
}

#[test]
fn whatever_interrupts_a_backup_it_is_the_old_one_or_the_new_one() {
    let source = three_segments(false);
    let first = new_disk();
    back_up(&source, &first).unwrap();
    let old = events_of(&source);
    let _core = grow(&source, 9..18);
    let new = events_of(&source);
    for base in [None, Some(&first)] {
        for fault in [Fault::PowerCut, Fault::Error] {
            let mut interrupted = 0;
            for step in 1.. {
                let target = base.map_or_else(new_disk, copy_of);
                target.plan(step, fault);
                let result = back_up(&source, &target);
                if result.is_ok() {
                    break;
                }
                interrupted += 1;
                if fault == Fault::PowerCut {
                    target.power_cycle();
                }
                target.mend();
                let before: &[_] = if base.is_some() { &old } else { &[] };
                assert_old_or_new(&target, before, &new, step);
                back_up(&source, &target).unwrap();
                assert!(events_of(&target) == new, "step {step}");
                assert_eq!(names(&target), names(&source), "step {step}");
            }
            assert!(interrupted > 10, "{interrupted}");
        }
    }
}

#[test]
fn what_is_no_beginning_of_the_log_is_left_alone() {
    let source = three_segments(true);
    let (name, last) = (names(&source)[0].clone(), names(&source)[2].clone());

    let foreign = new_disk();
    let other = first_header(LogId(Uuid::from_u128(0xBAD)), Timestamp(1_000));
    create_segment(&foreign, &other, small()).unwrap();
    let longer = new_disk();
    back_up(&source, &longer).unwrap();
    grow(&longer, 200..201).close().unwrap();
    let older = three_segments(true);
    older.remove(&last).unwrap();
    let damaged = new_disk();
    back_up(&source, &damaged).unwrap();
    damaged.flip(&last, 150, 0);

    for (what, source, target, place) in [
        ("another log", &source, &foreign, &name),
        ("one that went on by itself", &source, &longer, &last),
        ("one that is ahead", &older, &source, &last),
    ] {
        let before: Vec<_> = names(target).iter().map(|name| target.contents(name)).collect();
        match back_up(source, target) {
            Err(BackupError::Diverged { segment, .. }) => assert_eq!(&segment, place, "{what}"),
            other => panic!("{what}: {other:?}"),
        }
        let after: Vec<_> = names(target).iter().map(|name| target.contents(name)).collect();
        assert!(before == after, "{what} was touched");
        assert!(target.list().unwrap().iter().all(|name| name.ends_with(".segment")), "{what}");
    }
    match back_up(&source, &damaged) {
        Err(BackupError::Earlier(VerifyError::Corrupt { segment, .. })) => {
            assert_eq!(segment, last);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cut_tail_is_noticed_by_the_expected_head() {
    let source = three_segments(true);
    let Verified { head_hash: head, events, .. } = verified(&source).unwrap();
    let _core = grow(&source, 9..12);
    assert_eq!(has_head(&source, head).unwrap().demanded_head, Some(Position(events)));
    let cut = copy_of(&source);
    for name in names(&cut).iter().skip(2) {
        cut.remove(name).unwrap();
    }
    verified(&cut).unwrap();
    match has_head(&cut, head) {
        Err(VerifyError::HeadMissing { segment, .. }) => assert_eq!(segment, names(&cut)[1]),
        other => panic!("{other:?}"),
    }
}

async fn folder_with(commits: usize) -> (SegmentLog, tempfile::TempDir) {
    let (log, folder) = make().await;
    let stream = stream(root());
    for n in 0..commits {
        log.append(commit(stream, Expectation::Any, &[&format!("{n:0200}")])).await.unwrap();
    }
    (log, folder)
}

fn restored(from: &Path) -> (tempfile::TempDir, Copied) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("restored");
    let copied = restore(from, &to, &mut |_, _| {}).unwrap();
    (folder, copied)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn backups_under_load_open_with_what_was_there() {
    let (log, folder) = folder_with(50).await;
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (log, stop) = (log.clone(), stop.clone());
            tokio::spawn(async move {
                let stream = stream(root());
                for n in 0.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        return;
                    }
                    let text = format!("{writer} {n} {}", "x".repeat(n % 700));
                    log.append(commit(stream, Expectation::Any, &[&text])).await.unwrap();
                }
            })
        })
        .collect();
    let target = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().to_owned(), target.path().to_owned());
    let backups = tokio::task::spawn_blocking(move || {
        let mut heads = Vec::new();
        while heads.len() < 12 || heads.last().is_some_and(|head: &Copied| head.segments < 6) {
            let copied = backup(&from, &to, &mut |_, _| {}).unwrap();
            let disk = FileDisk::existing(&to.join(LOG_FOLDER));
            let whole = verify(&disk, &mut |_| Ok(()), &mut |_, _| {}).unwrap();
            assert_eq!((whole.events, whole.torn_at), (copied.head.0, None));
            heads.push(copied);
        }
        heads
    });
    let heads = backups.await.unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(heads.is_sorted_by_key(|copied| copied.head));
    assert!(heads[0].head < heads[heads.len() - 1].head);
    // Every head that a backup told is in the log, and what was restored is its beginning.
    let disk = FileDisk::existing(&folder.path().join(LOG_FOLDER));
    for copied in &heads {
        let demands = Demands { head: Some(copied.head_hash), durable: false };
        let whole = verify_with(&disk, demands, &mut |_| Ok(()), &mut |_, _| {}).unwrap();
        assert_eq!(whole.demanded_head, Some(copied.head));
    }
    let (place, copied) = restored(target.path());
    let (copy, opened) = SegmentLog::open(&place.path().join("restored"), small()).unwrap();
    assert_eq!((opened.head, opened.log), (copied.head, log.id()));
    let until = Filter::until(copied.head);
    let ours: Vec<_> = copy.read_all(Position::START, until.clone()).try_collect().await.unwrap();
    let theirs: Vec<_> = log.read_all(Position::START, until).try_collect().await.unwrap();
    assert_eq!(ours.len() as u64, copied.head.0);
    assert!(ours == theirs);
    copy.append(commit(stream(root()), Expectation::NoStream, &["it goes on"])).await.unwrap();
}

#[tokio::test]
async fn a_log_is_restored_only_where_there_is_none() {
    let (log, folder) = folder_with(10).await;
    log.close().await.unwrap();
    let target = tempfile::tempdir().unwrap();
    let copied = backup(folder.path(), target.path(), &mut |_, _| {}).unwrap();
    let again = restore(target.path(), folder.path(), &mut |_, _| {});
    assert!(matches!(again, Err(BackupError::NotEmpty { .. })), "{again:?}");
    std::fs::remove_dir_all(folder.path().join(LOG_FOLDER)).unwrap();
    // The index of the old log is in the way too.
    let again = restore(target.path(), folder.path(), &mut |_, _| {});
    assert!(matches!(again, Err(BackupError::NotEmpty { .. })), "{again:?}");
    std::fs::remove_dir_all(folder.path().join(INDEX_FOLDER)).unwrap();
    assert_eq!(restore(target.path(), folder.path(), &mut |_, _| {}).unwrap().head, copied.head);
    let itself = backup(folder.path(), folder.path(), &mut |_, _| {});
    assert!(matches!(itself, Err(BackupError::SameFolder)), "{itself:?}");
    let empty = tempfile::tempdir().unwrap();
    let nothing = backup(empty.path(), target.path(), &mut |_, _| {});
    assert!(matches!(nothing, Err(BackupError::Log(VerifyError::NoLog))), "{nothing:?}");
    let _open = SegmentLog::open(target.path(), small()).unwrap();
    let busy = backup(folder.path(), target.path(), &mut |_, _| {});
    assert!(matches!(busy, Err(BackupError::Locked(LockError::Held { .. }))), "{busy:?}");
}
