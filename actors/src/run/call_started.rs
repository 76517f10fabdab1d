//! A tool call goes out.

use scripta_events::domain::ToolCallStarted;

use super::RunState;
use crate::{Decision, Run};

pub(super) fn decide(state: &RunState, step: u32, index: u32) -> Decision<Run> {
    match state.open_call(step, index) {
        Some(open) if !open.started => {
            Decision::events(vec![ToolCallStarted { step, index }.into()])
        }
        _ => Decision::nothing(),
    }
}
