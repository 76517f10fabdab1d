//! All projections together.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scripta_events::Position;
use scripta_events::domain::{
    BranchId, ChatId, MemoryId, Message, MessageId, ProjectId, RunId, WorkspaceDocuments,
};
use scripta_events::log::EventLog;
use tokio::time::{Instant, timeout_at};

use crate::follower::{Follower, Progress};
use crate::models::{
    ChatModel, Chats, Memory, MemoryModel, Model, ProjectModel, Projects, RunModel, Runs,
    Workspace, WorkspaceModel,
};
use crate::moment;
use crate::opening::{Opening, Source, open_rows};
use crate::search::{self, Limits, Search};
use crate::{
    BranchRow, ChatRow, InstructionsRow, Losses, MemoryRow, MessageRow, OpenError, ProjectRow,
    QueryError, RunRow, SearchError, SearchKey, SearchPage, SearchQuery, Thing, WaitError,
};

/// How the projections work.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long [`Projections::reach`] waits before it gives up.
    pub wait: Duration,
    /// How long a search looks for one page, at least one message, before it ends the page early: a
    /// pattern can take long over each message, however few there are.
    pub page_time: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { wait: Duration::from_secs(30), page_time: Duration::from_secs(2) }
    }
}

/// One of the projections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProjectionName {
    /// The workspace.
    Workspace,
    /// The projects.
    Projects,
    /// The chats with their branches and messages, and how many chats a project has.
    Chats,
    /// The runs.
    Runs,
    /// Long-term memory.
    Memory,
    /// The message index.
    Search,
}

impl ProjectionName {
    /// All of them.
    pub const ALL: [ProjectionName; 6] = [
        ProjectionName::Workspace,
        ProjectionName::Projects,
        ProjectionName::Chats,
        ProjectionName::Runs,
        ProjectionName::Memory,
        ProjectionName::Search,
    ];

    /// As [`ProjectionStatus`] and errors name it.
    pub fn as_str(self) -> &'static str {
        match self {
            ProjectionName::Workspace => WorkspaceModel::NAME,
            ProjectionName::Projects => ProjectModel::NAME,
            ProjectionName::Chats => ChatModel::NAME,
            ProjectionName::Runs => RunModel::NAME,
            ProjectionName::Memory => MemoryModel::NAME,
            ProjectionName::Search => search::NAME,
        }
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
    dir: PathBuf,
    options: Options,
    workspace: Workspace,
    projects: Projects,
    chats: Chats,
    runs: Runs,
    memory: Memory,
    /// Absent from a moment of the past.
    search: Option<Search>,
    followers: Mutex<Vec<Follower>>,
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
        dir: &Path,
        options: Options,
    ) -> Result<Projections, OpenError> {
        std::fs::create_dir_all(dir)
            .map_err(|source| OpenError::Folder { path: dir.to_owned(), source })?;
        moment::sweep(dir)?;
        let rows = dir.join("rows");
        let db = open_rows(&rows)?;
        let head = *log.head().borrow();
        let (search, projection, position) = search::open(&dir.join("search"), log.clone(), head)?;
        let follower =
            Follower::start(search::NAME, search::VERSION, projection, log.clone(), position)
                .map_err(|source| OpenError::Thread { name: search::NAME, source })?;
        let source = Source::Followed(vec![follower]);
        let mut opening = Opening { log: log.clone(), db, path: rows, head, source };
        Projections::assemble(&mut opening, dir, options, Some(search))
    }

    /// All read models of an opening.
    pub(crate) fn assemble(
        opening: &mut Opening,
        dir: &Path,
        options: Options,
        search: Option<Search>,
    ) -> Result<Projections, OpenError> {
        Ok(Projections {
            workspace: Workspace(opening.model::<WorkspaceModel>()?),
            projects: Projects(opening.model::<ProjectModel>()?),
            chats: Chats(opening.model::<ChatModel>()?),
            runs: Runs(opening.model::<RunModel>()?),
            memory: Memory(opening.model::<MemoryModel>()?),
            log: opening.log.clone(),
            dir: dir.to_owned(),
            options,
            search,
            followers: Mutex::new(match &mut opening.source {
                Source::Followed(followers) => std::mem::take(followers),
                Source::Replayed(_) => Vec::new(),
            }),
        })
    }

    /// Waits until every projection, the message index too, has applied `position`.
    ///
    /// # Errors
    ///
    /// [`WaitError`], if one has stopped before it or the time is over.
    pub async fn reach(&self, position: Position) -> Result<(), WaitError> {
        self.reach_in(&ProjectionName::ALL, position).await
    }

    /// Waits until these projections have applied `position`: one that a read doesn't use neither
    /// delays nor fails it.
    ///
    /// # Errors
    ///
    /// [`WaitError`], if one of them has stopped before it or the time is over.
    pub async fn reach_in(
        &self,
        names: &[ProjectionName],
        position: Position,
    ) -> Result<(), WaitError> {
        let deadline = Instant::now() + self.options.wait;
        let watches: Vec<_> = {
            let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
            let used = |name| names.iter().any(|used| used.as_str() == name);
            let used = followers.iter().filter(|follower| used(follower.name));
            used.map(|follower| (follower.name, follower.watch())).collect()
        };
        for (projection, mut progress) in watches {
            let enough = |now: &Progress| now.position >= position || now.stopped.is_some();
            let waited = timeout_at(deadline, progress.wait_for(enough)).await;
            // A follower that ended says no more: what it said last stands.
            let Ok(reached) = waited.map(|now| now.ok().map(|now| now.clone())) else {
                let reached = progress.borrow().position;
                let waited = self.options.wait;
                return Err(WaitError::Timeout { projection, wanted: position, reached, waited });
            };
            let now = reached.unwrap_or_else(|| progress.borrow().clone());
            if now.position < position {
                let reason = now.stopped.unwrap_or_else(|| "it was closed".into());
                return Err(WaitError::Stopped { projection, reached: now.position, reason });
            }
        }
        Ok(())
    }

    /// Where each projection stands.
    pub fn status(&self) -> Vec<ProjectionStatus> {
        let head = *self.log.head().borrow();
        let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        let each = followers.iter().map(|follower| {
            let Progress { position, stopped } = follower.progress();
            let (name, version) = (follower.name, follower.version);
            let stopped =
                stopped.map(|reason| format!("it stopped after position {position}: {reason}"));
            ProjectionStatus { name, version, position, head, stopped }
        });
        each.collect()
    }

    pub(crate) fn log(&self) -> &Arc<dyn EventLog> {
        &self.log
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The documents of the workspace, which are there from the start.
    ///
    /// # Errors
    ///
    /// [`QueryError`], as for every read below.
    pub fn workspace(&self) -> Result<WorkspaceDocuments, QueryError> {
        self.workspace.get()
    }

    /// A project.
    ///
    /// # Errors
    ///
    /// [`QueryError`], as for every read below.
    pub fn project(&self, id: ProjectId) -> Result<Option<ProjectRow>, QueryError> {
        let Some(mut row) = self.projects.get(id)? else {
            return Ok(None);
        };
        let (chats, newest) = self.chats.totals(id)?;
        row.chats = chats;
        row.last_activity = newest.unwrap_or(row.last_activity);
        Ok(Some(row))
    }

    /// The instructions of a project; `None` where nobody ever wrote any.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn instructions(&self, id: ProjectId) -> Result<Option<InstructionsRow>, QueryError> {
        self.projects.instructions(id)
    }

    /// All projects, by name without regard to case, then by id.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn project_ids(&self) -> Result<Vec<ProjectId>, QueryError> {
        self.projects.ids()
    }

    /// A chat.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat(&self, id: ChatId) -> Result<Option<ChatRow>, QueryError> {
        self.chats.chat(id)
    }

    /// The chats of a project, or all: pinned first, then by last activity, newest first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat_ids(&self, project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        self.chats.chat_ids(project)
    }

    /// A branch.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branch(&self, id: BranchId) -> Result<Option<BranchRow>, QueryError> {
        self.chats.branch(id)
    }

    /// The branches of a chat, in the order they were opened: the first branch first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branches(&self, chat: ChatId) -> Result<Vec<BranchRow>, QueryError> {
        self.chats.branches(chat)
    }

    /// The messages that wait in a branch, in the order of their turns.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn queue(&self, branch: BranchId) -> Result<Vec<Message>, QueryError> {
        self.chats.queue(branch)
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn run(&self, id: RunId) -> Result<Option<RunRow>, QueryError> {
        self.runs.get(id)
    }

    /// The runs that belong to all that is named, or all, newest first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn run_ids(
        &self,
        project: Option<ProjectId>,
        chat: Option<ChatId>,
        branch: Option<BranchId>,
    ) -> Result<Vec<RunId>, QueryError> {
        self.runs.ids(project, chat, branch)
    }

    /// An entry of long-term memory, also one that was deleted.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory(&self, id: MemoryId) -> Result<Option<MemoryRow>, QueryError> {
        self.memory.get(id)
    }

    /// All entries of long-term memory, in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory_ids(&self) -> Result<Vec<MemoryId>, QueryError> {
        self.memory.ids()
    }

    /// The entries of a project, or with `None` of the workspace, in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory_ids_of(&self, project: Option<ProjectId>) -> Result<Vec<MemoryId>, QueryError> {
        self.memory.ids_of(project)
    }

    /// What a turn in a project is told of long-term memory, at most `limit` entries: the pinned
    /// first, of those the workspace's before the project's, then in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory_told(
        &self,
        project: ProjectId,
        limit: usize,
    ) -> Result<Vec<MemoryRow>, QueryError> {
        self.memory.told(project, limit)
    }

    /// How many messages the chain of a branch has, from the root to its head; 0 for a branch that
    /// is not known.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chain_length(&self, branch: BranchId) -> Result<u64, QueryError> {
        Ok(self.chats.branch(branch)?.map_or(0, |row| row.chain_length()))
    }

    /// The messages at these places of a branch's chain, in order; the first place is 1. Places that
    /// the chain doesn't have are left out.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn messages(
        &self,
        branch: BranchId,
        places: RangeInclusive<u64>,
    ) -> Result<Vec<MessageRow>, QueryError> {
        self.chats.messages(branch, places)
    }

    /// A message that joined a branch; not one that is queued.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn message(&self, id: MessageId) -> Result<Option<MessageRow>, QueryError> {
        self.chats.message(id)
    }

    /// Whether something was there and was deleted: then the reads of it find nothing.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn is_gone(&self, thing: Thing) -> Result<bool, QueryError> {
        match thing {
            Thing::Project(id) => self.projects.is_gone(id),
            Thing::Chat(id) => self.chats.chat_is_gone(id),
            Thing::Branch(id) => self.chats.branch_is_gone(id),
            Thing::Message(id) => self.chats.message_is_gone(id),
            Thing::Run(id) => self.runs.is_gone(id),
        }
    }

    /// The chat of a branch, also where one of them was deleted.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat_of(&self, branch: BranchId) -> Result<Option<ChatId>, QueryError> {
        Ok(self.chats.row(branch)?.map(|row| row.chat))
    }

    /// What deleting a project, a chat or a branch takes with it; nothing for anything else.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn losses(&self, thing: Thing) -> Result<Losses, QueryError> {
        match thing {
            Thing::Project(id) => self.chats.losses_of_project(id),
            Thing::Chat(id) => self.chats.losses_of_chat(id),
            Thing::Branch(id) => self.chats.losses_of_branch(id),
            Thing::Message(_) | Thing::Run(_) => Ok(Losses::default()),
        }
    }

    /// The chats of deleted projects, or of one, that are not deleted themselves yet: what a
    /// restart goes on with.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn unswept(&self, project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        self.chats.unswept(project)
    }

    /// Searches the messages. The page begins after `after` and has at most `limit` hits; it
    /// ends early after [`MAX_EXAMINED`](crate::MAX_EXAMINED) messages or
    /// [`page_time`](Options::page_time).
    ///
    /// # Errors
    ///
    /// [`SearchError`], for a pattern that is refused, an unknown branch, or an index that can't be
    /// read.
    pub fn search(
        &self,
        query: &SearchQuery,
        after: Option<SearchKey>,
        limit: usize,
    ) -> Result<SearchPage, SearchError> {
        let limits = Limits { hits: limit.max(1), time: self.options.page_time };
        let search = self.search.as_ref().ok_or(SearchError::NotAsOf)?;
        search.page(query, after, limits, &self.projects, &self.chats)
    }

    /// What a restart must wake: idle branches with a queue, and runs that are not at rest.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn unfinished(&self) -> Result<Unfinished, QueryError> {
        Ok((self.chats.waiting()?, self.runs.unfinished()?))
    }

    /// Stops following, and commits what was applied, so that the next start goes on from here.
    /// Reads still answer afterwards. It may be called more than once.
    pub fn close(&self) {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.iter().for_each(Follower::ask_to_stop);
        followers.iter_mut().for_each(Follower::stop);
    }
}

#[cfg(test)]
impl Projections {
    /// All rows of all read models.
    pub(crate) fn dump(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        [&self.workspace.0, &self.projects.0, &self.chats.0, &self.runs.0, &self.memory.0]
            .into_iter()
            .flat_map(|store| store.dump())
            .collect()
    }
}

impl Drop for Projections {
    fn drop(&mut self) {
        self.close();
    }
}

/// Idle branches with a queue, and runs that are not at rest.
pub type Unfinished = (Vec<(ChatId, BranchId)>, Vec<(ChatId, RunId)>);
