//! Submitting a message.

use scripta_events::domain::{Message, MessageQueued, Part};

use super::{BranchFacts, BranchState, BranchStatus, NewMessage, new_turn};
use crate::{Branch, BranchKey, Decision, Effect, Refusal};

/// The longest text of a message, in bytes (inclusive): it fits four times into an event, and no
/// model reads more.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// The most messages that wait in a branch (inclusive): a queue longer than this is a loop.
pub const MAX_QUEUED: usize = 1_000;

/// The most text that waits in a branch, in bytes (inclusive): the queue is held in memory.
pub const MAX_QUEUE_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn decide(
    state: &BranchState,
    message: &NewMessage,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let Some(chat) = facts.chat.as_deref() else {
        return Err(Refusal::NotFound { what: "chat", id: state.chat.0 });
    };
    let Some(endpoint) = &facts.endpoint else {
        return Err(Refusal::Refused { reason: "there is no connection to a model".to_owned() });
    };
    check_text(&message.text)?;
    check_new(state, message)?;
    if let Some(problem) = &endpoint.problem {
        return Err(Refusal::Refused { reason: problem.clone() });
    }
    let recorded = message.at(facts.now);
    // Whatever waits goes first, also when nobody has started it yet.
    if state.status() != BranchStatus::Idle || !state.queue.is_empty() {
        return queue(state, recorded);
    }
    Ok(new_turn(chat, state.id, recorded, endpoint, &mut facts.ids).begin())
}

/// Checks that a text has something in it and is within [`MAX_MESSAGE_BYTES`].
pub(crate) fn check_text(text: &str) -> Result<(), Refusal> {
    let field = "text";
    if text.trim().is_empty() {
        let problem = "is empty; write something to the model".to_owned();
        return Err(Refusal::Invalid { field, problem });
    }
    if text.len() > MAX_MESSAGE_BYTES {
        let problem = format!("has {} bytes; at most {MAX_MESSAGE_BYTES} are allowed", text.len());
        return Err(Refusal::Invalid { field, problem });
    }
    Ok(())
}

fn check_new(state: &BranchState, message: &NewMessage) -> Result<(), Refusal> {
    let here = state.messages.iter().any(|known| known.id == message.id);
    let waits = state.queue.iter().any(|known| known.id == message.id);
    if here || waits {
        return Err(Refusal::AlreadyExists { what: "message", id: message.id.0 });
    }
    Ok(())
}

fn queue(state: &BranchState, message: Message) -> Result<Decision<Branch>, Refusal> {
    let full = |limit: usize, unit| Refusal::Full {
        what: "the branch's queue",
        limit: limit as u64,
        unit,
        instead: "wait until some have had their turn",
    };
    if state.queue.len() >= MAX_QUEUED {
        return Err(full(MAX_QUEUED, "messages"));
    }
    let bytes: usize = state.queue.iter().chain([&message]).map(text_bytes).sum();
    if bytes > MAX_QUEUE_BYTES {
        return Err(full(MAX_QUEUE_BYTES, "bytes"));
    }
    // An idle branch that has a queue is between two turns, or its start was missed.
    let start = Effect::StartNext(BranchKey { chat: state.chat, branch: state.id });
    let idle = state.status() == BranchStatus::Idle;
    Ok(Decision {
        effects: idle.then_some(start).into_iter().collect(),
        ..Decision::events(vec![MessageQueued { message }.into()])
    })
}

fn text_bytes(message: &Message) -> usize {
    let texts = message.parts.iter().map(|part| match part {
        Part::Text { text } => text.len(),
        _ => 0,
    });
    texts.sum()
}
