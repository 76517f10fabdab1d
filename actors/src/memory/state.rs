//! What an entry's events add up to.

use scripta_events::Timestamp;
use scripta_events::domain::{MemoryEvent, MemoryId, ProjectId};

/// An entry of long-term memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryState {
    /// Its id.
    pub id: MemoryId,
    /// The project it belongs to; `None` for the whole workspace.
    pub project: Option<ProjectId>,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its tags, in their order.
    pub tags: Vec<String>,
    /// Whether it goes before those that are not.
    pub pinned: bool,
    /// The document's revision: 1 when made, one more with each change and with its deletion.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// Whether it was deleted; the rest is as it was then.
    pub deleted: bool,
}

pub(super) fn evolve(
    state: Option<MemoryState>,
    event: &MemoryEvent,
    at: Timestamp,
) -> Option<MemoryState> {
    let mut state = match (state, event) {
        (None, MemoryEvent::MemoryCreated(made)) => {
            return Some(MemoryState {
                id: made.memory,
                project: made.project,
                title: made.title.clone(),
                text: made.text.clone(),
                tags: made.tags.clone(),
                pinned: made.pinned,
                revision: 1,
                created_at: at,
                updated_at: at,
                deleted: false,
            });
        }
        (state, _) => state?,
    };
    match event {
        MemoryEvent::MemoryCreated(_) => return Some(state),
        MemoryEvent::MemoryUpdated(updated) => {
            state.title = updated.title.clone().unwrap_or(state.title);
            state.text = updated.text.clone().unwrap_or(state.text);
            state.tags = updated.tags.clone().unwrap_or(state.tags);
            state.pinned = updated.pinned.unwrap_or(state.pinned);
        }
        MemoryEvent::MemoryDeleted(_) => state.deleted = true,
    }
    state.revision += 1;
    state.updated_at = at;
    Some(state)
}
