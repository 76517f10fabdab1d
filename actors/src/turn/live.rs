//! The turns that are under way in this process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use tokio_util::sync::CancellationToken;

use crate::{Partial, RunKey};

/// The turns under way: at most one a run.
#[derive(Clone, Default)]
pub(crate) struct LiveTurns {
    turns: Arc<DashMap<RunKey, Arc<Shared>>>,
}

#[derive(Default)]
struct Shared {
    /// The run is over: what is under way is dropped.
    cancel: CancellationToken,
    /// The process ends: the turn is dropped where it is.
    abort: CancellationToken,
    /// Nobody carries it out any longer.
    left: CancellationToken,
    partial: Mutex<Option<Partial>>,
}

/// One turn under way; leaving is dropping it.
pub(crate) struct LiveTurn {
    turns: LiveTurns,
    run: RunKey,
    shared: Arc<Shared>,
}

impl LiveTurns {
    /// Begins a turn.
    ///
    /// # Errors
    ///
    /// If it is under way already: what is cancelled when that is over.
    pub(crate) fn enter(&self, run: RunKey) -> Result<LiveTurn, CancellationToken> {
        match self.turns.entry(run) {
            Entry::Occupied(turn) => Err(turn.get().left.clone()),
            Entry::Vacant(place) => {
                let shared = Arc::new(Shared::default());
                place.insert(shared.clone());
                Ok(LiveTurn { turns: self.clone(), run, shared })
            }
        }
    }

    pub(crate) fn has(&self, run: RunKey) -> bool {
        self.turns.contains_key(&run)
    }

    pub(crate) fn cancel(&self, run: RunKey) {
        if let Some(turn) = self.turns.get(&run) {
            turn.cancel.cancel();
        }
    }

    pub(crate) fn abort_all(&self) {
        self.turns.iter().for_each(|turn| turn.abort.cancel());
    }

    /// What the run has of an answer that is not whole yet.
    pub(crate) fn partial(&self, run: RunKey) -> Option<Partial> {
        let turn = self.turns.get(&run)?;
        turn.partial().clone()
    }
}

impl LiveTurn {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.shared.cancel.is_cancelled()
    }

    /// Ends when the run is over.
    pub(crate) async fn cancelled(&self) {
        self.shared.cancel.cancelled().await;
    }

    /// A token that is cancelled when the run is over.
    pub(crate) fn token(&self) -> CancellationToken {
        self.shared.cancel.child_token()
    }

    /// A token that is cancelled when the process ends.
    pub(crate) fn aborted(&self) -> CancellationToken {
        self.shared.abort.clone()
    }

    /// An answer to this step begins.
    pub(crate) fn begin(&self, step: u32) {
        *self.shared.partial() = Some(Partial { step, ..Partial::default() });
    }

    /// More of the answer is there.
    pub(crate) fn extend(&self, text: &str, reasoning: &str) {
        if let Some(partial) = &mut *self.shared.partial() {
            partial.text.push_str(text);
            partial.reasoning.push_str(reasoning);
        }
    }

    /// What there is of the answer.
    pub(crate) fn partial(&self) -> Option<Partial> {
        self.shared.partial().clone()
    }
}

impl Shared {
    fn partial(&self) -> MutexGuard<'_, Option<Partial>> {
        // A partial answer is never left half changed: a poisoned lock holds a whole one.
        self.partial.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LiveTurn {
    fn drop(&mut self) {
        self.turns.turns.remove(&self.run);
        self.shared.left.cancel();
    }
}
