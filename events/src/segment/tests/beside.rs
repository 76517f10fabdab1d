//! Readers beside a writer: they see no damage where there is none, and every event once.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::damage::{names, three_segments};
use super::*;
use crate::segment::disk::Disk as _;

fn positions(view: &mut View<SimDisk>) -> Vec<u64> {
    let mut seen = Vec::new();
    view.read(&mut |event| {
        seen.push(event.position.0);
        ControlFlow::Continue(())
    })
    .unwrap();
    seen
}

#[test]
fn a_view_begins_anywhere_and_follows() {
    let disk = new_disk();
    let mut core = fixed_log(&disk, 1_500);
    let mut views: Vec<_> = [0, 1, 7, 17, 18, 40]
        .map(|after| (after, View::over(disk.clone(), Position(after)).unwrap(), Vec::new()))
        .into();
    for n in 0..24 {
        core.append_group(&[fixed_commit(n)], Timestamp(2_000)).remove(0).unwrap();
        if n % 5 == 0 {
            core.mark_idle().unwrap();
        }
        if n % 3 != 1 {
            continue;
        }
        let head = core.store().head();
        for (after, view, seen) in &mut views {
            seen.extend(positions(view));
            assert_eq!(view.head(), head);
            assert!(seen.iter().copied().eq(*after + 1..=head.0), "after {after}: {seen:?}");
        }
        let mut late = View::over(disk.clone(), Position(head.0 / 2)).unwrap();
        assert!(positions(&mut late).into_iter().eq(head.0 / 2 + 1..=head.0));
    }
    assert!(names(&disk).len() > 5);
}

#[test]
fn a_view_misses_a_segment_before_its_first_event() {
    let disk = three_segments(true);
    let names = names(&disk);
    disk.remove(&names[0]).unwrap();
    let second = crate::segment::format::segment_first(&names[1]).unwrap();
    for after in [0, second.0 - 2] {
        let error = View::over(disk.clone(), Position(after)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("a segment is missing"), "after {after}: {error}");
    }
    // What begins in what is there is readable.
    let mut view = View::over(disk, Position(second.0 - 1)).unwrap();
    assert_eq!(positions(&mut view).first(), Some(&second.0));
}

#[test]
fn a_view_ends_when_its_reader_does() {
    let disk = three_segments(true);
    for count in 1..=18 {
        let mut view = View::over(disk.clone(), Position::START).unwrap();
        let mut seen = 0;
        for _ in 0..2 {
            view.read(&mut |event| {
                seen += 1;
                assert_eq!(event.position.0, seen);
                if seen == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        }
        assert_eq!(seen, count);
    }
}

#[test]
fn a_view_names_damage_and_shows_nothing_behind_it() {
    let whole = three_segments(true);
    for name in names(&whole) {
        for at in (0..whole.contents(&name).len()).step_by(7) {
            let disk = three_segments(true);
            disk.flip(&name, at, at as u8);
            let mut seen = 0;
            let read = View::over(disk, Position::START).and_then(|mut view| {
                view.read(&mut |event| {
                    seen += 1;
                    assert_eq!(event.position.0, seen);
                    ControlFlow::Continue(())
                })
            });
            match read {
                Err(VerifyError::Corrupt { segment, .. }) => assert_eq!(segment, name),
                other => panic!("byte {at} of {name}: {other:?}"),
            }
        }
    }
}

#[test]
fn without_a_log_there_is_no_view() {
    assert!(matches!(View::over(new_disk(), Position::START), Err(VerifyError::NoLog)));
    let folder = tempfile::tempdir().unwrap();
    let missing = View::open(&folder.path().join("nowhere"), Position::START);
    assert!(matches!(missing, Err(VerifyError::NoLog)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_beside_a_busy_writer_see_a_whole_log() {
    let (log, folder) = make().await;
    let done = Arc::new(AtomicBool::new(false));
    let path = folder.path().to_owned();
    let readers: Vec<_> = (0..3)
        .map(|reader| {
            let (done, path) = (done.clone(), path.clone());
            tokio::task::spawn_blocking(move || match reader {
                0 => follow(&path, &done),
                _ => verify_often(&path, &done),
            })
        })
        .collect();
    let writers: Vec<_> = (0..6)
        .map(|writer| {
            let log = log.clone();
            tokio::spawn(async move {
                let stream = stream(root());
                for n in 0..400 {
                    // Now and then a frame of many pages, which takes a while to be written.
                    let text = "x".repeat(if n % 40 == writer { 300_000 } else { n });
                    log.append(commit(stream, Expectation::Any, &[&text])).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let head = *log.head().borrow();
    log.close().await.unwrap();
    done.store(true, Ordering::Release);
    for reader in readers {
        assert_eq!(reader.await.unwrap(), head.0);
    }
}

fn follow(path: &std::path::Path, done: &AtomicBool) -> u64 {
    let mut view = View::open(path, Position::START).unwrap();
    let mut seen = 0;
    loop {
        let is_over = done.load(Ordering::Acquire);
        view.read(&mut |event| {
            seen += 1;
            assert_eq!(event.position.0, seen);
            ControlFlow::Continue(())
        })
        .unwrap();
        if is_over {
            return seen;
        }
    }
}

fn verify_often(path: &std::path::Path, done: &AtomicBool) -> u64 {
    let disk = FileDisk::existing(&path.join(LOG_FOLDER));
    let mut head = None;
    loop {
        let is_over = done.load(Ordering::Acquire);
        let demands = Demands { head, durable: true };
        let whole = verify_with(&disk, demands, &mut |_| Ok(()), &mut |_, _| {}).unwrap();
        head = Some(whole.head_hash);
        if is_over {
            return whole.events;
        }
    }
}
