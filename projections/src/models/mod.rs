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

/// What a read model makes of events: a pure function over its rows.
pub(crate) trait Model: Send + 'static {
    /// Its name, which is its tree's.
    const NAME: &'static str;
    /// The version of its rows: raise it when an event makes other rows, and they are rebuilt.
    const VERSION: u32;

    /// Applies one event of any category; those that are not of its kind change nothing.
    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError>;
}

/// A read model that follows the log.
pub(crate) struct ModelProjection<M> {
    store: Store,
    log: LogId,
    position: Position,
    model: std::marker::PhantomData<M>,
}

impl<M: Model> ModelProjection<M> {
    pub(crate) fn new(store: Store, log: LogId, position: Position) -> ModelProjection<M> {
        ModelProjection { store, log, position, model: std::marker::PhantomData }
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
        if applied > self.position {
            let committed = batch.commit(self.log, applied);
            committed.map_err(|error| Halt { applied: self.position, error: error.into() })?;
            self.position = applied;
        }
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
        Ok(self.store.flush()?)
    }
}

/// An event that contradicts those before it.
fn inconsistent(event: &Recorded, reason: impl Into<String>) -> ApplyError {
    ApplyError::Inconsistent { position: event.position, reason: reason.into() }
}
