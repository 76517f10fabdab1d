//! A tool call has its result.

use scripta_events::Timestamp;
use scripta_events::domain::{
    Message, MessageAppended, MessageId, ModelStepStarted, Part, Role, ToolCallFinished, ToolResult,
};

use super::{CallState, RunFacts, RunState, with_branch};
use crate::{Decision, Run, ToolOutcome};

/// The last result of an answer's calls begins the next model step, in the same commit.
pub(super) fn decide(
    state: &RunState,
    (step, index): (u32, u32),
    outcome: &ToolOutcome,
    facts: &mut RunFacts,
) -> Decision<Run> {
    let Some(open) = state.open_call(step, index) else {
        return Decision::nothing();
    };
    let id = MessageId(facts.ids.take());
    let finished = ToolCallFinished { step, index, message: id, is_error: outcome.is_error };
    let mut events = vec![finished.into()];
    if state.open_calls().count() == 1 {
        events.push(ModelStepStarted { step: step.saturating_add(1) }.into());
    }
    let message = result(state, open, outcome, id, facts.now);
    with_branch(state, events, vec![MessageAppended { message }.into()])
}

/// The message that answers a call.
pub(super) fn result(
    state: &RunState,
    open: &CallState,
    outcome: &ToolOutcome,
    id: MessageId,
    now: Timestamp,
) -> Message {
    let result = ToolResult {
        call_id: open.call.id.clone(),
        is_error: outcome.is_error,
        text: outcome.text.clone(),
        structured: outcome.structured.clone(),
        meta: None,
    };
    let parts = vec![Part::ToolResult(result)];
    Message { run: Some(state.id), ..Message::new(id, Role::Tool, parts, now) }
}
