//! What a branch has to look like, told in the simplest way.

use std::collections::VecDeque;

use scripta_events::domain::{BranchId, ChatId, MessageId};

use super::super::Given;
use crate::Refusal;

/// What waits in a branch, and its turns.
#[derive(Clone, Default)]
pub(super) struct Model {
    pub(super) queue: VecDeque<Waiting>,
    /// Asides that nobody has read yet.
    pub(super) asides: Vec<MessageId>,
    /// What people said, in the order of the history.
    pub(super) taken: Vec<MessageId>,
    pub(super) asides_taken: usize,
    pub(super) running: Option<MessageId>,
    /// The turn that was stopped or failed, and that nothing came after.
    pub(super) broken: Option<MessageId>,
    /// Whether that holds up the queue.
    pub(super) holds: bool,
    pub(super) needs_rebase: Option<MessageId>,
    pub(super) read: Option<MessageId>,
    /// How many runs there were.
    pub(super) runs: usize,
    /// Whether somebody is about to start what waits.
    pub(super) start_is_due: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) id: MessageId,
    /// How long the history was, asides not counted, that it was meant for.
    pub(super) after: Option<usize>,
}

impl Model {
    pub(super) fn status(&self) -> &'static str {
        let Some(next) = self.queue.front() else {
            return if self.running.is_some() { "running" } else { "idle" };
        };
        match self.running {
            Some(_) => "running",
            None if self.holds || self.needs_rebase == Some(next.id) => "paused",
            None => "idle",
        }
    }

    /// How long the history is, asides not counted.
    pub(super) fn length(&self, given: &Given) -> usize {
        given.branch().messages.len() - self.asides_taken
    }

    pub(super) fn begin(&mut self, message: MessageId) {
        self.running = Some(message);
        self.taken.push(message);
        (self.broken, self.holds) = (None, false);
        self.runs += 1;
    }

    pub(super) fn end(&mut self) {
        self.broken = self.running.take();
        self.holds = true;
    }

    /// The turn of the first in the queue has come.
    pub(super) fn start(&mut self, length: usize) {
        let Some(next) = self.queue.front().copied() else { return };
        if next.after.is_some_and(|after| after != length) {
            self.needs_rebase = Some(next.id);
            self.holds = false;
        } else {
            self.queue.pop_front();
            self.begin(next.id);
        }
    }

    /// Unread asides come next in the history.
    pub(super) fn flush(&mut self) {
        self.asides_taken += self.asides.len();
        self.taken.append(&mut self.asides);
    }
}

/// A chat and its project.
#[derive(Clone)]
pub(super) struct ChatModel {
    id: ChatId,
    pub(super) title: String,
    pub(super) pinned: bool,
    pub(super) revision: u64,
    pub(super) deleted: bool,
    pub(super) project_deleted: bool,
    /// All that there ever were, the first one first.
    pub(super) branches: Vec<BranchModel>,
}

#[derive(Clone)]
pub(super) struct BranchModel {
    pub(super) id: BranchId,
    /// What it shares, from the root.
    pub(super) inherited: Vec<MessageId>,
    pub(super) deleted: bool,
    pub(super) title: Option<String>,
    pub(super) queue: Model,
}

impl ChatModel {
    pub(super) fn new(given: &Given) -> ChatModel {
        let first = BranchModel {
            id: given.first(),
            inherited: vec![],
            deleted: false,
            title: None,
            queue: Model::default(),
        };
        ChatModel {
            id: given.chat_id(),
            title: "First".to_owned(),
            pinned: false,
            revision: 1,
            deleted: false,
            project_deleted: false,
            branches: vec![first],
        }
    }

    /// What the chat answers if it, or its project, was deleted.
    pub(super) fn gone_chat(&self) -> Option<Refusal> {
        let gone = self.deleted || self.project_deleted;
        gone.then_some(Refusal::Gone { what: "chat", id: self.id.0 })
    }

    /// What the branch answers if it was deleted itself.
    pub(super) fn gone_branch(&self, at: usize) -> Option<Refusal> {
        let branch = &self.branches[at];
        branch.deleted.then_some(Refusal::Gone { what: "branch", id: branch.id.0 })
    }

    pub(super) fn is_gone(&self, at: usize) -> bool {
        self.deleted || self.project_deleted || self.branches[at].deleted
    }

    /// The history of a branch, from the root to its head.
    pub(super) fn history(&self, given: &Given, at: usize) -> Vec<MessageId> {
        let branch = &self.branches[at];
        let own = given.branches[&branch.id].messages.iter().map(|message| message.id);
        branch.inherited.iter().copied().chain(own).collect()
    }
}

impl BranchModel {
    /// It was deleted, or what it belongs to: its turn is stopped.
    pub(super) fn close(&mut self) {
        if self.queue.running.is_some() {
            self.queue.end();
        }
    }
}
