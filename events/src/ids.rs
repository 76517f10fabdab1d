//! Identities and places: newtypes, so that no two of them can be swapped by accident.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The category of a stream: which aggregate it belongs to. Registered once, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Category(pub u16);

/// The consistency unit that a stream belongs to; a commit touches streams of one root only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RootId(pub Uuid);

/// The identity of a stream: its category, the root it belongs to, and its own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamId {
    /// Which kind of aggregate this is.
    pub category: Category,
    /// The consistency unit.
    pub root: RootId,
    /// The stream's own id, unique within its category.
    pub id: Uuid,
}

/// The place of an event in the global order: 1 for the first event of a log, then 2, 3 …
/// without gaps. [`Position::START`] (0) is before the first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position(pub u64);

/// How many events a stream has; the first event makes it 1. 0 is a stream without events.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Revision(pub u64);

/// The identity of one intention to change something: it takes effect once, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId(pub Uuid);

/// A digest of what an operation was asked to do, so that the same id with other arguments is
/// told apart from a repeat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 32]);

/// The identity of a log, made once when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogId(pub Uuid);

/// What kind of fact an event is: a code that is registered once and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventType(pub u16);

/// A moment, in microseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub i64);

impl Position {
    /// Before the first event.
    pub const START: Position = Position(0);

    /// The position after this one.
    pub fn next(self) -> Position {
        Position(self.0.saturating_add(1))
    }
}

impl Revision {
    /// The revision of a stream without events.
    pub const NONE: Revision = Revision(0);

    /// The revision after one more event.
    pub fn next(self) -> Revision {
        Revision(self.0.saturating_add(1))
    }
}

impl OperationId {
    /// A new operation id, for a caller who gave none.
    pub fn random() -> OperationId {
        OperationId(Uuid::now_v7())
    }
}

impl Fingerprint {
    /// The fingerprint of `bytes` (BLAKE3). The caller puts a version of its canonical form first.
    pub fn of(bytes: &[u8]) -> Fingerprint {
        Fingerprint(*blake3::hash(bytes).as_bytes())
    }
}

impl Timestamp {
    /// The operating system's time now. Held to 0 for a clock before 1970.
    pub fn now() -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = since.map(|elapsed| elapsed.as_micros()).unwrap_or(0);
        Timestamp(i64::try_from(micros).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `category/root/id`, the form that errors name a stream by.
impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.category, self.root, self.id)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Four hexadecimal digits, as the registry writes them.
impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = blake3::Hash::from(self.0);
        write!(f, "Fingerprint({})", hash.to_hex())
    }
}
