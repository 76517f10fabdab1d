//! Emptying the queue.

use scripta_events::domain::QueueCleared;

use super::BranchState;
use crate::{Branch, Decision};

/// Only what has not started goes; a running turn goes on.
pub(super) fn decide(state: &BranchState) -> Decision<Branch> {
    if state.queue.is_empty() {
        return Decision::nothing();
    }
    Decision::events(vec![QueueCleared {}.into()])
}
