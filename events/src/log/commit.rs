//! What goes into a log and what comes out of it.

use bytes::Bytes;

use super::AppendError;
use crate::{EventType, Fingerprint, OperationId, Position, Revision, RootId, StreamId, Timestamp};

/// The largest payload of one event, in bytes (inclusive): a long model answer with its tool
/// results fits many times over, and a reader can hold one in memory.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The largest sum of payloads and metadata of one commit, in bytes (inclusive): two of the
/// largest events, so that a frame stays well below what a u32 can count.
pub const MAX_COMMIT_BYTES: usize = 32 * 1024 * 1024;

/// The most events in one commit (inclusive): it keeps a commit's ordinals in a u16, and a
/// decision that needs more is a batch in disguise.
pub const MAX_COMMIT_EVENTS: usize = 4_096;

/// All events of one command: written whole or not at all.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The root that every stream of this commit belongs to.
    pub root: RootId,
    /// The intention behind it; it takes effect once.
    pub operation: OperationId,
    /// What the operation was asked to do.
    pub fingerprint: Fingerprint,
    /// What to write, in order; each stream at most once. May be empty.
    pub appends: Vec<Append>,
    /// What the decision relied on in streams that it does not write.
    pub checks: Vec<Check>,
    /// Metadata of all events of the commit; opaque to the log.
    pub meta: Bytes,
}

/// Events for one stream of a commit.
#[derive(Clone, Debug)]
pub struct Append {
    /// The stream to append to.
    pub stream: StreamId,
    /// What must hold of it.
    pub expected: Expectation,
    /// The events, in order. May be empty: the stream's revision then still enters the receipt.
    pub events: Vec<EventData>,
}

/// What a commit relies on in a stream that it does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Check {
    /// The stream.
    pub stream: StreamId,
    /// What must hold of it.
    pub expected: Expectation,
}

/// What must hold of a stream's revision for a commit to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Anything.
    Any,
    /// It has no events.
    NoStream,
    /// It has at least one event.
    Exists,
    /// It has exactly this many events.
    Exactly(Revision),
}

/// One event to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventData {
    /// What kind of fact it is.
    pub event_type: EventType,
    /// The version of the payload's schema.
    pub version: u8,
    /// How the payload is encoded; see [`codec`](crate::codec).
    pub codec: u8,
    /// The fact.
    pub payload: Bytes,
}

/// What an operation did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The operation.
    pub operation: OperationId,
    /// What it was asked to do.
    pub fingerprint: Fingerprint,
    /// When it was written.
    pub time: Timestamp,
    /// The head after this commit: the position of its last event or, for a commit without
    /// events, of the last event before it. A read that waits for it sees the commit.
    pub position: Position,
    /// How many events it wrote; their positions end at `position`.
    pub events: u32,
    /// The streams that it appended to, in its order, with the revision of each after it.
    pub streams: Vec<(StreamId, Revision)>,
    /// Whether this answers a repeat of an operation that was written before.
    pub replayed: bool,
}

/// One event as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its place in the global order.
    pub position: Position,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Its place in the stream.
    pub revision: Revision,
    /// When it was written. Never less than the time of an event before it.
    pub time: Timestamp,
    /// The operation that wrote it.
    pub operation: OperationId,
    /// What kind of fact it is.
    pub event_type: EventType,
    /// The version of the payload's schema.
    pub version: u8,
    /// How the payload is encoded.
    pub codec: u8,
    /// Metadata of its commit.
    pub meta: Bytes,
    /// The fact.
    pub payload: Bytes,
}

impl Commit {
    /// A commit to a root that does nothing yet, under an operation id of its own.
    pub fn new(root: RootId) -> Commit {
        Commit {
            root,
            operation: OperationId::random(),
            fingerprint: Fingerprint::of(&[]),
            appends: Vec::new(),
            checks: Vec::new(),
            meta: Bytes::new(),
        }
    }

    /// Under the caller's operation id, which takes effect once; `fingerprint` digests what the
    /// operation was asked to do.
    #[must_use]
    pub fn once(self, operation: OperationId, fingerprint: Fingerprint) -> Commit {
        Commit { operation, fingerprint, ..self }
    }

    /// Appends events to one more stream, if it is as expected.
    #[must_use]
    pub fn append(
        mut self,
        stream: StreamId,
        expected: Expectation,
        events: Vec<EventData>,
    ) -> Commit {
        self.appends.push(Append { stream, expected, events });
        self
    }

    /// Relies on one more stream, without writing to it.
    #[must_use]
    pub fn check(mut self, stream: StreamId, expected: Expectation) -> Commit {
        self.checks.push(Check { stream, expected });
        self
    }

    /// With metadata for all its events.
    #[must_use]
    pub fn meta(self, meta: Bytes) -> Commit {
        Commit { meta, ..self }
    }
}

impl Expectation {
    /// Whether a stream of this revision meets the expectation.
    pub fn holds(self, actual: Revision) -> bool {
        match self {
            Expectation::Any => true,
            Expectation::NoStream => actual == Revision::NONE,
            Expectation::Exists => actual > Revision::NONE,
            Expectation::Exactly(expected) => actual == expected,
        }
    }
}

impl Receipt {
    /// The position of the commit's first event; `None` if it wrote none.
    pub fn first(&self) -> Option<Position> {
        let before = self.position.0.checked_sub(u64::from(self.events))?;
        (self.events > 0).then_some(Position(before + 1))
    }

    /// The revision that the stream had after this commit, if the commit appended to it.
    pub fn revision(&self, stream: StreamId) -> Option<Revision> {
        let mut streams = self.streams.iter();
        streams.find(|(id, _)| *id == stream).map(|(_, revision)| *revision)
    }
}

/// Step 3 of an append: one root, each stream once, and the limits.
pub(crate) fn check_limits(commit: &Commit) -> Result<(), AppendError> {
    let checked = commit.checks.iter().map(|check| check.stream);
    let appended = commit.appends.iter().map(|append| append.stream);
    if let Some(stream) = appended.clone().chain(checked).find(|id| id.root != commit.root) {
        return Err(AppendError::WrongRoot { stream, root: commit.root });
    }
    // Nearly every commit is over one stream: no set is made for that.
    if commit.appends.len() > 1 {
        let mut seen = std::collections::HashSet::new();
        if let Some(stream) = appended.clone().find(|id| !seen.insert(*id)) {
            return Err(AppendError::StreamTwice { stream });
        }
    }
    let events = commit.appends.iter().flat_map(|append| &append.events);
    let count = events.clone().count();
    if count > MAX_COMMIT_EVENTS {
        return Err(AppendError::TooManyEvents { count, limit: MAX_COMMIT_EVENTS });
    }
    if commit.appends.len() > MAX_COMMIT_EVENTS {
        return Err(AppendError::TooManyStreams {
            count: commit.appends.len(),
            limit: MAX_COMMIT_EVENTS,
        });
    }
    let mut size = commit.meta.len();
    for event in events {
        if event.payload.len() > MAX_EVENT_BYTES {
            return Err(AppendError::EventTooLarge {
                size: event.payload.len(),
                limit: MAX_EVENT_BYTES,
            });
        }
        size = size.saturating_add(event.payload.len());
    }
    if size > MAX_COMMIT_BYTES {
        return Err(AppendError::CommitTooLarge { size, limit: MAX_COMMIT_BYTES });
    }
    Ok(())
}
