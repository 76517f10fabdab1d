//! Letting a message that was meant for another head take the present one.

use scripta_events::domain::MessageRebased;

use super::{BranchFacts, BranchState, BranchStatus, PauseReason, start_next};
use crate::{Branch, Decision, Refusal};

/// It starts in the commit that rebases it.
pub(super) fn decide(
    state: &BranchState,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let needed = BranchStatus::Paused { reason: PauseReason::NeedsRebase };
    let Some(next) = state.queue.front().filter(|_| state.status() == needed) else {
        let reason = "no message of this branch waits for a rebase; this is only for a branch that \
                      is paused because its next message was meant for another head";
        return Err(Refusal::Refused { reason: reason.to_owned() });
    };
    let rebased = MessageRebased { message: next.message.id, head: state.head() };
    let mut decision = start_next::start_anywhere(state, facts)?;
    decision.events.insert(0, rebased.into());
    Ok(decision)
}
