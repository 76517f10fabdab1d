//! Submitting a message.

use scripta_events::domain::{Message, MessageId, MessageQueued, Part, RebaseNeeded};

use super::{BranchFacts, BranchState, BranchStatus, NewMessage, aside, interrupt, new_turn};
use crate::{Branch, BranchKey, Decision, Effect, Refusal};

/// The longest text of a message, in bytes (inclusive): it fits four times into an event, and no
/// model reads more.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// The most messages that wait in a branch (inclusive), queued or as asides: more is a loop.
pub const MAX_QUEUED: usize = 1_000;

/// The most text that waits in a branch, in bytes (inclusive): the queue is held in memory.
pub const MAX_QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// The most resources of a message, and the most reviews (inclusive): the model gets a line for
/// each.
pub const MAX_ATTACHED: usize = 100;

/// How a message joins its branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubmitMode {
    /// It waits for the turns before it; an idle branch starts a turn at once.
    #[default]
    Enqueue,
    /// It starts no turn: a running turn reads it before its next model step.
    Aside,
    /// It stops the running turn, keeping what that produced, and goes before what is queued.
    Interrupt,
    /// As Enqueue, but refused unless the branch is idle.
    Reject,
}

/// A message on its way, and how it joins.
#[derive(Clone, Copy)]
pub(super) struct Submission<'a> {
    pub(super) message: &'a NewMessage,
    pub(super) mode: SubmitMode,
    pub(super) only_if_head: Option<MessageId>,
}

pub(super) fn decide(
    state: &BranchState,
    wanted: Submission<'_>,
    facts: &mut BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    let Some(chat) = facts.chat.clone() else {
        return Err(Refusal::NotFound { what: "chat", id: state.chat.0 });
    };
    check_message(wanted.message)?;
    facts.unattachable.take().map_or(Ok(()), Err)?;
    check_new(state, wanted.message.id)?;
    if wanted.mode == SubmitMode::Aside {
        return aside::decide(state, wanted.message, facts);
    }
    let Some(endpoint) = facts.endpoint.clone() else {
        return Err(Refusal::Refused { reason: "there is no connection to a model".to_owned() });
    };
    if let Some(problem) = endpoint.problem {
        return Err(Refusal::Refused { reason: problem });
    }
    // Whatever waits goes first, also when nobody has started it yet.
    let idle = state.status() == BranchStatus::Idle && state.queue.is_empty();
    match wanted.mode {
        SubmitMode::Interrupt => return interrupt::decide(state, wanted, facts),
        SubmitMode::Reject if !idle => {
            let reason = "the branch is not idle; submit with mode Enqueue to wait for its turn, \
                          or when the branch is idle";
            return Err(Refusal::Refused { reason: reason.to_owned() });
        }
        _ => {}
    }
    if !idle || !state.accepts(wanted.only_if_head) {
        return queue(state, wanted, facts);
    }
    let recorded = wanted.message.at(facts.now);
    let start = (recorded, wanted.message.interactive);
    Ok(new_turn(&chat, state.id, start, &endpoint, &mut facts.ids).begin())
}

/// Checks what a message says, and what is attached to it.
pub(crate) fn check_message(message: &NewMessage) -> Result<(), Refusal> {
    check_text(&message.text)?;
    for (field, ids) in [("resourceIds", &message.refs), ("reviewIds", &message.reviews)] {
        if ids.len() > MAX_ATTACHED {
            let problem = format!("has {} entries; at most {MAX_ATTACHED} are allowed", ids.len());
            return Err(Refusal::Invalid { field, problem });
        }
        let twice =
            ids.iter().enumerate().find(|(at, id)| ids.iter().take(*at).any(|it| it == *id));
        if let Some((_, id)) = twice {
            let problem = format!("has {id} twice; give each once");
            return Err(Refusal::Invalid { field, problem });
        }
    }
    Ok(())
}

/// Checks that a text has something in it and is within [`MAX_MESSAGE_BYTES`].
pub(super) fn check_text(text: &str) -> Result<(), Refusal> {
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

fn check_new(state: &BranchState, id: MessageId) -> Result<(), Refusal> {
    let here = state.messages.iter().any(|known| known.id == id);
    if here || waiting(state).any(|known| known.id == id) {
        return Err(Refusal::AlreadyExists { what: "message", id: id.0 });
    }
    Ok(())
}

/// Everything that waits, queued or as an aside.
fn waiting(state: &BranchState) -> impl Iterator<Item = &Message> {
    state.queue.iter().map(|queued| &queued.message).chain(&state.asides)
}

/// Checks that there is room for one more message of this many bytes, in the place of `instead`
/// if that waits already.
pub(super) fn check_room(
    state: &BranchState,
    bytes: usize,
    instead: Option<MessageId>,
) -> Result<(), Refusal> {
    let full = |limit: usize, unit| Refusal::Full {
        what: "the branch's queue",
        limit: limit as u64,
        unit,
        instead: "wait until some have had their turn",
    };
    let others = || waiting(state).filter(|message| Some(message.id) != instead);
    if others().count() >= MAX_QUEUED {
        return Err(full(MAX_QUEUED, "messages"));
    }
    if others().map(text_bytes).sum::<usize>() + bytes > MAX_QUEUE_BYTES {
        return Err(full(MAX_QUEUE_BYTES, "bytes"));
    }
    Ok(())
}

fn queue(
    state: &BranchState,
    wanted: Submission<'_>,
    facts: &BranchFacts,
) -> Result<Decision<Branch>, Refusal> {
    check_room(state, wanted.message.text.len(), None)?;
    let mut events = vec![queued(wanted, facts, false).into()];
    let idle = state.status() == BranchStatus::Idle;
    if idle && state.queue.is_empty() {
        // Its turn has come, and the head is another than it was meant for.
        events.push(RebaseNeeded { message: wanted.message.id, head: state.head() }.into());
    }
    // An idle branch that has a queue is between two turns, or its start was missed.
    let start = Effect::StartNext(BranchKey { chat: state.chat, branch: state.id });
    Ok(Decision {
        effects: idle.then_some(start).into_iter().collect(),
        ..Decision::events(events)
    })
}

/// The event that puts a message into the queue.
pub(super) fn queued(wanted: Submission<'_>, facts: &BranchFacts, first: bool) -> MessageQueued {
    let Submission { message, only_if_head, .. } = wanted;
    let interactive = message.interactive;
    MessageQueued { message: message.at(facts.now), only_if_head, interactive, first }
}

fn text_bytes(message: &Message) -> usize {
    let texts = message.parts.iter().map(|part| match part {
        Part::Text { text } => text.len(),
        _ => 0,
    });
    texts.sum()
}
