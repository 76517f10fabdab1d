//! What can be asked of Scripta: read models and the message index.
//!
//! A *projection* follows the log in batches on a thread of its own and commits its position
//! with what it made of the events. [`Projections`] is all of them together: rows of projects,
//! chats, branches, messages, runs, memory and reviews in sled, and the message index in tantivy. Nothing here is
//! the truth: a projection whose folder is deleted, damaged, of another log or of another version is
//! rebuilt from the log.

#[cfg(test)]
mod deletion_tests;
mod error;
mod follower;
mod models;
mod moment;
mod opening;
mod projections;
mod rows;
mod search;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::{OpenError, QueryError, REBUILD, WaitError};
pub use moment::MomentError;
pub use projections::{Options, ProjectionName, ProjectionStatus, Projections, Unfinished};
pub use rows::{
    BranchRow, BranchStatus, ChatRow, CurrentCall, InstructionsRow, Losses, MemoryRow, MessageRow,
    ProjectRow, ResourceRow, ReviewRow, RunRow, RunStatus, Thing,
};
pub use scripta_events::domain::PauseReason;
pub use search::{
    FRAGMENT_CONTEXT, Fragment, Hit, MAX_EXAMINED, MAX_PATTERN_CHARS, SearchError, SearchKey,
    SearchPage, SearchQuery,
};
