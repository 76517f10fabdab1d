//! Appending messages of an import.

use std::collections::HashSet;

use scripta_events::domain::{Message, MessageAppended};

use super::{BranchState, BranchStatus};
use crate::{Branch, Decision, Refusal};

/// The most messages of one import command (inclusive): it leaves room in a commit's 4,096
/// events for those that open the chat and the branch. Longer histories come in several.
pub const MAX_IMPORT_MESSAGES: usize = 4_000;

/// Messages that the branch has already are passed over, so that importing a newer export of a
/// conversation adds what is new.
pub(super) fn decide(
    state: &BranchState,
    messages: &[Message],
) -> Result<Decision<Branch>, Refusal> {
    check(messages)?;
    if state.status() != BranchStatus::Idle || !state.queue.is_empty() {
        let reason = "a turn is running or waiting in this branch; import when it is idle";
        return Err(Refusal::Refused { reason: reason.to_owned() });
    }
    let known: HashSet<_> = state.messages.iter().map(|message| message.id).collect();
    let new = messages.iter().filter(|message| !known.contains(&message.id));
    let events = new.map(|message| MessageAppended { message: message.clone() }.into());
    Ok(Decision::events(events.collect()))
}

/// Checks the number of messages of one import command, and that each is there once.
pub(crate) fn check(messages: &[Message]) -> Result<(), Refusal> {
    let field = "messages";
    if messages.len() > MAX_IMPORT_MESSAGES {
        let count = messages.len();
        let problem = format!("has {count} entries; send at most {MAX_IMPORT_MESSAGES} at a time");
        return Err(Refusal::Invalid { field, problem });
    }
    let mut seen = HashSet::new();
    if let Some(twice) = messages.iter().find(|message| !seen.insert(message.id)) {
        let problem = format!("has the message {} twice; send each once", twice.id);
        return Err(Refusal::Invalid { field, problem });
    }
    Ok(())
}
