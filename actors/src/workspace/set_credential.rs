//! Recording that a secret was set.

use scripta_events::domain::{
    CredentialOwner, CredentialSet, Transport, WorkspaceDocuments, WorkspaceEvent,
};

use super::absent;
use super::set_tool_server::{MAX_VALUES, check_header};
use crate::Refusal;

/// Each time it is set is a fact: what the secret was and is, is not known here.
pub(super) fn decide(
    state: &WorkspaceDocuments,
    owner: &CredentialOwner,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    check_owner(state, owner)?;
    Ok(vec![CredentialSet { owner: owner.clone() }.into()])
}

/// That the secret's owner is there, and can have one.
///
/// # Errors
///
/// The [`Refusal`] that setting it would come to.
pub fn check_owner(state: &WorkspaceDocuments, owner: &CredentialOwner) -> Result<(), Refusal> {
    match owner {
        CredentialOwner::Connection { connection } => {
            let known = state.connections.contains_key(connection);
            known.then_some(()).ok_or_else(|| absent(state, "connection", *connection))
        }
        CredentialOwner::Header { server, name } => {
            let Some(document) = state.servers.get(server) else {
                return Err(absent(state, "tool server", server.0));
            };
            if document.value.transport != Transport::StreamableHttp {
                let server = &document.value.name;
                let reason = format!(
                    "the tool server '{server}' is not spoken to over HTTP and has no headers; \
                     give its secrets as env by SetToolServer"
                );
                return Err(Refusal::Refused { reason });
            }
            check_header("header", name)?;
            let headers = &document.value.headers;
            if headers.len() >= MAX_VALUES && !headers.iter().any(|it| it.name == *name) {
                return Err(Refusal::Full {
                    what: "the tool server",
                    limit: MAX_VALUES as u64,
                    unit: "headers",
                    instead: "leave one out by SetToolServer",
                });
            }
            Ok(())
        }
    }
}
