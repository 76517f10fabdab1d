//! What can go wrong with an append, and with a read.

use std::sync::Arc;

use thiserror::Error;

use super::Expectation;
use crate::{OperationId, Position, Revision, RootId, StreamId};

/// Why a commit was not written, or may not have been.
#[derive(Clone, Debug, Error)]
pub enum AppendError {
    /// The operation id was used before, for something else. Nothing was written.
    #[error("operation {operation} was already used with other arguments; use a new operation id")]
    OperationReused {
        /// The id.
        operation: OperationId,
    },
    /// A stream is not where the commit expects it. Nothing was written.
    #[error(
        "stream {stream} is at revision {actual}, which is not what was expected ({expected:?})"
    )]
    Conflict {
        /// The stream.
        stream: StreamId,
        /// What the commit expected.
        expected: Expectation,
        /// Where the stream is.
        actual: Revision,
    },
    /// A commit touches streams of one root only. Nothing was written.
    #[error("stream {stream} does not belong to the root {root} of the commit")]
    WrongRoot {
        /// The stream of another root.
        stream: StreamId,
        /// The commit's root.
        root: RootId,
    },
    /// A commit names each stream at most once. Nothing was written.
    #[error("stream {stream} stands twice in one commit; put its events into one append")]
    StreamTwice {
        /// The stream.
        stream: StreamId,
    },
    /// One event is over its limit. Nothing was written.
    #[error("an event of {size} bytes is over the limit of {limit} bytes")]
    EventTooLarge {
        /// The payload's size in bytes.
        size: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// The commit is over its limit of bytes. Nothing was written.
    #[error("a commit of {size} bytes is over the limit of {limit} bytes")]
    CommitTooLarge {
        /// The sum of payloads and metadata in bytes.
        size: usize,
        /// The largest sum allowed.
        limit: usize,
    },
    /// The commit is over its limit of events. Nothing was written.
    #[error("a commit of {count} events is over the limit of {limit} events")]
    TooManyEvents {
        /// How many events it has.
        count: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// The commit is over its limit of streams. Nothing was written.
    #[error("a commit over {count} streams is over the limit of {limit} streams")]
    TooManyStreams {
        /// How many streams it appends to.
        count: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// The disk has less free space than the log keeps in reserve. Nothing was written; appends
    /// are accepted again once there is space.
    #[error(
        "the disk is full: {free} bytes are free and {reserve} are kept in reserve; free some space"
    )]
    DiskFull {
        /// Free bytes.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
    },
    /// The write or its sync failed, so the commit may be there or not. Reopen the log and
    /// repeat the commit under the same operation id.
    #[error(
        "the outcome is unknown because {cause}; reopen the log and repeat under the same operation id"
    )]
    OutcomeUnknown {
        /// What failed.
        cause: Arc<str>,
    },
    /// An earlier write or sync failed: the log takes no more appends until it is reopened.
    /// Nothing was written.
    #[error("the log takes no appends since {cause}; reopen it")]
    Poisoned {
        /// What failed.
        cause: Arc<str>,
    },
    /// What the checks needed could not be read. Nothing was written.
    #[error("the log could not be read to check the commit")]
    Read(#[source] ReadError),
    /// The log was closed. Nothing was written.
    #[error("the log is closed")]
    Closed,
}

/// Why something could not be read.
#[derive(Clone, Debug, Error)]
pub enum ReadError {
    /// There is no durable event at this position.
    #[error("there is no event at position {position}; the head is {head}")]
    NoSuchPosition {
        /// What was asked for.
        position: Position,
        /// The last durable position.
        head: Position,
    },
    /// Bytes on disk are not what was written.
    #[error("{segment} is damaged at byte {offset}: {reason}; run `scripta log verify`")]
    Corrupt {
        /// The segment's file name.
        segment: String,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The operating system could not read.
    #[error("{what} could not be read")]
    Io {
        /// Which file.
        what: String,
        /// The operating system's reason.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The index of the log could not be used.
    #[error("the index of the log failed: {reason}; stop, delete the index folder and start again")]
    Index {
        /// What it said.
        reason: String,
    },
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

impl AppendError {
    /// Whether the same commit may succeed later without being changed.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            AppendError::DiskFull { .. }
                | AppendError::OutcomeUnknown { .. }
                | AppendError::Poisoned { .. }
                | AppendError::Closed
        )
    }
}
