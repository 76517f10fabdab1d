//! The contract of an event log: what may be appended, what a receipt says, what can be read.
//!
//! [`EventLog`] is object safe: a program holds an `Arc<dyn EventLog>` and doesn't know whether a
//! folder of segments or memory is behind it. It knows no event of any domain: bytes in, bytes
//! out; [`codec`](crate::codec) is the typed layer above.
//!
//! A write is a [`Commit`], made up step by step:
//!
//! ```
//! # use scripta_events::log::{Commit, EventData, EventLog as _, Expectation, memory::MemoryLog};
//! # use scripta_events::{Category, EventType, Fingerprint, OperationId, Revision, RootId, StreamId};
//! # use uuid::Uuid;
//! # #[tokio::main]
//! # async fn main() -> Result<(), scripta_events::log::AppendError> {
//! # let log = MemoryLog::new();
//! let root = RootId(Uuid::now_v7());
//! let stream = |category, id| StreamId { category: Category(category), root, id };
//! let (cart, order) = (stream(1, root.0), stream(2, Uuid::now_v7()));
//! # let event = |code| EventData { event_type: EventType(code), version: 1, codec: 1, payload: "".into() };
//! # let (operation, asked) = (OperationId::random(), Fingerprint::of(b"order 1"));
//! # log.append(Commit::new(root).append(cart, Expectation::Any, vec![event(1)])).await?;
//! let commit = Commit::new(root)
//!     .once(operation, asked)                                           // who asks twice gets one order
//!     .append(order, Expectation::NoStream, vec![event(2), event(3)])   // both events, or neither
//!     .check(cart, Expectation::Exactly(Revision(1)));                  // and the cart as it was seen
//! let receipt = log.append(commit).await?;
//! assert_eq!((receipt.events, receipt.revision(order)), (2, Some(Revision(2))));
//! # Ok(())
//! # }
//! ```

mod commit;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
pub mod memory;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::sync::watch;

pub(crate) use commit::check_limits;
pub use commit::{
    Append, Check, Commit, EventData, Expectation, MAX_COMMIT_BYTES, MAX_COMMIT_EVENTS,
    MAX_EVENT_BYTES, Receipt, Recorded,
};
pub use error::{AppendError, ReadError};

use crate::{Category, EventType, LogId, OperationId, Position, Revision, StreamId};

/// An append-only log of events with atomic commits over the streams of one root.
///
/// Every implementation runs the same conformance suite (feature `conformance`).
pub trait EventLog: Send + Sync + 'static {
    /// The log's identity.
    fn id(&self) -> LogId;

    /// Appends a commit. It is checked, in this order and atomically with the write:
    ///
    /// 1. its operation id: known with the same fingerprint, the first receipt comes back with
    ///    [`replayed`](Receipt::replayed) set and nothing is written; known with another,
    ///    [`AppendError::OperationReused`];
    /// 2. each expectation of its appends and checks: [`AppendError::Conflict`];
    /// 3. its root and its limits;
    ///
    /// and then written. When this returns `Ok`, the commit is durable.
    ///
    /// # Errors
    ///
    /// Every error but [`AppendError::OutcomeUnknown`] means that nothing was written, and the
    /// operation id is free. After `OutcomeUnknown` or a future that was dropped, repeat the
    /// commit under the same operation id to learn what happened.
    fn append(&self, commit: Commit) -> BoxFuture<'static, Result<Receipt, AppendError>>;

    /// What the operation did, or `None` if no such operation was written.
    fn receipt(
        &self,
        operation: OperationId,
    ) -> BoxFuture<'static, Result<Option<Receipt>, ReadError>>;

    /// The revision of a stream: how many durable events it has, 0 for a stream without any.
    fn revision(&self, stream: StreamId) -> BoxFuture<'static, Result<Revision, ReadError>>;

    /// Whether the log knows, from memory alone and without waiting, that a stream which was at
    /// `revision` when the head was `seen` or later is still there. `false` says nothing: ask for
    /// the [`revision`](EventLog::revision).
    fn is_still_at(&self, _stream: StreamId, _revision: Revision, _seen: Position) -> bool {
        false
    }

    /// The events of a stream with revisions greater than `after`, in order, up to what was
    /// durable at the time of the call; then the stream of results ends. It ends after an error,
    /// too.
    fn read_stream(
        &self,
        stream: StreamId,
        after: Revision,
    ) -> BoxStream<'static, Result<Recorded, ReadError>>;

    /// The event at a position. [`ReadError::NoSuchPosition`] if it is 0 or not durable yet.
    fn read_at(&self, position: Position) -> BoxFuture<'static, Result<Recorded, ReadError>>;

    /// The events with positions greater than `after` that pass the filter, in order. It goes
    /// from history to live without a gap or a duplicate, and ends only at
    /// [`Filter::until`], after an error, or when the log is closed. It may begin beyond the
    /// head, and then waits.
    fn read_all(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Recorded, ReadError>>;

    /// A watch of the last durable position. Nothing beyond it is ever shown.
    fn head(&self) -> watch::Receiver<Position>;
}

/// Which events a reader of the whole log wants. The default is all of them, for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these categories; `None` for all.
    pub categories: Option<Vec<Category>>,
    /// Only these types; `None` for all.
    pub types: Option<Vec<EventType>>,
    /// The last position to read (inclusive): the reading ends there, whether or not that event
    /// passed. `None` follows the log for ever.
    pub until: Option<Position>,
}

impl Filter {
    /// All events up to and including `position`.
    pub fn until(position: Position) -> Filter {
        Filter { until: Some(position), ..Filter::default() }
    }

    /// Whether an event of this category and type passes.
    pub fn passes(&self, category: Category, event_type: EventType) -> bool {
        let categories = self.categories.as_ref();
        let types = self.types.as_ref();
        categories.is_none_or(|wanted| wanted.contains(&category))
            && types.is_none_or(|wanted| wanted.contains(&event_type))
    }
}
