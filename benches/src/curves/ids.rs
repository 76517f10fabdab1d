//! The ids of a filled log, which the filling and the opening process both know.

use scripta_events::OperationId;
use uuid::Uuid;

/// How many events each stream has.
pub const STREAM_EVENTS: u64 = 100;

/// How many streams a log of so many events has: their events take turns, so that each stream is
/// spread over the whole log.
pub fn streams(events: u64) -> u64 {
    events / STREAM_EVENTS
}

pub fn stream(nth: u64) -> Uuid {
    Uuid::from_u64_pair(mixed(nth), nth)
}

pub fn operation(nth: u64) -> OperationId {
    OperationId(Uuid::from_u64_pair(nth, mixed(nth)))
}

/// A number that looks random and is the same in each process (SplitMix64).
pub fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
