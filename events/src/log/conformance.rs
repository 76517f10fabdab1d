//! The suite that every [`EventLog`] passes.
//!
//! [`event_log_conformance!`](crate::event_log_conformance) makes a test of each case, given an
//! expression that makes an empty log and whatever must live as long as it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod appending;
mod reading;

use bytes::Bytes;
use futures::TryStreamExt as _;
use uuid::Uuid;

pub use appending::*;
pub use reading::*;

use super::{Append, Commit, EventData, EventLog, Expectation, Recorded};
use crate::{Category, EventType, Fingerprint, OperationId, Revision, RootId, StreamId};

/// A category of the suite's streams.
pub const CATEGORY: Category = Category(700);

/// A root of its own.
pub fn root() -> RootId {
    RootId(Uuid::now_v7())
}

/// A new stream of a root.
pub fn stream(root: RootId) -> StreamId {
    StreamId { category: CATEGORY, root, id: Uuid::now_v7() }
}

/// An event with this text.
pub fn event(text: &str) -> EventData {
    EventData {
        event_type: EventType(1),
        version: 1,
        codec: 0,
        payload: Bytes::copy_from_slice(text.as_bytes()),
    }
}

/// A commit of events to one stream.
pub fn commit(stream: StreamId, expected: Expectation, texts: &[&str]) -> Commit {
    let events: Vec<_> = texts.iter().map(|text| event(text)).collect();
    Commit {
        root: stream.root,
        operation: OperationId::random(),
        fingerprint: Fingerprint::of(texts.concat().as_bytes()),
        appends: vec![Append { stream, expected, events }],
        checks: Vec::new(),
        meta: Bytes::from_static(b"meta"),
    }
}

/// The texts of a stream's events.
pub async fn texts(log: &impl EventLog, stream: StreamId) -> Vec<String> {
    let events: Vec<Recorded> =
        log.read_stream(stream, Revision::NONE).try_collect().await.expect("the stream reads");
    events.iter().map(text).collect()
}

/// An event's text.
pub fn text(event: &Recorded) -> String {
    String::from_utf8(event.payload.to_vec()).expect("the suite writes text")
}

/// Makes a test of each case of the suite. The expression is awaited in each test and gives a
/// pair: the log, and a guard that lives as long as the test.
#[macro_export]
macro_rules! event_log_conformance {
    ($make:expr) => {
        $crate::event_log_conformance!(
            $make;
            first_event_is_position_and_revision_one,
            positions_have_no_gaps_over_streams,
            each_expectation_holds_or_conflicts,
            a_conflict_names_its_values_and_writes_nothing,
            a_repeat_answers_the_first_receipt,
            a_repeat_is_known_before_its_revision_is_checked,
            other_arguments_under_one_operation_are_refused,
            an_operation_is_global_over_streams,
            a_refused_commit_leaves_its_operation_free,
            a_commit_over_streams_is_whole_or_not_at_all,
            a_commit_of_two_roots_is_refused,
            a_stream_stands_once_in_a_commit,
            a_check_must_hold_and_writes_nothing,
            a_commit_without_events_leaves_a_receipt,
            limits_are_told_with_both_figures,
            a_conflict_is_told_before_a_limit,
            one_of_many_writers_wins_each_revision,
            one_commit_sent_many_times_at_once_is_written_once,
            what_was_written_is_read_back,
            a_stream_is_read_after_a_revision,
            positions_out_of_range_are_refused,
            all_events_are_read_up_to_a_position,
            filters_pass_categories_and_types,
            a_follower_sees_each_event_once_across_the_seam,
            a_follower_can_begin_beyond_the_head,
            the_head_moves_with_each_commit,
        );
    };
    ($make:expr; $($case:ident),+ $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let (log, _guard) = $make.await;
                $crate::log::conformance::$case(&log).await;
            }
        )+
    };
}
