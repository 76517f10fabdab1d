//! What can go wrong with projections, an enum for each thing one can ask of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use scripta_events::Position;
use thiserror::Error;

/// Why the projections could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Somebody else has the folder open.
    #[error("{path} is in use by another process; stop that one first")]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A folder can't be made, or a damaged one can't be set aside.
    #[error("{path} can't be prepared")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The operating system's reason.
        #[source]
        source: std::io::Error,
    },
    /// A fresh store could not be made.
    #[error("a new store in {path} can't be made: {reason}")]
    Store {
        /// The folder.
        path: PathBuf,
        /// What the store says.
        reason: String,
    },
    /// A thread of a projection could not be started.
    #[error("the thread of projection {name} can't be started")]
    Thread {
        /// The projection.
        name: &'static str,
        /// The operating system's reason.
        #[source]
        source: std::io::Error,
    },
}

/// What helps against damage that shows when the projections are open. What is damaged in a way
/// that shows as they are opened is rebuilt by itself.
pub const REBUILD: &str = "stop the server, delete the folder projections in its data \
    folder, and start it again: everything in there is made anew from the log";

/// Why a read model could not answer.
#[derive(Clone, Debug, Error)]
pub enum QueryError {
    /// The store could not be read.
    #[error("the {projection} projection can't be read; {REBUILD}")]
    Store {
        /// The projection.
        projection: &'static str,
        /// What the store says.
        #[source]
        source: sled::Error,
    },
    /// A stored row is not what was written.
    #[error("a row of the {projection} projection is malformed: {reason}; {REBUILD}")]
    Malformed {
        /// The projection.
        projection: &'static str,
        /// What the decoder met.
        reason: String,
    },
}

/// Why a position was not reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WaitError {
    /// A projection has stopped before the position.
    #[error("the {projection} projection stopped after position {reached}: {reason}")]
    Stopped {
        /// The projection.
        projection: &'static str,
        /// The last position it applied.
        reached: Position,
        /// Why it stopped.
        reason: Arc<str>,
    },
    /// The projection is still on its way.
    #[error(
        "the {projection} projection is at position {reached} and not yet at {wanted} after {waited:?}; try again"
    )]
    Timeout {
        /// The projection.
        projection: &'static str,
        /// What was waited for.
        wanted: Position,
        /// The last position it applied.
        reached: Position,
        /// How long was waited.
        waited: Duration,
    },
}
