//! The read models: rows of the workspace, of projects, chats with their branches and messages,
//! runs, memory and reviews.

mod chats;
mod keys;
mod memory;
mod projects;
mod resources;
mod reviews;
mod runs;
mod workspace;

use scripta_events::log::Recorded;
use scripta_events::{LogId, Position};

pub(crate) use chats::{ChatModel, Chats};
pub(crate) use memory::{Memory, MemoryModel};
pub(crate) use projects::{ProjectModel, Projects};
pub(crate) use reviews::{ReviewModel, Reviews};
pub(crate) use runs::{RunModel, Runs};
pub(crate) use workspace::{Workspace, WorkspaceModel};

use crate::follower::{ApplyError, Halt, Projection};
use crate::store::{Batch, Store};

/// How many events may change nothing in a read model before its tree is told that it has seen
/// them: each commit of a tree is a write of its own, and a start reads this many in milliseconds.
const CHECKPOINT_EVENTS: u64 = 10_000;

/// What a read model makes of events: a pure function over its rows.
pub(crate) trait Model: Send + 'static {
    /// Its name, which is its tree's.
    const NAME: &'static str;
    /// The version of its rows: raise it when an event makes other rows, and they are rebuilt.
    const VERSION: u32;
    /// The kind of keys that are read in the order of what follows their first id, if it has one.
    const ACROSS: Option<u8> = None;

    /// Applies one event of any category; those that are not of its kind change nothing.
    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError>;
}

/// A read model that follows the log.
pub(crate) struct ModelProjection<M> {
    store: Store,
    log: LogId,
    position: Position,
    /// The position that the tree tells.
    written: Position,
    model: std::marker::PhantomData<M>,
}

impl<M: Model> ModelProjection<M> {
    pub(crate) fn new(store: Store, log: LogId, position: Position) -> ModelProjection<M> {
        ModelProjection { store, log, position, written: position, model: std::marker::PhantomData }
    }

    /// Applies the events until one fails, and commits those before it.
    fn apply_batch(&mut self, events: &[Recorded]) -> Result<(), Halt> {
        let mut batch = self.store.batch();
        let mut applied = self.position;
        let mut failure = None;
        for event in events {
            if let Err(error) = M::apply(&mut batch, event) {
                failure = Some(error);
                break;
            }
            batch.keep();
            applied = event.position;
        }
        let is_due = applied.0.saturating_sub(self.written.0) >= CHECKPOINT_EVENTS;
        if is_due || !batch.is_empty() {
            let committed = batch.commit(self.log, applied);
            committed.map_err(|error| Halt { applied: self.position, error: error.into() })?;
            self.written = applied;
        }
        self.position = applied;
        failure.map_or(Ok(()), |error| Err(Halt { applied, error }))
    }
}

/// A read model that is given events, with gaps where they are none of its matter.
pub(crate) trait Replay: Send {
    /// Applies events; on an error, those before the bad one.
    fn replay(&mut self, events: &[Recorded]) -> Result<(), Halt>;
}

impl<M: Model> Replay for ModelProjection<M> {
    fn replay(&mut self, events: &[Recorded]) -> Result<(), Halt> {
        self.apply_batch(events)
    }
}

impl<M: Model> Projection for ModelProjection<M> {
    async fn apply(&mut self, events: &[Recorded]) -> Result<(), Halt> {
        self.apply_batch(events)
    }

    fn finish(&mut self) -> Result<(), ApplyError> {
        if self.position > self.written {
            self.store.batch().commit(self.log, self.position)?;
            self.written = self.position;
        }
        Ok(self.store.flush()?)
    }
}

/// An event that contradicts those before it.
fn inconsistent(event: &Recorded, reason: impl Into<String>) -> ApplyError {
    ApplyError::Inconsistent { position: event.position, reason: reason.into() }
}
