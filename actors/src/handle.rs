//! How the rest of the program reaches the actors.

use std::sync::Arc;
use std::time::Duration;

use scripta_events::Position;
use scripta_events::domain::{ChatId, MessageId, RunId};
use scripta_events::log::EventLog;
use thiserror::Error;
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::arbiters::Arbiters;
use crate::engine::{Engine, Makings};
use crate::replica::Replica;
use crate::{
    Aggregate, Branch, BranchCommand, BranchKey, BranchStatus, CommandMeta, Done, ExecuteError,
    LoadError, Models, PauseReason, ProjectLists, Refusal, Run, RunCommand, RunKey, RunStatus,
    StartError, Toolbox,
};

/// Bounds and times. The default suits a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many threads the actors live on, at least 1.
    pub arbiters: usize,
    /// An actor without work for this long leaves memory.
    pub idle_after: Duration,
    /// The most commands under way at a time (inclusive); more are refused as busy.
    pub max_in_flight: usize,
    /// A model that says nothing for this long has failed.
    pub model_silence: Duration,
    /// A tool call that takes longer than this gets an error as its result, whatever it says
    /// meanwhile.
    pub tool_timeout: Duration,
    /// The most tool calls of one run (inclusive); more get an error as their result.
    pub max_calls_per_run: u32,
    /// The pause before a model is asked again after an error that may pass; doubled each time.
    pub retry_pause: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            arbiters: 2,
            idle_after: Duration::from_secs(300),
            max_in_flight: 16_384,
            model_silence: Duration::from_secs(300),
            tool_timeout: Duration::from_secs(30 * 60),
            max_calls_per_run: 65_535,
            retry_pause: Duration::from_millis(500),
        }
    }
}

/// The actors, as the rest of the program sees them. Cheap to clone; they end with the last
/// clone, or by [`shutdown`](Handle::shutdown).
#[derive(Clone)]
pub struct Handle {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Arc<Engine>,
    permits: Semaphore,
    /// Commands and reads under way.
    under_way: TaskTracker,
    arbiters: Arbiters,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.engine.closing.cancel();
    }
}

/// How the turn of a message stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnStatus {
    /// The run that took the message; `None` while it waits in the queue.
    pub run: Option<RunId>,
    /// How it stands; [`Queued`](RunStatus::Queued) while the message waits.
    pub status: RunStatus,
    /// Why the branch that the message waits in is paused, if it is: only a person lets it go on.
    pub paused: Option<PauseReason>,
    /// Whether the time ran out before the turn ended.
    pub timed_out: bool,
}

/// Why a turn can't be waited for.
#[derive(Clone, Debug, Error)]
pub enum WaitError {
    /// There is no such branch, or the message started no turn there and waits for none.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log can't be read.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Handle {
    /// Starts the threads of the actors. Turns are carried out on the tokio runtime that this is
    /// called from, which must have its timer enabled.
    ///
    /// # Errors
    ///
    /// [`StartError`], without a runtime or without threads.
    pub fn start(
        log: Arc<dyn EventLog>,
        models: Arc<dyn Models>,
        tools: Arc<dyn Toolbox>,
        options: Options,
    ) -> Result<Handle, StartError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let (threads, arbiters) = Arbiters::start(options.arbiters.max(1))?;
        let permits = Semaphore::new(options.max_in_flight.clamp(1, Semaphore::MAX_PERMITS));
        let engine = Engine::new(Makings { log, models, tools, options, runtime, arbiters });
        let inner = Inner {
            engine: Arc::new(engine),
            permits,
            under_way: TaskTracker::new(),
            arbiters: threads,
        };
        Ok(Handle { inner: Arc::new(inner) })
    }

    /// Carries a command out. When this returns `Ok`, it is durable and its effects have begun.
    ///
    /// # Errors
    ///
    /// [`ExecuteError`], whose variants say what may have been written; where nothing was, the
    /// operation id is free.
    pub async fn execute<A: Aggregate>(
        &self,
        id: A::Id,
        command: A::Command,
        meta: CommandMeta,
    ) -> Result<Done<A>, ExecuteError<A>> {
        let _permit = self.permit()?;
        self.inner.engine.send(id, command, meta).await
    }

    /// Decides on a command as [`execute`](Handle::execute) would, and writes nothing. Returns the
    /// present state.
    ///
    /// # Errors
    ///
    /// As [`execute`](Handle::execute): what would be refused is refused.
    pub async fn rehearse<A: Aggregate>(
        &self,
        id: A::Id,
        command: A::Command,
    ) -> Result<Arc<A::State>, ExecuteError<A>> {
        let _permit = self.permit()?;
        crate::execute::rehearse(&self.inner.engine, id, command).await
    }

    /// Says who knows which chats and runs projects have: what deletes a project needs it. Only
    /// the first is taken.
    pub fn bind_lists(&self, lists: Arc<dyn ProjectLists>) {
        if self.inner.engine.lists.set(lists).is_err() {
            tracing::warn!("the lists of projects were bound before; the first stay");
        }
    }

    /// The present state; `None` if there is no such instance.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    pub async fn state<A: Aggregate>(&self, id: A::Id) -> Result<Option<Arc<A::State>>, LoadError> {
        let _permit = self.permit()?;
        self.inner.engine.state::<A>(id).await
    }

    /// The state as it was at a position of the log; `None` if there was no such instance.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    pub async fn state_as_of<A: Aggregate>(
        &self,
        id: A::Id,
        position: Position,
    ) -> Result<Option<Arc<A::State>>, LoadError> {
        let _permit = self.permit()?;
        let replica = Replica::<A>::as_of_position(id, position, &*self.inner.engine.log).await?;
        Ok(replica.state().cloned())
    }

    /// Watches the turn of a submitted message until it has ended, can't go on without a person,
    /// or `timeout` is over. The states of earlier turns never answer this.
    ///
    /// # Errors
    ///
    /// [`WaitError`], also when the server shuts down meanwhile. Running out of time is none.
    pub async fn wait_for_turn(
        &self,
        branch: BranchKey,
        message: MessageId,
        timeout: Duration,
    ) -> Result<TurnStatus, WaitError> {
        let closing = &self.inner.engine.closing;
        let mut watcher = self.inner.engine.watchers.watch(branch);
        let deadline = tokio::time::Instant::now() + timeout;
        loop {
            // Seen before looking, so that no change falls between the look and the wait.
            watcher.mark_seen();
            let status = self.turn_status(branch, message).await?;
            if is_settled(&status) {
                return Ok(status);
            }
            let changed = tokio::select! {
                () = closing.cancelled() => return Err(LoadError::ShuttingDown.into()),
                changed = tokio::time::timeout_at(deadline, watcher.changed()) => changed,
            };
            if changed.is_err() {
                let status = self.turn_status(branch, message).await?;
                let timed_out = !is_settled(&status);
                return Ok(TurnStatus { timed_out, ..status });
            }
        }
    }

    /// Stops the branch's running turn, keeping what it produced. Without one there is nothing
    /// to change.
    ///
    /// # Errors
    ///
    /// As [`execute`](Handle::execute).
    pub async fn stop_turn(
        &self,
        branch: BranchKey,
        meta: CommandMeta,
    ) -> Result<Done<Branch>, ExecuteError<Branch>> {
        self.execute::<Branch>(branch, BranchCommand::Stop, meta).await
    }

    /// After a start, before anything else: tells the models which connections the workspace has.
    ///
    /// # Errors
    ///
    /// [`LoadError`].
    pub async fn configure(&self) -> Result<(), LoadError> {
        let engine = &self.inner.engine;
        engine.models.configure(&*engine.workspace().await?);
        Ok(())
    }

    /// After a start: picks up the runs that the end of the last process interrupted, then starts
    /// what is queued in idle branches. What this process has begun itself is left alone. A
    /// stream that can't be woken is logged and passed over.
    pub async fn wake(&self, branches: Vec<BranchKey>, runs: Vec<RunKey>) {
        let engine = &self.inner.engine;
        for run in runs {
            if let Err(error) = self.pick_up(run).await {
                tracing::error!(%run, ?error, "an interrupted run could not be picked up");
            }
        }
        for branch in branches {
            let start = BranchCommand::StartNext;
            let result = engine.send::<Branch>(branch, start, CommandMeta::system()).await;
            if let Err(error) = result {
                tracing::error!(%branch, ?error, "a branch could not be woken");
            }
        }
    }

    /// After a start: goes on with deleting the chats of deleted projects.
    pub async fn sweep(&self, chats: Vec<ChatId>) {
        for chat in chats {
            crate::sweep::delete(&self.inner.engine, chat).await;
        }
    }

    /// Takes no more steps, gives running turns until the deadline to reach a safe point, and
    /// stops the actors. What is under way after that is picked up at the next start.
    pub async fn shutdown(&self, deadline: Duration) {
        let Inner { engine, permits, under_way, arbiters } = &*self.inner;
        engine.closing.cancel();
        permits.close();
        under_way.close();
        engine.tasks.close();
        let drained = async {
            engine.tasks.wait().await;
            under_way.wait().await;
        };
        if tokio::time::timeout(deadline, drained).await.is_err() {
            engine.live.abort_all();
        }
        arbiters.stop();
    }

    /// How many actors are in memory: idle ones leave.
    pub fn actors(&self) -> usize {
        self.inner.engine.actors()
    }

    fn permit(&self) -> Result<(SemaphorePermit<'_>, TaskTrackerToken), LoadError> {
        let limit = self.inner.engine.options.max_in_flight;
        let token = self.inner.under_way.token();
        let permit = self.inner.permits.try_acquire().map_err(|refused| match refused {
            TryAcquireError::Closed => LoadError::ShuttingDown,
            TryAcquireError::NoPermits => LoadError::Busy { limit },
        })?;
        Ok((permit, token))
    }

    async fn turn_status(
        &self,
        branch: BranchKey,
        message: MessageId,
    ) -> Result<TurnStatus, WaitError> {
        let engine = &self.inner.engine;
        let not_found = |what, id| Refusal::NotFound { what, id };
        let state = engine.state::<Branch>(branch).await?;
        let state = state.ok_or(not_found("branch", branch.branch.0))?;
        let Some(run) = state.runs.get(&message).copied() else {
            if let Some((chat, _)) = engine.chat(branch.chat).await? {
                chat.branch(branch.branch)?;
            }
            if !state.queue.iter().any(|queued| queued.message.id == message) {
                return Err(not_found("turn of message", message.0).into());
            }
            let paused = match state.status() {
                BranchStatus::Paused { reason } => Some(reason),
                BranchStatus::Idle | BranchStatus::Running => None,
            };
            return Ok(TurnStatus {
                run: None,
                status: RunStatus::Queued,
                paused,
                timed_out: false,
            });
        };
        let key = RunKey { chat: branch.chat, run };
        let state = engine.state::<Run>(key).await?.ok_or(not_found("run", run.0))?;
        let status = state.status.clone();
        Ok(TurnStatus { run: Some(run), status, paused: None, timed_out: false })
    }

    async fn pick_up(&self, run: RunKey) -> Result<(), ExecuteError<Run>> {
        let engine = &self.inner.engine;
        if engine.live.has(run) || engine.began_here(run).await? {
            return Ok(());
        }
        engine.send::<Run>(run, RunCommand::PickUp, CommandMeta::system()).await.map(drop)
    }
}

fn is_settled(status: &TurnStatus) -> bool {
    status.paused.is_some() || !matches!(status.status, RunStatus::Queued | RunStatus::Running)
}
