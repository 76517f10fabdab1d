//! The state of one stream, folded from the log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use scripta_events::codec::decode;
use scripta_events::log::EventLog;
use scripta_events::{Position, Revision, Timestamp};

use crate::{Aggregate, LoadError};

/// What a stream's events added up to when it was last looked at.
pub(crate) struct Replica<A: Aggregate> {
    id: A::Id,
    state: Option<Arc<A::State>>,
    revision: Revision,
    /// The head of the log before the revision was last asked for.
    seen: Option<Position>,
}

/// What an actor saw last, for those who ask while nothing has changed.
pub(crate) struct Latest<A: Aggregate>(Mutex<Option<Replica<A>>>);

impl<A: Aggregate> Default for Latest<A> {
    fn default() -> Latest<A> {
        Latest(Mutex::new(None))
    }
}

impl<A: Aggregate> Latest<A> {
    pub(crate) fn set(&self, replica: &Replica<A>) {
        *self.known() = Some(replica.clone());
    }

    /// Lets go of it: a state that nobody else holds is changed in place.
    pub(crate) fn clear(&self) {
        *self.known() = None;
    }

    /// The state and the stream's revision, if the log knows at once that they are current.
    pub(crate) fn current(&self, log: &dyn EventLog) -> Option<(Arc<A::State>, Revision)> {
        let known = self.known();
        let replica = known.as_ref().filter(|replica| replica.is_known_current(log))?;
        Some((replica.state.clone()?, replica.revision))
    }

    fn known(&self) -> MutexGuard<'_, Option<Replica<A>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Aggregate> Clone for Replica<A> {
    fn clone(&self) -> Replica<A> {
        let Replica { id, state, revision, seen } = self;
        Replica { id: *id, state: state.clone(), revision: *revision, seen: *seen }
    }
}

impl<A: Aggregate> Replica<A> {
    /// Of a stream that nobody has looked at yet.
    pub(crate) fn new(id: A::Id) -> Replica<A> {
        let state = A::initial(id).map(Arc::new);
        Replica { id, state, revision: Revision::NONE, seen: None }
    }

    /// Of the stream as it was at this revision.
    pub(crate) async fn as_of(
        id: A::Id,
        revision: Revision,
        log: &dyn EventLog,
    ) -> Result<Replica<A>, LoadError> {
        let mut replica = Replica::new(id);
        replica.read_up_to(revision, log).await?;
        Ok(replica)
    }

    /// Of the stream as it was at this position of the log.
    pub(crate) async fn as_of_position(
        id: A::Id,
        position: Position,
        log: &dyn EventLog,
    ) -> Result<Replica<A>, LoadError> {
        let mut replica = Replica::new(id);
        let mut events = log.read_stream(A::stream(id), Revision::NONE);
        while let Some(recorded) = events.next().await {
            let recorded = recorded?;
            if recorded.position > position {
                break;
            }
            replica.apply(&decode::<A::Event>(&recorded)?, recorded.time);
        }
        Ok(replica)
    }

    pub(crate) fn id(&self) -> A::Id {
        self.id
    }

    pub(crate) fn state(&self) -> Option<&Arc<A::State>> {
        self.state.as_ref()
    }

    /// How many events are folded in.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether the stream is still where this replica is.
    pub(crate) async fn is_current(&self, log: &dyn EventLog) -> Result<bool, LoadError> {
        Ok(self.is_known_current(log) || log.revision(A::stream(self.id)).await? == self.revision)
    }

    fn is_known_current(&self, log: &dyn EventLog) -> bool {
        let stream = A::stream(self.id);
        self.seen.is_some_and(|seen| log.is_still_at(stream, self.revision, seen))
    }

    /// Folds in what was written since.
    pub(crate) async fn refresh(&mut self, log: &dyn EventLog) -> Result<(), LoadError> {
        if self.is_known_current(log) {
            return Ok(());
        }
        let seen = *log.head().borrow();
        let now = log.revision(A::stream(self.id)).await?;
        self.read_up_to(now, log).await?;
        self.seen = Some(seen);
        Ok(())
    }

    /// Folds in an event that follows what is here.
    pub(crate) fn apply(&mut self, event: &A::Event, at: Timestamp) {
        let state = self.state.take().map(Arc::unwrap_or_clone);
        self.state = A::evolve(state, event, at).map(Arc::new);
        self.revision = self.revision.next();
    }

    async fn read_up_to(&mut self, last: Revision, log: &dyn EventLog) -> Result<(), LoadError> {
        if self.revision >= last {
            return Ok(());
        }
        let mut events = log.read_stream(A::stream(self.id), self.revision);
        while self.revision < last {
            let Some(recorded) = events.next().await else { break };
            let recorded = recorded?;
            self.apply(&decode::<A::Event>(&recorded)?, recorded.time);
        }
        Ok(())
    }
}
