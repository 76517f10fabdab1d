//! What a deletion would take with it, as callers see it.

use schemars::JsonSchema;
use scripta_projections::Losses;
use serde::Serialize;

/// What a deletion takes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EffectView {
    chats: u64,
    branches: u64,
    /// Messages that other branches keep are not among them.
    messages: u64,
    /// Messages that wait for their turn.
    queued: u64,
    /// Turns that are running, which the deletion stops.
    running: u64,
}

impl From<Losses> for EffectView {
    fn from(losses: Losses) -> EffectView {
        let Losses { chats, branches, messages, queued, running } = losses;
        EffectView { chats, branches, messages, queued, running }
    }
}

impl EffectView {
    /// "2 branches, 14 messages and 1 queued message would go, and 1 running turn would be stopped;
    /// nothing was done: …".
    pub(crate) fn phrase(&self, thing: &str) -> String {
        let count = |number: u64, one: &str, many: &str| match number {
            1 => format!("1 {one}"),
            more => format!("{more} {many}"),
        };
        let mut parts = Vec::new();
        if self.chats > 0 {
            parts.push(count(self.chats, "chat", "chats"));
        }
        parts.push(count(self.branches, "branch", "branches"));
        parts.push(count(self.messages, "message", "messages"));
        let queued = count(self.queued, "queued message", "queued messages");
        let stopped = match self.running {
            0 => String::new(),
            more => {
                format!(", and {} would be stopped", count(more, "running turn", "running turns"))
            }
        };
        format!(
            "Deleting {thing} would take {} and {queued}{stopped}; nothing was done: repeat with \
             dryRun false to delete it",
            parts.join(", ")
        )
    }
}
