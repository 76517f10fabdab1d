//! The run goes on after a restart.

use scripta_events::domain::RunPickedUp;

use super::{RunFacts, RunKey, RunState, failed};
use crate::{Decision, Effect, Run};

/// How often a run is picked up at one place (inclusive): a step that ends the process each time
/// must not end it for ever.
pub(super) const MAX_PICK_UPS: u32 = 5;

pub(super) fn decide(key: RunKey, state: &RunState, facts: &mut RunFacts) -> Decision<Run> {
    if state.pick_ups >= MAX_PICK_UPS {
        let reason = format!(
            "the server ended {MAX_PICK_UPS} times in a row while this turn was at one place; its log \
             may say why"
        );
        return failed::decide(state, &reason, None, facts);
    }
    let mut decision = Decision::events(vec![RunPickedUp {}.into()]);
    decision.effects.push(Effect::Drive(key));
    decision
}
