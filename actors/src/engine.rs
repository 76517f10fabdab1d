//! What actors and turns share: the log, the directory of actors, the turns that are live.

use std::any::Any;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix::{Addr, ArbiterHandle, MailboxError};
use dashmap::{DashMap, Entry};
use futures::{FutureExt, StreamExt};
use scripta_events::domain::{
    BRANCH, BranchId, CHAT, ChatId, ConnectionId, ProjectId, WorkspaceDocuments, WorkspaceId,
};
use scripta_events::log::{EventLog, Receipt};
use scripta_events::{OperationId, Position, Revision, StreamId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::actor::{AggregateActor, Execute, GetState};
use crate::execute::{Order, execute};
use crate::replica::{Latest, Replica};
use crate::turn::LiveTurns;
use crate::{
    Aggregate, Branch, BranchCommand, BranchKey, BranchState, Chat, ChatState, CommandMeta, Done,
    Effect, Endpoint, ExecuteError, LoadError, MAX_BRANCHES, Models, OpenBranch, Options, Partial,
    Project, ProjectLists, ProjectState, Run, RunKey, RunState, Toolbox, Workspace,
};

/// How often a command is sent again when its actor ended before it answered (inclusive): each
/// time, a new actor is started.
const MAX_SENDS: u32 = 32;

/// How often the start of a queued message is tried again after the log failed (inclusive), with
/// [`START_PAUSE`] between: a full disk may have space again. The next submit tries, too.
const MAX_STARTS: u32 = 10;

/// The pause between two tries to start a queued message.
const START_PAUSE: Duration = Duration::from_secs(1);

/// Opaque: what [`Aggregate::gather`] reads from.
pub struct Engine {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: Arc<dyn Toolbox>,
    pub(crate) options: Options,
    /// Turns and effects run here, beside the actors.
    pub(crate) tasks: TaskTracker,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) live: LiveTurns,
    pub(crate) watchers: crate::turn::Watchers,
    /// What the read models know of projects, once somebody has said who they are.
    pub(crate) lists: OnceLock<Arc<dyn ProjectLists>>,
    /// Cancelled when the server shuts down: turns end at their next safe point.
    pub(crate) closing: CancellationToken,
    /// The head when this process started: a run from before it was interrupted.
    pub(crate) born_at: Position,
    directory: DashMap<StreamId, Box<dyn Any + Send + Sync>>,
    arbiters: Vec<ArbiterHandle>,
}

/// An actor, and how many hold on to it: the directory, and each who waits for its answer.
struct Seat<A: Aggregate> {
    actor: Addr<AggregateActor<A>>,
    /// What it saw last.
    latest: Arc<Latest<A>>,
    held: Arc<()>,
}

impl<A: Aggregate> Clone for Seat<A> {
    fn clone(&self) -> Seat<A> {
        Seat { actor: self.actor.clone(), latest: self.latest.clone(), held: self.held.clone() }
    }
}

/// What an engine is made of.
pub(crate) struct Makings {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) tools: Arc<dyn Toolbox>,
    pub(crate) options: Options,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) arbiters: Vec<ArbiterHandle>,
}

impl Engine {
    pub(crate) fn new(makings: Makings) -> Engine {
        let born_at = *makings.log.head().borrow();
        Engine {
            log: makings.log,
            models: makings.models,
            tools: makings.tools,
            options: makings.options,
            tasks: TaskTracker::new(),
            runtime: makings.runtime,
            live: LiveTurns::default(),
            watchers: crate::turn::Watchers::default(),
            lists: OnceLock::new(),
            closing: CancellationToken::new(),
            born_at,
            directory: DashMap::new(),
            arbiters: makings.arbiters,
        }
    }

    /// Has a command carried out by its actor.
    pub(crate) async fn send<A: Aggregate>(
        self: &Arc<Self>,
        id: A::Id,
        command: A::Command,
        meta: CommandMeta,
    ) -> Result<Done<A>, ExecuteError<A>> {
        // One operation for all sends: one whose answer was lost takes effect once.
        let operation = meta.operation.unwrap_or_else(OperationId::random);
        let order = Order { command, meta, operation, sent: AtomicBool::new(false) };
        if A::creates(&order.command) {
            // Nobody knows of it yet: there is nothing to wait behind, and nothing to remember.
            let mut replica = Replica::new(id);
            let work = AssertUnwindSafe(execute(self, &mut replica, &order)).catch_unwind();
            return work.await.unwrap_or_else(|_| Err(self.unanswered(A::NAME).into()));
        }
        let order = Arc::new(order);
        for _ in 0..MAX_SENDS {
            let seat = self.seat::<A>(id)?;
            match seat.actor.send(Execute(order.clone())).await {
                Ok(result) => return result,
                Err(MailboxError::Closed | MailboxError::Timeout) => {}
            }
        }
        Err(self.unanswered(A::NAME).into())
    }

    /// The present state, `None` for an instance without events.
    pub(crate) async fn state<A: Aggregate>(
        self: &Arc<Self>,
        id: A::Id,
    ) -> Result<Option<Arc<A::State>>, LoadError> {
        Ok(self.state_at::<A>(id).await?.map(|(state, _)| state))
    }

    /// The same with the revision of its stream, for a commit that relies on it.
    pub(crate) async fn state_at<A: Aggregate>(
        self: &Arc<Self>,
        id: A::Id,
    ) -> Result<Option<(Arc<A::State>, Revision)>, LoadError> {
        for _ in 0..MAX_SENDS {
            let seat = self.seat::<A>(id)?;
            if let Some(known) = seat.latest.current(&*self.log) {
                return Ok(Some(known));
            }
            match seat.actor.send(GetState(PhantomData)).await {
                Ok(result) => return result,
                Err(MailboxError::Closed | MailboxError::Timeout) => {}
            }
        }
        Err(self.unanswered(A::NAME))
    }

    /// Why nobody answered, however often it was sent.
    fn unanswered(&self, what: &'static str) -> LoadError {
        if self.closing.is_cancelled() {
            return LoadError::ShuttingDown;
        }
        LoadError::Unanswered { what, attempts: MAX_SENDS }
    }

    /// The actor, started if need be. It stays in memory while this is held.
    fn seat<A: Aggregate>(self: &Arc<Self>, id: A::Id) -> Result<Seat<A>, LoadError> {
        let stream = A::stream(id);
        let arbiter = self.arbiter(stream)?;
        let launch = || {
            let latest = Arc::new(Latest::default());
            let actor = AggregateActor::<A>::launch(self.clone(), id, latest.clone(), arbiter);
            Seat { actor, latest, held: Arc::new(()) }
        };
        let mut entry = self.directory.entry(stream).or_insert_with(|| Box::new(launch()));
        match entry.downcast_ref::<Seat<A>>() {
            Some(seat) if seat.actor.connected() => Ok(seat.clone()),
            // It ended by itself, by a panic: a new one takes its place.
            _ => {
                let seat = launch();
                *entry = Box::new(seat.clone());
                Ok(seat)
            }
        }
    }

    /// The actors of one root live on one arbiter.
    fn arbiter(&self, stream: StreamId) -> Result<&ArbiterHandle, LoadError> {
        let mut hasher = DefaultHasher::new();
        stream.root.hash(&mut hasher);
        let count = u64::try_from(self.arbiters.len()).unwrap_or(1).max(1);
        let chosen = usize::try_from(hasher.finish() % count).ok();
        chosen.and_then(|at| self.arbiters.get(at)).ok_or(LoadError::ShuttingDown)
    }

    /// Takes an actor out of the directory, unless somebody holds its seat. Whether it may leave.
    pub(crate) fn forget<A: Aggregate>(&self, id: A::Id, actor: &Addr<AggregateActor<A>>) -> bool {
        // Under the lock of the entry, which whoever takes a seat holds too.
        let Entry::Occupied(entry) = self.directory.entry(A::stream(id)) else { return true };
        match entry.get().downcast_ref::<Seat<A>>() {
            Some(seat) if seat.actor == *actor => {
                let is_idle = Arc::strong_count(&seat.held) == 1;
                if is_idle {
                    entry.remove();
                }
                is_idle
            }
            // Another has taken its place.
            _ => true,
        }
    }

    /// How many actors are in memory.
    pub(crate) fn actors(&self) -> usize {
        self.directory.len()
    }

    /// Does what a commit asked for, and tells those who watch its branches.
    pub(crate) fn perform(self: &Arc<Self>, receipt: &Receipt, effects: &[Effect]) {
        for (stream, _) in receipt.streams.iter().filter(|(id, _)| id.category == BRANCH) {
            let chat = ChatId(stream.root.0);
            self.watchers.wake(BranchKey { chat, branch: BranchId(stream.id) });
        }
        // A chat that changes may be one that is deleted, branches and all.
        if let Some((stream, _)) = receipt.streams.iter().find(|(id, _)| id.category == CHAT) {
            self.watchers.wake_all(ChatId(stream.root.0));
        }
        for effect in effects {
            match *effect {
                Effect::Drive(run) => crate::turn::start(self, run),
                Effect::Cancel(run) => self.live.cancel(run),
                Effect::StartNext(branch) => self.start_next(branch),
                Effect::Sweep(project) => crate::sweep::start(self, project, receipt.position),
            }
        }
    }

    fn start_next(self: &Arc<Self>, branch: BranchKey) {
        let engine = self.clone();
        let work = async move {
            for _ in 0..MAX_STARTS {
                let start = BranchCommand::StartNext;
                let Err(error) = engine.send::<Branch>(branch, start, CommandMeta::system()).await
                else {
                    return;
                };
                if engine.closing.is_cancelled() {
                    return;
                }
                tracing::warn!(%branch, ?error, "the next queued message could not be started");
                tokio::time::sleep(START_PAUSE).await;
            }
        };
        self.tasks.spawn_on(work, &self.runtime);
    }
}

/// What deciders need from other streams. Actors ask only upwards (a branch its chat, a chat its
/// project, a project the workspace), so that no two wait for each other; downwards they fold the
/// log themselves.
impl Engine {
    pub(crate) async fn chat(
        self: &Arc<Self>,
        chat: ChatId,
    ) -> Result<Option<(Arc<ChatState>, Revision)>, LoadError> {
        self.state_at::<Chat>(chat).await
    }

    pub(crate) async fn project(
        self: &Arc<Self>,
        project: ProjectId,
    ) -> Result<Option<Arc<ProjectState>>, LoadError> {
        self.state::<Project>(project).await
    }

    /// The workspace, which is there from the start.
    pub(crate) async fn workspace(self: &Arc<Self>) -> Result<Arc<WorkspaceDocuments>, LoadError> {
        let state = self.state::<Workspace>(WorkspaceId::THE).await?;
        Ok(state.unwrap_or_default())
    }

    pub(crate) async fn fold_run(
        &self,
        run: RunKey,
    ) -> Result<Option<(Arc<RunState>, Revision)>, LoadError> {
        let mut replica = Replica::<Run>::new(run);
        replica.refresh(&*self.log).await?;
        Ok(replica.state().map(|state| (state.clone(), replica.revision())))
    }

    /// A branch with the run of its turn, for a command that ends both.
    pub(crate) async fn fold_branch(
        &self,
        key: BranchKey,
    ) -> Result<Option<OpenBranch>, LoadError> {
        let mut replica = Replica::<Branch>::new(key);
        replica.refresh(&*self.log).await?;
        let Some(state) = replica.state().cloned() else { return Ok(None) };
        let run = match state.turn {
            Some(turn) => self.fold_run(RunKey { chat: key.chat, run: turn.run }).await?,
            None => None,
        };
        Ok(Some(OpenBranch { state, revision: replica.revision(), run }))
    }

    /// The branch, its parent, and so on to the root. Empty if there is no such branch.
    pub(crate) async fn chain(
        &self,
        branch: BranchKey,
    ) -> Result<Vec<Arc<BranchState>>, LoadError> {
        let mut chain = Vec::new();
        let mut next = Some(branch.branch);
        while let Some(id) = next.filter(|_| chain.len() <= MAX_BRANCHES) {
            let mut replica = Replica::<Branch>::new(BranchKey { chat: branch.chat, branch: id });
            replica.refresh(&*self.log).await?;
            let Some(state) = replica.state() else { break };
            next = state.fork.map(|fork| fork.parent);
            chain.push(state.clone());
        }
        Ok(chain)
    }

    /// What a turn of the chat would use now: its own connection, or its project's.
    pub(crate) fn endpoint(&self, chat: &ChatState, project: Option<&ProjectState>) -> Endpoint {
        let default = project.and_then(|project| project.default_connection.as_ref());
        self.endpoint_of(chat.connection.as_ref().or(default), chat.model.as_deref())
    }

    /// What a turn with this connection and model would use; without them, the default's.
    pub(crate) fn endpoint_of(
        &self,
        connection: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Endpoint {
        match self.models.resolve(connection, model) {
            Ok((connection, model)) => Endpoint { connection, model, problem: None },
            Err(error) => Endpoint {
                connection: connection.cloned().unwrap_or(ConnectionId("none".to_owned())),
                model: model.map(str::to_owned),
                problem: Some(error.message),
            },
        }
    }

    /// Whether the run started in this process, so that it is not one that a restart interrupted.
    pub(crate) async fn began_here(&self, run: RunKey) -> Result<bool, LoadError> {
        let mut events = self.log.read_stream(Run::stream(run), Revision::NONE);
        let first = events.next().await.transpose()?;
        Ok(first.is_some_and(|first| first.position > self.born_at))
    }

    /// What the run has of an answer that is not whole yet.
    pub(crate) fn partial(&self, run: RunKey) -> Option<Partial> {
        self.live.partial(run)
    }
}
