//! An event log for Rust programs.
//!
//! Events are facts that a program appends to *streams* and never changes. A
//! [`Commit`](log::Commit) appends to one or several streams of one *root* atomically, under
//! an expected revision for each, and under an operation id that takes effect once, for ever.
//! Every event also has a place in one global order, its [`Position`], without gaps.
//!
//! * [`log`] is the contract: the [`EventLog`](log::EventLog) trait, commits, receipts and
//!   errors. Bytes in, bytes out: it knows no event of any domain.
//! * [`segment`] keeps a log in append-only files; [`log::memory`] keeps one in memory.
//! * [`codec`] is the typed layer above: versioned payloads, upcasting, strict decoding.
//! * [`domain`] holds the events of Scripta itself.
//!
//! # Durability
//!
//! An acknowledged commit of the segment log survives a power cut at any later instant: it was
//! synced before the answer. One that was not acknowledged is there whole or not at all.

pub mod codec;
pub mod domain;
mod ids;
pub mod log;
pub mod segment;

pub use ids::{
    Category, EventType, Fingerprint, LogId, OperationId, Position, Revision, RootId, StreamId,
    Timestamp,
};
