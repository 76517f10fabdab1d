//! What a review's events add up to.

use scripta_events::Timestamp;
use scripta_events::domain::{ChatId, MessageId, ReviewComment, ReviewEvent, ReviewId};

/// A review of a change set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewState {
    /// Its id.
    pub id: ReviewId,
    /// The chat it belongs to.
    pub chat: ChatId,
    /// The assistant message whose change set it is about.
    pub message: MessageId,
    /// Its name.
    pub name: String,
    /// The files that it selects.
    pub files: Vec<String>,
    /// What is said about them, in order.
    pub comments: Vec<ReviewComment>,
    /// The document's revision: 1 when made, one more with each change.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

pub(super) fn evolve(
    state: Option<ReviewState>,
    event: &ReviewEvent,
    at: Timestamp,
) -> Option<ReviewState> {
    match (state, event) {
        (None, ReviewEvent::ReviewCreated(made)) => Some(ReviewState {
            id: made.review,
            chat: made.chat,
            message: made.message,
            name: made.name.clone(),
            files: made.files.clone(),
            comments: made.comments.clone(),
            revision: 1,
            created_at: at,
            updated_at: at,
        }),
        (state, ReviewEvent::ReviewCreated(_)) => state,
        (state, ReviewEvent::ReviewUpdated(updated)) => {
            let mut state = state?;
            state.name = updated.name.clone().unwrap_or(state.name);
            state.files = updated.files.clone().unwrap_or(state.files);
            state.comments = updated.comments.clone().unwrap_or(state.comments);
            state.revision += 1;
            state.updated_at = at;
            Some(state)
        }
    }
}
