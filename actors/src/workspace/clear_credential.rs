//! Recording that a secret was cleared.

use scripta_events::domain::{
    CredentialCleared, CredentialOwner, WorkspaceDocuments, WorkspaceEvent,
};

use super::set_credential::check_owner;
use crate::Refusal;

/// Where there is none, there is nothing to change.
pub(super) fn decide(
    state: &WorkspaceDocuments,
    owner: &CredentialOwner,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    check_owner(state, owner)?;
    let there = match owner {
        CredentialOwner::Connection { connection } => {
            state.connections.get(connection).is_some_and(|document| document.credential)
        }
        CredentialOwner::Header { server, name } => {
            let headers = state.servers.get(server).map(|document| &document.value.headers);
            headers.is_some_and(|headers| headers.iter().any(|header| header.name == *name))
        }
    };
    if !there {
        return Ok(vec![]);
    }
    Ok(vec![CredentialCleared { owner: owner.clone() }.into()])
}
