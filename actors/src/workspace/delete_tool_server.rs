//! Deleting a tool server.

use scripta_events::domain::{ToolServerDeleted, ToolServerId, WorkspaceDocuments, WorkspaceEvent};

use super::absent;
use crate::Refusal;

/// A bundled one can only be disabled. Policies that name the server stay, and mean nothing: its
/// id is never used again.
pub(super) fn decide(
    state: &WorkspaceDocuments,
    server: ToolServerId,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    let Some(document) = state.servers.get(&server) else {
        return Err(absent(state, "tool server", server.0));
    };
    if server.is_bundled() {
        let name = &document.value.name;
        let reason = format!(
            "the tool server '{name}' comes with the program and can't be deleted; disable it by \
             SetToolServer with enabled: false"
        );
        return Err(Refusal::Refused { reason });
    }
    Ok(vec![ToolServerDeleted { server }.into()])
}
