//! Cases about reading and following.

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};

use super::{commit, event, root, stream, text, texts};
use crate::log::{EventData, EventLog, Expectation, Filter, ReadError, Recorded};
use crate::{Category, EventType, Position, Revision};

/// Every field of an event, for payloads of every kind of size.
pub async fn what_was_written_is_read_back(log: &impl EventLog) {
    let stream = stream(root());
    let payloads = [0, 1, 255, 4_096, 1_000_003].map(|size| Bytes::from(vec![0xA5; size]));
    let mut written = commit(stream, Expectation::NoStream, &[]);
    written.meta = Bytes::from_static(b"who and why");
    written.appends[0].events = payloads
        .iter()
        .zip(10..)
        .map(|(payload, code)| EventData {
            event_type: EventType(code),
            version: 3,
            codec: 9,
            payload: payload.clone(),
        })
        .collect();
    let receipt = log.append(written.clone()).await.unwrap();
    let events: Vec<Recorded> =
        log.read_stream(stream, Revision::NONE).try_collect().await.unwrap();
    for (index, (event, payload)) in events.iter().zip(&payloads).enumerate() {
        let expected = Recorded {
            position: Position(index as u64 + 1),
            stream,
            revision: Revision(index as u64 + 1),
            time: receipt.time,
            operation: written.operation,
            event_type: EventType(index as u16 + 10),
            version: 3,
            codec: 9,
            meta: written.meta.clone(),
            payload: payload.clone(),
        };
        assert_eq!(*event, expected);
        assert_eq!(log.read_at(event.position).await.unwrap(), expected);
    }
    assert_eq!(events.len(), payloads.len());
}

/// Exclusive of the revision named.
pub async fn a_stream_is_read_after_a_revision(log: &impl EventLog) {
    let (wanted, other) = (stream(root()), stream(root()));
    for round in 0..5 {
        log.append(commit(wanted, Expectation::Any, &[&format!("{round}")])).await.unwrap();
        log.append(commit(other, Expectation::Any, &["no"])).await.unwrap();
    }
    let after: Vec<Recorded> = log.read_stream(wanted, Revision(3)).try_collect().await.unwrap();
    assert_eq!(after.iter().map(text).collect::<Vec<_>>(), ["3", "4"]);
    assert!(log.read_stream(wanted, Revision(5)).next().await.is_none());
    assert!(log.read_stream(wanted, Revision(u64::MAX)).next().await.is_none());
    assert!(texts(log, stream(root())).await.is_empty());
}

/// 0, and the one after the head.
pub async fn positions_out_of_range_are_refused(log: &impl EventLog) {
    log.append(commit(stream(root()), Expectation::Any, &["a"])).await.unwrap();
    for out in [Position(0), Position(2), Position(u64::MAX)] {
        match log.read_at(out).await.unwrap_err() {
            ReadError::NoSuchPosition { position, head } => {
                assert_eq!((position, head), (out, Position(1)));
            }
            error => panic!("not refused for its position: {error}"),
        }
    }
}

/// Inclusive of the last position, exclusive of the one it begins after.
pub async fn all_events_are_read_up_to_a_position(log: &impl EventLog) {
    let stream = stream(root());
    log.append(commit(stream, Expectation::Any, &["a", "b", "c", "d"])).await.unwrap();
    let read = async |after, until| -> Vec<String> {
        let events = log.read_all(Position(after), Filter::until(Position(until)));
        events.map_ok(|event| text(&event)).try_collect().await.unwrap()
    };
    assert_eq!(read(0, 4).await, ["a", "b", "c", "d"]);
    assert_eq!(read(1, 3).await, ["b", "c"]);
    assert!(read(3, 3).await.is_empty());
    assert!(read(0, 0).await.is_empty());
}

/// By category, by type, by both.
pub async fn filters_pass_categories_and_types(log: &impl EventLog) {
    let root = root();
    for (category, code) in [(701, 1), (702, 1), (701, 2), (702, 2)] {
        let mut stream = stream(root);
        stream.category = Category(category);
        let mut one = commit(stream, Expectation::Any, &[]);
        let text = format!("{category}-{code}");
        one.appends[0].events = vec![EventData { event_type: EventType(code), ..event(&text) }];
        log.append(one).await.unwrap();
    }
    let read = async |categories: Option<Vec<u16>>, types: Option<Vec<u16>>| -> Vec<String> {
        let filter = Filter {
            categories: categories.map(|all| all.into_iter().map(Category).collect()),
            types: types.map(|all| all.into_iter().map(EventType).collect()),
            until: Some(Position(4)),
        };
        let events = log.read_all(Position::START, filter);
        events.map_ok(|event| text(&event)).try_collect().await.unwrap()
    };
    assert_eq!(read(Some(vec![701]), None).await, ["701-1", "701-2"]);
    assert_eq!(read(None, Some(vec![2])).await, ["701-2", "702-2"]);
    assert_eq!(read(Some(vec![702]), Some(vec![1])).await, ["702-1"]);
    assert!(read(Some(vec![]), None).await.is_empty());
    assert_eq!(read(None, None).await.len(), 4);
}

/// Writers go on while three readers cross from history to live.
pub async fn a_follower_sees_each_event_once_across_the_seam(log: &impl EventLog) {
    const BEFORE: u64 = 200;
    const AFTER: u64 = 300;
    let stream = stream(root());
    for _ in 0..BEFORE {
        log.append(commit(stream, Expectation::Any, &["before"])).await.unwrap();
    }
    let follow = async |after: u64| {
        let events = log.read_all(Position(after), Filter::default());
        let wanted = usize::try_from(BEFORE + AFTER - after).unwrap();
        let positions: Vec<u64> =
            events.take(wanted).map_ok(|event| event.position.0).try_collect().await.unwrap();
        let expected: Vec<u64> = (after + 1..=BEFORE + AFTER).collect();
        assert_eq!(positions, expected);
    };
    let write = async {
        for _ in 0..AFTER {
            log.append(commit(stream, Expectation::Any, &["after"])).await.unwrap();
        }
    };
    futures::join!(follow(0), follow(BEFORE - 1), follow(BEFORE), write);
}

/// It waits until the log gets there.
pub async fn a_follower_can_begin_beyond_the_head(log: &impl EventLog) {
    let stream = stream(root());
    let mut events = log.read_all(Position(2), Filter::default());
    assert!(futures::poll!(events.next()).is_pending());
    log.append(commit(stream, Expectation::Any, &["a", "b", "c"])).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert_eq!((first.position, text(&first).as_str()), (Position(3), "c"));
}

/// And is at the receipt's position, or beyond it, once the receipt is there.
pub async fn the_head_moves_with_each_commit(log: &impl EventLog) {
    let stream = stream(root());
    let mut head = log.head();
    assert_eq!(*head.borrow_and_update(), Position::START);
    for round in 1..=3 {
        let receipt = log.append(commit(stream, Expectation::Any, &["a"])).await.unwrap();
        assert_eq!(receipt.position, Position(round));
        assert_eq!(*head.borrow_and_update(), Position(round));
    }
}
