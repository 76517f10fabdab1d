//! What can be kept of a log, for each kind of damage.

use proptest::prelude::*;

use super::damage::{frames, names, reopen, three_segments, verified};
use super::*;
use crate::segment::disk::Disk as _;
use crate::segment::format::SEGMENT_HEADER;
use crate::segment::salvage::salvage_disk;

/// Salvages, and checks what must hold of any result: the old files are as they were, and the
/// new log is whole and a beginning of what was written.
fn rescue(disk: &SimDisk) -> (Salvaged, SimDisk, Vec<Recorded>) {
    let before: Vec<_> = names(disk).iter().map(|name| disk.contents(name)).collect();
    let (target, mut behind) = (new_disk(), Vec::new());
    let salvaged =
        salvage_disk(disk, &target, &mut |event| behind.push(event.clone()), &mut |_, _| {});
    let salvaged = salvaged.unwrap();
    let after: Vec<_> = names(disk).iter().map(|name| disk.contents(name)).collect();
    assert!(before == after, "the old log was changed");
    let written = written();
    if salvaged.head == Position::START {
        assert!(names(&target).is_empty());
    } else {
        let mut kept = Vec::new();
        let mut collect = |event: &Recorded| {
            kept.push(event.clone());
            Ok(())
        };
        let whole = verify(&target, &mut collect, &mut |_, _| {}).unwrap();
        assert!(kept[..] == written[..kept.len()], "what is kept is not what was written");
        assert_eq!((whole.events, whole.commits), (salvaged.head.0, salvaged.commits));
        assert_eq!((whole.segments, whole.torn_at), (salvaged.segments, None));
        assert_eq!(reopen(&target).unwrap().head, salvaged.head);
    }
    assert_eq!(salvaged.behind.events, behind.len() as u64);
    for event in &behind {
        assert!(event.position > salvaged.head);
        assert_eq!(event, &written[event.position.0 as usize - 1]);
    }
    (salvaged, target, behind)
}

/// The events of [`three_segments`].
fn written() -> &'static [Recorded] {
    static WRITTEN: std::sync::OnceLock<Vec<Recorded>> = std::sync::OnceLock::new();
    WRITTEN.get_or_init(|| {
        let mut events = Vec::new();
        let mut collect = |event: &Recorded| {
            events.push(event.clone());
            Ok(())
        };
        verify(&three_segments(true), &mut collect, &mut |_, _| {}).unwrap();
        events
    })
}

#[test]
fn nothing_of_a_good_log_is_lost() {
    for close in [true, false] {
        let disk = three_segments(close);
        let (salvaged, target, _) = rescue(&disk);
        assert_eq!(salvaged.head, Position(written().len() as u64));
        assert_eq!((salvaged.damage, salvaged.mended.len()), (None, 0));
        assert_eq!(salvaged.behind, Behind::default());
        if close {
            for name in names(&disk) {
                assert!(disk.contents(&name) == target.contents(&name));
            }
        }
    }
}

#[test]
fn of_every_flipped_byte_all_that_is_good_is_kept_or_shown() {
    let whole = three_segments(true);
    let all = written().len() as u64;
    for name in names(&whole) {
        let bytes = whole.contents(&name);
        for at in 0..bytes.len() {
            let disk = three_segments(true);
            disk.flip(&name, at, at as u8);
            let (salvaged, target, _) = rescue(&disk);
            let frame = frames(&bytes).into_iter().rfind(|start| *start <= at);
            // Byte 56 of a frame is its kind: 0 for commits.
            let holds_events = frame.is_some_and(|start| bytes[start + 56] == 0);
            if holds_events {
                let damage = salvaged.damage.expect("a frame is lost");
                assert_eq!((damage.segment, damage.offset), (name.clone(), frame.unwrap() as u64));
                let lost = all - salvaged.head.0 - salvaged.behind.events;
                // One frame of these logs has one commit.
                assert!((1..=4).contains(&lost), "byte {at} of {name} cost {lost} events");
                continue;
            }
            // A header or a mark: no event is lost, and the files are as they were.
            assert_eq!(salvaged.head.0, all, "byte {at} of {name}: {salvaged:?}");
            for name in names(&whole) {
                let (ours, theirs) = (target.contents(&name), whole.contents(&name));
                let body = SEGMENT_HEADER..;
                assert!(ours[body.clone()] == theirs[body], "byte {at}: {name}");
            }
        }
    }
}

#[test]
fn of_every_cut_file_the_frames_before_the_cut_are_kept() {
    let whole = three_segments(true);
    let all = written().len() as u64;
    for (index, name) in names(&whole).iter().enumerate() {
        let bytes = whole.contents(name);
        for length in 0..bytes.len() {
            let disk = three_segments(true);
            disk.put(name, &bytes[..length]);
            let (salvaged, ..) = rescue(&disk);
            let until = frames(&bytes).into_iter().filter(|start| *start > length).count();
            if index == 0 && length < frames(&bytes)[1] {
                assert_eq!(salvaged.head, Position::START);
            }
            assert!(salvaged.damage.is_some() || salvaged.head.0 == all, "cut to {length}");
            assert!(until > 0 || salvaged.head > Position::START || index == 0);
        }
    }
}

#[test]
fn segments_are_found_by_what_they_say() {
    let whole = three_segments(true);
    let names = names(&whole);
    let contents: Vec<_> = names.iter().map(|name| whole.contents(name)).collect();
    let all = written().len() as u64;

    let swapped = three_segments(true);
    swapped.put(&names[1], &contents[2]);
    swapped.put(&names[2], &contents[1]);
    let (salvaged, target, _) = rescue(&swapped);
    assert_eq!((salvaged.head.0, salvaged.damage), (all, None));
    assert_eq!(salvaged.mended.len(), 2);
    assert!(names.iter().zip(&contents).all(|(name, bytes)| target.contents(name) == *bytes));

    let missing = three_segments(true);
    missing.remove(&names[1]).unwrap();
    let (salvaged, _, behind) = rescue(&missing);
    let damage = salvaged.damage.unwrap();
    assert_eq!((&damage.segment, damage.offset), (&names[1], 0));
    assert_eq!(salvaged.segments, 1);
    assert_eq!(behind.last().map(|event| event.position.0), Some(all));

    let first_missing = three_segments(true);
    first_missing.remove(&names[0]).unwrap();
    let (salvaged, _, behind) = rescue(&first_missing);
    assert_eq!((salvaged.head, salvaged.segments), (Position::START, 0));
    assert_eq!(salvaged.behind.first, behind.first().map(|event| event.position));
    assert_eq!(behind.last().map(|event| event.position.0), Some(all));

    let garbage = three_segments(true);
    garbage.put(&names[1], &[0xA7; 3_000]);
    let (salvaged, _, behind) = rescue(&garbage);
    assert_eq!(salvaged.segments, 1);
    assert!(!behind.is_empty());

    let all_headers = three_segments(true);
    names.iter().for_each(|name| all_headers.flip(name, 20, 1));
    let (salvaged, ..) = rescue(&all_headers);
    assert_eq!((salvaged.head.0, salvaged.mended.len()), (all, 3));
}

#[test]
fn a_torn_tail_is_no_damage() {
    let disk = three_segments(false);
    let last = names(&disk).pop().unwrap();
    let at = *frames(&disk.contents(&last)).last().unwrap();
    disk.flip(&last, at + 110, 1);
    let (salvaged, ..) = rescue(&disk);
    assert_eq!(salvaged.damage, None);
    assert!(salvaged.head.0 < written().len() as u64);
}

#[test]
fn without_segments_there_is_nothing_to_salvage() {
    let empty = new_disk();
    for put in [false, true] {
        if put {
            empty.put("00000000000000000001.segment", &[7; 900]);
        }
        let result = salvage_disk(&empty, &new_disk(), &mut |_| {}, &mut |_, _| {});
        assert!(matches!(result, Err(SalvageError::NoLog)), "{result:?}");
    }
}

#[tokio::test]
async fn a_folder_is_salvaged_into_a_new_one_only() {
    let (log, folder) = make().await;
    log.append(commit(stream(root()), Expectation::Any, &["kept"])).await.unwrap();
    log.close().await.unwrap();
    let salvage = |to: &Path| salvage(folder.path(), to, &mut |_| {}, &mut |_, _| {});
    assert!(matches!(salvage(folder.path()), Err(SalvageError::SameFolder)));
    let target = tempfile::tempdir().unwrap();
    let new = target.path().join("new");
    assert_eq!(salvage(&new).unwrap().head, Position(1));
    assert!(matches!(salvage(&new), Err(SalvageError::NotEmpty { .. })));
    let (copy, opened) = SegmentLog::open(&new, small()).unwrap();
    assert_eq!((opened.head, opened.log), (Position(1), log.id()));
    copy.append(commit(stream(root()), Expectation::Any, &["and on"])).await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Several damages at once: no panic, nothing that was not written, nothing kept twice.
    #[test]
    fn whatever_happened_what_is_kept_was_written(
        damages in prop::collection::vec((0..3usize, 0..2_000usize, 0..7u8, any::<u8>()), 1..6),
    ) {
        let disk = three_segments(true);
        let names = names(&disk);
        for (segment, at, kind, byte) in damages {
            let mut bytes = disk.contents(&names[segment]);
            let at = at.min(bytes.len());
            match kind {
                0 => disk.flip(&names[segment], at, byte),
                1 => disk.put(&names[segment], &bytes[..at]),
                2 => {
                    bytes[at..].iter_mut().take(usize::from(byte)).for_each(|byte| *byte = 0);
                    disk.put(&names[segment], &bytes);
                }
                3 => {
                    bytes.splice(at..at, [byte; 3]);
                    disk.put(&names[segment], &bytes);
                }
                4 => {
                    let other = disk.contents(&names[usize::from(byte) % 3]);
                    disk.put(&names[segment], &other);
                }
                5 => disk.put(&names[segment], &bytes.repeat(1 + usize::from(byte % 2))),
                _ => {
                    let mut chance = fastrand::Rng::with_seed(u64::from(byte));
                    let garbage: Vec<u8> = (0..at).map(|_| chance.u8(..)).collect();
                    disk.put(&names[segment], &garbage);
                }
            }
        }
        let result = salvage_disk(&disk, &new_disk(), &mut |_| {}, &mut |_, _| {});
        if result.is_ok() {
            check_kept(&disk);
        }
        let mut shown = Vec::new();
        let view = View::over(disk.clone(), Position::START).and_then(|mut view| {
            view.read(&mut |event| {
                shown.push(event.clone());
                std::ops::ControlFlow::Continue(())
            })
        });
        prop_assert!(shown[..] == written()[..shown.len()]);
        prop_assert!(view.is_ok() == verified(&disk).is_ok());
        // A backup refuses what doesn't verify.
        let copied = crate::segment::backup::copy_new(&disk, &new_disk(), &mut |_, _| {});
        prop_assert!(copied.is_ok() || verified(&disk).is_err());
    }
}

/// Like [`rescue`], where files may stand twice and events be shown twice.
fn check_kept(disk: &SimDisk) {
    let (target, mut behind) = (new_disk(), Vec::new());
    let salvaged =
        salvage_disk(disk, &target, &mut |event| behind.push(event.clone()), &mut |_, _| {});
    let salvaged = salvaged.unwrap();
    let written = written();
    if salvaged.head > Position::START {
        let mut kept = Vec::new();
        let mut collect = |event: &Recorded| {
            kept.push(event.clone());
            Ok(())
        };
        verify(&target, &mut collect, &mut |_, _| {}).unwrap();
        assert!(kept[..] == written[..kept.len()]);
        reopen(&target).unwrap();
    }
    for event in &behind {
        assert_eq!(event, &written[event.position.0 as usize - 1]);
    }
}
