//! Cases about what may be appended, and what a receipt says.

use bytes::Bytes;
use futures::future::join_all;

use super::{commit, event, root, stream, text, texts};
use crate::log::{
    Append, AppendError, Check, Commit, EventData, EventLog, Expectation, MAX_COMMIT_BYTES,
    MAX_COMMIT_EVENTS, MAX_EVENT_BYTES, Receipt,
};
use crate::{Fingerprint, OperationId, Position, Revision};

/// Both begin at 1.
pub async fn first_event_is_position_and_revision_one(log: &impl EventLog) {
    let stream = stream(root());
    let receipt = log.append(commit(stream, Expectation::NoStream, &["a"])).await.unwrap();
    assert_eq!(receipt.first(), Some(Position(1)));
    assert_eq!(receipt.position, Position(1));
    assert_eq!(receipt.streams, [(stream, Revision(1))]);
    assert!(!receipt.replayed);
    assert_eq!(log.revision(stream).await.unwrap(), Revision(1));
}

/// Positions count all events, revisions those of a stream.
pub async fn positions_have_no_gaps_over_streams(log: &impl EventLog) {
    let (one, other) = (stream(root()), stream(root()));
    log.append(commit(one, Expectation::Any, &["a", "b"])).await.unwrap();
    log.append(commit(other, Expectation::Any, &["c"])).await.unwrap();
    let third = log.append(commit(one, Expectation::Any, &["d", "e"])).await.unwrap();
    assert_eq!((third.first(), third.position), (Some(Position(4)), Position(5)));
    assert_eq!(third.revision(one), Some(Revision(4)));
    for position in 1..=5 {
        let event = log.read_at(Position(position)).await.unwrap();
        assert_eq!(event.position, Position(position));
    }
    assert_eq!(log.revision(other).await.unwrap(), Revision(1));
}

/// Every expectation, of a stream without events and of one with two.
pub async fn each_expectation_holds_or_conflicts(log: &impl EventLog) {
    let table = [
        (0, Expectation::Any, true),
        (0, Expectation::NoStream, true),
        (0, Expectation::Exists, false),
        (0, Expectation::Exactly(Revision(0)), true),
        (0, Expectation::Exactly(Revision(1)), false),
        (2, Expectation::Any, true),
        (2, Expectation::NoStream, false),
        (2, Expectation::Exists, true),
        (2, Expectation::Exactly(Revision(1)), false),
        (2, Expectation::Exactly(Revision(2)), true),
        (2, Expectation::Exactly(Revision(3)), false),
    ];
    for (present, expected, holds) in table {
        let stream = stream(root());
        for _ in 0..present {
            log.append(commit(stream, Expectation::Any, &["x"])).await.unwrap();
        }
        let result = log.append(commit(stream, expected, &["y"])).await;
        assert_eq!(result.is_ok(), holds, "{expected:?} of a stream with {present} events");
    }
}

/// The stream, what was expected, and what is.
pub async fn a_conflict_names_its_values_and_writes_nothing(log: &impl EventLog) {
    let stream = stream(root());
    log.append(commit(stream, Expectation::Any, &["a"])).await.unwrap();
    let expectation = Expectation::Exactly(Revision(7));
    let refused = log.append(commit(stream, expectation, &["b"])).await.unwrap_err();
    match refused {
        AppendError::Conflict { stream: named, expected, actual } => {
            assert_eq!((named, expected, actual), (stream, expectation, Revision(1)));
        }
        other => panic!("not a conflict: {other}"),
    }
    assert_eq!(texts(log, stream).await, ["a"]);
    assert_eq!(*log.head().borrow(), Position(1));
}

/// The same receipt, marked, and nothing written.
pub async fn a_repeat_answers_the_first_receipt(log: &impl EventLog) {
    let stream = stream(root());
    let once = commit(stream, Expectation::Any, &["a", "b"]);
    let first = log.append(once.clone()).await.unwrap();
    log.append(commit(stream, Expectation::Any, &["c"])).await.unwrap();
    let again = log.append(once.clone()).await.unwrap();
    assert_eq!(again, Receipt { replayed: true, ..first.clone() });
    assert_eq!(log.receipt(once.operation).await.unwrap(), Some(first));
    assert_eq!(texts(log, stream).await, ["a", "b", "c"]);
}

/// A repeat comes with the revision of then.
pub async fn a_repeat_is_known_before_its_revision_is_checked(log: &impl EventLog) {
    let stream = stream(root());
    let once = commit(stream, Expectation::NoStream, &["a"]);
    log.append(once.clone()).await.unwrap();
    assert!(log.append(once).await.unwrap().replayed);
}

/// Never a silent replay.
pub async fn other_arguments_under_one_operation_are_refused(log: &impl EventLog) {
    let stream = stream(root());
    let once = commit(stream, Expectation::Any, &["a"]);
    log.append(once.clone()).await.unwrap();
    let other = Commit { fingerprint: Fingerprint::of(b"other"), ..once.clone() };
    match log.append(other).await.unwrap_err() {
        AppendError::OperationReused { operation } => assert_eq!(operation, once.operation),
        error => panic!("not refused as reused: {error}"),
    }
    assert_eq!(texts(log, stream).await, ["a"]);
}

/// One id, two streams: the second is a repeat or a misuse, never an effect.
pub async fn an_operation_is_global_over_streams(log: &impl EventLog) {
    let (one, other) = (stream(root()), stream(root()));
    let once = commit(one, Expectation::Any, &["a"]);
    let first = log.append(once.clone()).await.unwrap();
    let misused = Commit { operation: once.operation, ..commit(other, Expectation::Any, &["a"]) };
    let again = log.append(misused).await.unwrap();
    assert!(again.replayed);
    assert_eq!(again.streams, first.streams);
    assert!(texts(log, other).await.is_empty());
}

/// Only what was written is remembered.
pub async fn a_refused_commit_leaves_its_operation_free(log: &impl EventLog) {
    let stream = stream(root());
    let early = commit(stream, Expectation::Exists, &["a"]);
    log.append(early.clone()).await.unwrap_err();
    assert_eq!(log.receipt(early.operation).await.unwrap(), None);
    let mut changed = commit(stream, Expectation::NoStream, &["b"]);
    changed.operation = early.operation;
    assert!(!log.append(changed).await.unwrap().replayed);
}

/// Two streams of one root; the second expectation fails the whole.
pub async fn a_commit_over_streams_is_whole_or_not_at_all(log: &impl EventLog) {
    let root = root();
    let (one, other) = (stream(root), stream(root));
    let mut both = commit(one, Expectation::Any, &["a"]);
    let events = vec![event("b"), event("c")];
    both.appends.push(Append { stream: other, expected: Expectation::Exists, events });
    log.append(both.clone()).await.unwrap_err();
    assert!(texts(log, one).await.is_empty());
    both.appends[1].expected = Expectation::NoStream;
    let receipt = log.append(both).await.unwrap();
    assert_eq!(receipt.streams, [(one, Revision(1)), (other, Revision(2))]);
    assert_eq!(receipt.events, 3);
    assert_eq!(texts(log, other).await, ["b", "c"]);
    let second = log.read_at(Position(receipt.first().unwrap().0 + 1)).await.unwrap();
    assert_eq!((second.stream, second.revision, text(&second).as_str()), (other, Revision(1), "b"));
}

/// Appends and checks alike.
pub async fn a_commit_of_two_roots_is_refused(log: &impl EventLog) {
    let foreign = stream(root());
    let mut appended = commit(stream(root()), Expectation::Any, &["a"]);
    let mut checked = appended.clone();
    appended.appends[0].stream = foreign;
    checked.checks.push(Check { stream: foreign, expected: Expectation::Any });
    for refused in [appended, checked] {
        match log.append(refused).await.unwrap_err() {
            AppendError::WrongRoot { stream, .. } => assert_eq!(stream, foreign),
            error => panic!("not refused for its root: {error}"),
        }
    }
}

/// Which of two expectations would count?
pub async fn a_stream_stands_once_in_a_commit(log: &impl EventLog) {
    let mut twice = commit(stream(root()), Expectation::Any, &["a"]);
    twice.appends.push(twice.appends[0].clone());
    let refused = log.append(twice.clone()).await.unwrap_err();
    assert!(
        matches!(refused, AppendError::StreamTwice { stream } if stream == twice.appends[0].stream)
    );
}

/// What the decision relied on.
pub async fn a_check_must_hold_and_writes_nothing(log: &impl EventLog) {
    let root = root();
    let (relied, written) = (stream(root), stream(root));
    log.append(commit(relied, Expectation::Any, &["x"])).await.unwrap();
    let mut checked = commit(written, Expectation::Any, &["a"]);
    checked.checks = vec![Check { stream: relied, expected: Expectation::Exactly(Revision(2)) }];
    let refused = log.append(checked.clone()).await.unwrap_err();
    assert!(matches!(refused, AppendError::Conflict { stream, .. } if stream == relied));
    checked.checks[0].expected = Expectation::Exactly(Revision(1));
    let receipt = log.append(checked).await.unwrap();
    assert_eq!(receipt.revision(relied), None);
    assert_eq!(log.revision(relied).await.unwrap(), Revision(1));
}

/// A change that found nothing to change, and takes effect once all the same.
pub async fn a_commit_without_events_leaves_a_receipt(log: &impl EventLog) {
    let stream = stream(root());
    log.append(commit(stream, Expectation::Any, &["a"])).await.unwrap();
    let nothing = commit(stream, Expectation::Exactly(Revision(1)), &[]);
    let first = log.append(nothing.clone()).await.unwrap();
    assert_eq!((first.events, first.first(), first.position), (0, None, Position(1)));
    assert_eq!(first.revision(stream), Some(Revision(1)));
    let mut bare = nothing.clone();
    bare.operation = OperationId::random();
    bare.appends.clear();
    assert!(log.append(bare.clone()).await.unwrap().streams.is_empty());
    log.append(commit(stream, Expectation::Any, &["b"])).await.unwrap();
    assert!(log.append(nothing).await.unwrap().replayed);
    assert!(log.append(bare).await.unwrap().replayed);
    assert_eq!(*log.head().borrow(), Position(2));
}

/// The largest that fits is taken, one more is refused.
pub async fn limits_are_told_with_both_figures(log: &impl EventLog) {
    let stream = stream(root());
    let sized = |sizes: &[usize]| {
        let mut commit = commit(stream, Expectation::Any, &[]);
        let payload = |size: &usize| EventData { payload: vec![7; *size].into(), ..event("") };
        commit.appends[0].events = sizes.iter().map(payload).collect();
        commit.meta = Bytes::new();
        commit
    };
    log.append(sized(&[MAX_EVENT_BYTES, MAX_EVENT_BYTES])).await.unwrap();
    match log.append(sized(&[MAX_EVENT_BYTES + 1])).await.unwrap_err() {
        AppendError::EventTooLarge { size, limit } => {
            assert_eq!((size, limit), (MAX_EVENT_BYTES + 1, MAX_EVENT_BYTES));
        }
        error => panic!("not refused for its size: {error}"),
    }
    match log.append(sized(&[MAX_EVENT_BYTES, MAX_EVENT_BYTES, 1])).await.unwrap_err() {
        AppendError::CommitTooLarge { size, limit } => {
            assert_eq!((size, limit), (MAX_COMMIT_BYTES + 1, MAX_COMMIT_BYTES));
        }
        error => panic!("not refused for its size: {error}"),
    }
    log.append(sized(&[0; MAX_COMMIT_EVENTS])).await.unwrap();
    match log.append(sized(&[0; MAX_COMMIT_EVENTS + 1])).await.unwrap_err() {
        AppendError::TooManyEvents { count, limit } => {
            assert_eq!((count, limit), (MAX_COMMIT_EVENTS + 1, MAX_COMMIT_EVENTS));
        }
        error => panic!("not refused for its events: {error}"),
    }
    let revision = log.revision(stream).await.unwrap();
    assert_eq!(revision, Revision(2 + MAX_COMMIT_EVENTS as u64));
}

/// The order of the checks.
pub async fn a_conflict_is_told_before_a_limit(log: &impl EventLog) {
    let mut commit = commit(stream(root()), Expectation::Exists, &[]);
    commit.appends[0].events =
        vec![EventData { payload: vec![7; MAX_EVENT_BYTES + 1].into(), ..event("") }];
    let refused = log.append(commit).await.unwrap_err();
    assert!(matches!(refused, AppendError::Conflict { .. }), "{refused}");
}

/// Sixteen at once expect each revision; one gets it.
pub async fn one_of_many_writers_wins_each_revision(log: &impl EventLog) {
    const WRITERS: usize = 16;
    const ROUNDS: u64 = 20;
    let stream = stream(root());
    for round in 0..ROUNDS {
        let expected = Expectation::Exactly(Revision(round));
        let all = (0..WRITERS).map(|_| log.append(commit(stream, expected, &["x"])));
        let results = join_all(all).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        let conflicts = results.iter().filter(|result| {
            matches!(result, Err(AppendError::Conflict { actual, .. }) if *actual == Revision(round + 1))
        });
        assert_eq!(conflicts.count(), WRITERS - 1);
    }
    assert_eq!(log.revision(stream).await.unwrap(), Revision(ROUNDS));
}

/// A client that repeats after a timeout, before the first answer.
pub async fn one_commit_sent_many_times_at_once_is_written_once(log: &impl EventLog) {
    let stream = stream(root());
    let once = commit(stream, Expectation::NoStream, &["a"]);
    let results = join_all((0..16).map(|_| log.append(once.clone()))).await;
    let receipts: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
    assert_eq!(receipts.iter().filter(|receipt| !receipt.replayed).count(), 1);
    assert!(receipts.iter().all(|receipt| receipt.position == Position(1)));
    assert_eq!(texts(log, stream).await, ["a"]);
}
