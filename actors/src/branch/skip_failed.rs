//! Going on with the queue after a turn that was stopped or failed.

use super::{BranchFacts, BranchState, BranchStatus, PauseReason, start_next};
use crate::{Branch, Decision, Refusal};

pub(super) fn decide(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let refused = |reason: &str| Err(Refusal::Refused { reason: reason.to_owned() });
    match state.status() {
        BranchStatus::Paused { reason: PauseReason::NeedsRebase } => refused(
            "the next message waits because it was meant for another head; give it the present one \
             with Rebase, or take it out with RemoveQueued",
        ),
        BranchStatus::Paused { .. } => start_next::start(state, facts),
        BranchStatus::Idle => refused("nothing waits in this branch; submit a message instead"),
        BranchStatus::Running => refused("a turn is running in this branch; stop it first"),
    }
}
