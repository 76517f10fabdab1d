//! Showing something in the person's window: a signal within the process.

use scripta_events::domain::{BranchId, ChatId, ProjectId};
use tokio::sync::watch;

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Navigate {
    /// The project.
    pub project: ProjectId,
    /// The chat; `None` for the project itself.
    pub chat: Option<ChatId>,
    /// The branch; `None` for the chat's first one.
    pub branch: Option<BranchId>,
}

/// The signal. Windows that listen keep only the latest.
pub(crate) struct Navigation(watch::Sender<Option<Navigate>>);

impl Default for Navigation {
    fn default() -> Navigation {
        Navigation(watch::Sender::new(None))
    }
}

impl Navigation {
    /// Signals, and says how many windows listen.
    pub(crate) fn show(&self, target: Navigate) -> usize {
        self.0.send_replace(Some(target));
        self.0.receiver_count()
    }

    pub(crate) fn listen(&self) -> watch::Receiver<Option<Navigate>> {
        let mut listener = self.0.subscribe();
        // What was shown before it listened is none of its matter.
        listener.mark_unchanged();
        listener
    }
}
