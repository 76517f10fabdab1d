//! The tools are open.

use scripta_events::domain::{ModelStepStarted, ToolsetRecorded, ToolsetTool};

use super::RunState;
use crate::{Decision, Run};

pub(super) fn decide(state: &RunState, tools: &[ToolsetTool]) -> Decision<Run> {
    if state.tools.is_some() {
        return Decision::nothing();
    }
    let recorded = ToolsetRecorded { tools: tools.to_vec() };
    Decision::events(vec![recorded.into(), ModelStepStarted { step: 1 }.into()])
}
