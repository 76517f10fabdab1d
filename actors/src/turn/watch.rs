//! Who waits for a branch to move.

use std::sync::Arc;

use dashmap::DashMap;
use tokio::sync::watch;

use scripta_events::domain::ChatId;

use crate::BranchKey;

/// The branches that somebody watches.
#[derive(Clone, Default)]
pub(crate) struct Watchers {
    branches: Arc<DashMap<BranchKey, watch::Sender<()>>>,
}

/// Sees each move of a branch until it is dropped.
pub(crate) struct Watcher {
    watchers: Watchers,
    branch: BranchKey,
    moves: watch::Receiver<()>,
}

impl Watchers {
    pub(crate) fn watch(&self, branch: BranchKey) -> Watcher {
        let sender = self.branches.entry(branch).or_insert_with(|| watch::Sender::new(()));
        Watcher { watchers: self.clone(), branch, moves: sender.subscribe() }
    }

    /// Wakes whoever watches a branch of the chat.
    pub(crate) fn wake_all(&self, chat: ChatId) {
        for entry in self.branches.iter().filter(|entry| entry.key().chat == chat) {
            entry.value().send_replace(());
        }
    }

    pub(crate) fn wake(&self, branch: BranchKey) {
        if let Some(sender) = self.branches.get(&branch) {
            sender.send_replace(());
        }
    }
}

impl Watcher {
    /// What has moved so far counts as seen.
    pub(crate) fn mark_seen(&mut self) {
        self.moves.mark_unchanged();
    }

    /// Ends with the next move after what was seen.
    pub(crate) async fn changed(&mut self) {
        // The sender stays in the map for as long as there are receivers.
        let _ = self.moves.changed().await;
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // This receiver is still counted.
        self.watchers.branches.remove_if(&self.branch, |_, sender| sender.receiver_count() <= 1);
    }
}
