//! The model answered.

use scripta_events::Timestamp;
use scripta_events::domain::{
    Message, MessageAppended, MessageId, ModelAnswered, Part, Role, RunCompleted, ToolCall,
    TurnEnded, TurnOutcome, Usage,
};

use super::{RunFacts, RunState, with_branch};
use crate::{BranchKey, Decision, Effect, Run};

pub(super) struct Answer<'a> {
    pub(super) step: u32,
    pub(super) text: &'a str,
    pub(super) reasoning: &'a str,
    pub(super) calls: &'a [ToolCall],
    pub(super) usage: Option<Usage>,
}

/// An answer that asks for no tool ends the turn, in the same commit.
pub(super) fn decide(state: &RunState, answer: Answer<'_>, facts: &mut RunFacts) -> Decision<Run> {
    if !state.awaits_answer(answer.step) {
        return Decision::nothing();
    }
    let message = MessageId(facts.ids.take());
    let mut parts = parts(answer.reasoning, answer.text);
    parts.extend(answer.calls.iter().cloned().map(Part::ToolCall));
    let whole = Message { usage: answer.usage, ..answer_of(state, message, parts, facts.now) };
    let answered = ModelAnswered {
        step: answer.step,
        message,
        calls: answer.calls.to_vec(),
        usage: answer.usage,
    };
    let mut events = vec![answered.into()];
    let mut branch = vec![MessageAppended { message: whole }.into()];
    if !answer.calls.is_empty() {
        return with_branch(state, events, branch);
    }
    events.push(RunCompleted {}.into());
    branch.push(TurnEnded { run: state.id, outcome: TurnOutcome::Completed }.into());
    let mut decision = with_branch(state, events, branch);
    let key = BranchKey { chat: state.chat, branch: state.branch };
    decision.effects.push(Effect::StartNext(key));
    decision
}

/// A message that the run's model said.
pub(super) fn answer_of(
    state: &RunState,
    id: MessageId,
    parts: Vec<Part>,
    now: Timestamp,
) -> Message {
    Message {
        run: Some(state.id),
        connection: Some(state.connection.clone()),
        model: state.model.clone(),
        ..Message::new(id, Role::Assistant, parts, now)
    }
}

/// The parts of an answer's reasoning and text, where there is any.
pub(super) fn parts(reasoning: &str, text: &str) -> Vec<Part> {
    let reasoning = Part::Reasoning { text: reasoning.to_owned() };
    let said = Part::Text { text: text.to_owned() };
    let parts = [reasoning, said].into_iter();
    parts
        .filter(|part| match part {
            Part::Text { text } | Part::Reasoning { text } => !text.is_empty(),
            _ => true,
        })
        .collect()
}
