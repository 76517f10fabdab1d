//! Deleting a connection.

use scripta_events::domain::{ConnectionDeleted, WorkspaceDocuments, WorkspaceEvent};
use uuid::Uuid;

use super::absent;
use crate::Refusal;

/// Chats that name it stay as they are: their next turn says that it is gone.
pub(super) fn decide(
    state: &WorkspaceDocuments,
    connection: Uuid,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    if !state.connections.contains_key(&connection) {
        return Err(absent(state, "connection", connection));
    }
    Ok(vec![ConnectionDeleted { connection }.into()])
}
