//! All projections together.

mod reads;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scripta_events::Position;
use scripta_events::log::EventLog;
use tokio::time::{Instant, timeout_at};

use crate::follower::{Follower, Progress};
use crate::models::{
    ChatModel, Chats, Memory, MemoryModel, Model, ProjectModel, Projects, ReviewModel, Reviews,
    RunModel, Runs, Workspace, WorkspaceModel,
};
use crate::moment;
use crate::opening::{Opening, Source, open_rows};
use crate::search::{self, Search};
use crate::{OpenError, WaitError};

pub use reads::Unfinished;

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
    /// Reviews.
    Reviews,
    /// The message index.
    Search,
}

impl ProjectionName {
    /// All of them.
    pub const ALL: [ProjectionName; 7] = [
        ProjectionName::Workspace,
        ProjectionName::Projects,
        ProjectionName::Chats,
        ProjectionName::Runs,
        ProjectionName::Memory,
        ProjectionName::Reviews,
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
            ProjectionName::Reviews => ReviewModel::NAME,
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
    reviews: Reviews,
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
            reviews: Reviews(opening.model::<ReviewModel>()?),
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
        let watches: Vec<_> = {
            let followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
            let used = |name| names.iter().any(|used| used.as_str() == name);
            let used = followers.iter().filter(|follower| used(follower.name));
            let behind = used.filter(|follower| !follower.has_reached(position));
            let wanted = behind.inspect(|follower| follower.want(position));
            wanted.map(|follower| (follower.name, follower.watch())).collect()
        };
        let deadline = Instant::now() + self.options.wait;
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
        let stores = [
            &self.workspace.0,
            &self.projects.0,
            &self.chats.0,
            &self.runs.0,
            &self.memory.0,
            &self.reviews.0,
        ];
        stores.into_iter().flat_map(|store| store.dump()).collect()
    }
}

impl Drop for Projections {
    fn drop(&mut self) {
        self.close();
    }
}
