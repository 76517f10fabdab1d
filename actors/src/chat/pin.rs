//! Putting a chat before the others.

use scripta_events::domain::ChatPinned;

use super::ChatState;
use crate::{Chat, Decision};

/// Pinning what is pinned is nothing to change.
pub(super) fn decide(state: &ChatState, pinned: bool) -> Decision<Chat> {
    if state.pinned == pinned {
        return Decision::nothing();
    }
    Decision::events(vec![ChatPinned { pinned }.into()])
}
