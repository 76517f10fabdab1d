//! What an aggregate is, and what goes into and comes out of its decisions.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use scripta_events::codec::Event;
use scripta_events::domain::{Actor, BranchEvent, ProjectId, RunEvent};
use scripta_events::log::{Check, Expectation, Receipt};
use scripta_events::{Category, Fingerprint, OperationId, StreamId, Timestamp};
use uuid::Uuid;

use crate::engine::Engine;
use crate::{BranchKey, LoadError, Refusal, RunKey};

/// Two pure functions, and what the shell around them has to know.
///
/// `decide` and `evolve` do no I/O and know no clock and no randomness: time and ids are in the
/// facts. [`gather`](Aggregate::gather) is the only part that reads.
pub trait Aggregate: Sized + Send + Sync + 'static {
    /// Names one instance.
    type Id: Copy + Eq + Hash + fmt::Debug + fmt::Display + Send + Sync + Unpin + 'static;
    /// What its events add up to.
    type State: Clone + fmt::Debug + Send + Sync + 'static;
    /// What happens to it.
    type Event: Event + Clone + fmt::Debug;
    /// What it can be asked to do.
    type Command: Clone + fmt::Debug + Send + Sync + 'static;
    /// What a decision needs beyond its own state.
    type Facts: Send;

    /// What a person calls it.
    const NAME: &'static str;
    /// The category of its streams.
    const CATEGORY: Category;

    /// Its stream.
    fn stream(id: Self::Id) -> StreamId;

    /// The instance whose stream this is, if the category is this aggregate's.
    fn id_of(stream: StreamId) -> Option<Self::Id>;

    /// The state of an instance without events; `None` unless it is there from the start.
    fn initial(_id: Self::Id) -> Option<Self::State> {
        None
    }

    /// Whether the command makes an instance under an id that nobody knows yet. It has no effects
    /// and nothing to tell.
    fn creates(_command: &Self::Command) -> bool {
        false
    }

    /// Tells what is kept beside the log of a state that was just written. It runs between the
    /// commit and its answer, in the order of the commits, and must not block.
    fn written(_engine: &Arc<Engine>, _state: &Self::State) {}

    /// The document revision that the command expects, if it names one.
    fn expected(_command: &Self::Command) -> Option<u64> {
        None
    }

    /// The present revision of the document that the command changes, see
    /// [`ProjectState::revision`](crate::ProjectState); `None` if there is no such document, which
    /// deciding then tells.
    fn document_revision(_state: &Self::State, _command: &Self::Command) -> Option<u64> {
        None
    }

    /// Reads what the decision needs beyond the aggregate's own state, as it is now.
    fn gather(
        engine: &Arc<Engine>,
        id: Self::Id,
        state: Option<&Self::State>,
        command: &Self::Command,
    ) -> impl Future<Output = Result<Self::Facts, LoadError>> + Send;

    /// Decides. `state` is `None` for an instance without events.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], when the command can't be carried out in this state.
    fn decide(
        id: Self::Id,
        state: Option<&Self::State>,
        command: &Self::Command,
        facts: &mut Self::Facts,
    ) -> Result<Decision<Self>, Refusal>;

    /// Folds one event, written at `at`, into the state.
    fn evolve(
        state: Option<Self::State>,
        event: &Self::Event,
        at: Timestamp,
    ) -> Option<Self::State>;
}

/// What a decision comes to: written as one commit, then acted upon. Without events in it, the
/// command found nothing to change.
#[derive(Debug)]
pub struct Decision<A: Aggregate> {
    /// Events of the aggregate's own stream.
    pub events: Vec<A::Event>,
    /// Events of other streams of the same root.
    pub others: Vec<Write>,
    /// What the decision relied on in streams that it doesn't write.
    pub checks: Vec<Check>,
    /// What to do after the commit.
    pub effects: Vec<Effect>,
}

/// Events for another stream of the root.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Of a branch.
    Branch {
        /// Which.
        key: BranchKey,
        /// What must hold of its stream.
        expected: Expectation,
        /// The events.
        events: Vec<BranchEvent>,
    },
    /// Of a run.
    Run {
        /// Which.
        key: RunKey,
        /// What must hold of its stream.
        expected: Expectation,
        /// The events.
        events: Vec<RunEvent>,
    },
    /// Nothing: the stream stands in the receipt, which so says what the operation came to.
    Named {
        /// Which.
        stream: StreamId,
    },
}

/// What is done after a commit, never before it. A replay of the log does none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Carry the run on.
    Drive(RunKey),
    /// Drop what the run has under way: its stream says that it is over.
    Cancel(RunKey),
    /// Start the branch's next queued message, if it may start.
    StartNext(BranchKey),
    /// Delete the chats of a project that was deleted.
    Sweep(ProjectId),
}

/// Who commands, and under which operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandMeta {
    /// The caller's operation id; with `None` a repeat is a new command.
    pub operation: Option<OperationId>,
    /// What the operation is asked to do. The same operation with another is refused.
    pub fingerprint: Fingerprint,
    /// Who asks.
    pub actor: Actor,
    /// The operation that began it all.
    pub correlation: Option<Uuid>,
}

/// A command that was carried out, now or, if the receipt is replayed, before.
pub struct Done<A: Aggregate> {
    /// The instance that the operation wrote to: for a repeated creation the first one's id,
    /// not the one that the repeat brought along.
    pub id: A::Id,
    /// Its state right after the operation.
    pub state: Arc<A::State>,
    /// What was written. Its streams name the branch and run that the operation made.
    pub receipt: Receipt,
}

/// Ids for a decision: a sequence that follows from one UUIDv7, so that deciding twice from the
/// same facts decides the same. They sort in the order they are taken.
#[derive(Clone, Debug)]
pub struct Ids {
    base: Uuid,
    taken: u64,
}

impl<A: Aggregate> Decision<A> {
    /// Nothing to change.
    pub fn nothing() -> Decision<A> {
        Decision { events: vec![], others: vec![], checks: vec![], effects: vec![] }
    }

    /// These events and nothing else.
    pub fn events(events: Vec<A::Event>) -> Decision<A> {
        Decision { events, ..Decision::nothing() }
    }

    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let others = self.others.iter().all(|write| match write {
            Write::Branch { events, .. } => events.is_empty(),
            Write::Run { events, .. } => events.is_empty(),
            Write::Named { .. } => true,
        });
        self.events.is_empty() && others
    }
}

impl CommandMeta {
    /// For what Scripta does by itself: an effect's answer, a wake after a restart.
    pub fn system() -> CommandMeta {
        CommandMeta {
            operation: None,
            fingerprint: Fingerprint([0; 32]),
            actor: Actor::System,
            correlation: None,
        }
    }
}

impl<A: Aggregate> Clone for Done<A> {
    fn clone(&self) -> Done<A> {
        Done { id: self.id, state: self.state.clone(), receipt: self.receipt.clone() }
    }
}

impl<A: Aggregate> fmt::Debug for Done<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Done");
        debug.field("id", &self.id).field("receipt", &self.receipt).finish_non_exhaustive()
    }
}

impl Ids {
    /// The random bits of a UUIDv7 that come after its variant.
    const LOW: u128 = (1 << 62) - 1;

    /// The sequence that follows from `base`, a UUIDv7.
    pub fn from_base(base: Uuid) -> Ids {
        // Half of the range stays free, so that counting up never wraps within a decision.
        Ids { base: Uuid::from_u128(base.as_u128() & !(1 << 61)), taken: 0 }
    }

    /// The sequence of a new base.
    pub fn random() -> Ids {
        Ids::from_base(Uuid::now_v7())
    }

    /// The next id.
    pub fn take(&mut self) -> Uuid {
        let base = self.base.as_u128();
        let low = ((base & Ids::LOW) + u128::from(self.taken)) & Ids::LOW;
        self.taken += 1;
        Uuid::from_u128((base & !Ids::LOW) | low)
    }
}
