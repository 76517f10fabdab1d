//! Setting and clearing a secret. It goes to the store of secrets and nowhere else: the log has
//! only the fact.

use scripta_actors::{CommandMeta, Workspace, WorkspaceCommand, check_credential_owner};
use scripta_events::domain::{CredentialOwner, ToolServerId, WorkspaceDocuments, WorkspaceId};

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, workspace};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected, sentence_of};
use crate::secrets::{Secret, SecretName, SecretStore};
use crate::tools::{Call, operation};
use crate::view::secret_names;

/// The longest secret, in characters (inclusive): far more than any key or token.
pub(super) const MAX_SECRET_CHARS: usize = 8_192;

const SET: Shape = operation!(
    "SetCredential",
    required: ["secret"],
    one_of: ["connectionId", "serverId"],
    optional: ["header"]
);

const CLEAR: Shape = operation!(
    "ClearCredential",
    required: [],
    one_of: ["connectionId", "serverId"],
    optional: ["header"]
);

pub(super) async fn set(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&SET, arguments.operation_id)?;
    if call.caller.scope().is_some() {
        return Err(Rejected::refused(
            "A run can't set a secret, since what its model writes is kept in the chat; ask the \
             person to set it",
        ));
    }
    let secret = required(arguments.secret.clone(), SET.operation, "secret")?;
    check_secret("secret", &secret)?;
    let owner = owner(&arguments)?;
    let command = WorkspaceCommand::SetCredential { owner: owner.clone() };
    change(call, meta, owner, Some(Secret::new(secret)), command).await
}

pub(super) async fn clear(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let meta = call.command(&CLEAR, arguments.operation_id)?;
    let owner = owner(&arguments)?;
    let command = WorkspaceCommand::ClearCredential { owner: owner.clone() };
    change(call, meta, owner, None, command).await
}

fn owner(arguments: &SecurityArguments) -> Result<CredentialOwner, Rejected<SecurityDocumentView>> {
    match (arguments.connection_id, arguments.server_id, &arguments.header) {
        (Some(connection), None, None) => {
            Ok(CredentialOwner::Connection { connection: connection.0 })
        }
        (None, Some(server), Some(name)) => {
            Ok(CredentialOwner::Header { server: ToolServerId(server.0), name: header_name(name) })
        }
        _ => Err(Rejected::refused(
            "Whose secret it is must be told either by `connectionId`, or by `serverId` and \
             `header`, and not by both",
        )),
    }
}

/// That a text can be sent as a secret.
pub(super) fn check_secret(
    field: &str,
    secret: &str,
) -> Result<(), Rejected<SecurityDocumentView>> {
    check_length(field, secret)?;
    if secret.chars().any(char::is_control) {
        let text = format!("`{field}` has line breaks or other control characters; leave them out");
        return Err(Rejected::refused(text));
    }
    Ok(())
}

pub(super) fn check_length(
    field: &str,
    secret: &str,
) -> Result<(), Rejected<SecurityDocumentView>> {
    let length = secret.chars().count();
    if length > MAX_SECRET_CHARS {
        let text = format!(
            "`{field}` has {length} characters; at most {MAX_SECRET_CHARS} are allowed, so give a file's \
             name instead"
        );
        return Err(Rejected::refused(text));
    }
    Ok(())
}

/// A header's name in the one spelling that it is kept in: its case says nothing.
pub(super) fn header_name(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// Removes the secrets of a tool server that its present document doesn't have: those of a deleted
/// one, and of what was left out.
pub(super) fn stale(
    now: &WorkspaceDocuments,
    id: ToolServerId,
    store: &dyn SecretStore,
) -> Vec<(SecretName, Option<Secret>)> {
    let document = now.servers.get(&id);
    let kept: Vec<_> = document.iter().flat_map(|it| secret_names(&it.value)).collect();
    let all = store.names(id).into_iter();
    all.filter(|name| !kept.contains(name)).map(|name| (name, None)).collect()
}

/// The secret first, then the fact: what was acknowledged is there. A repeat of a call that took
/// effect doesn't touch the secret, which may be a newer one by now.
async fn change(
    call: &Call<'_>,
    meta: CommandMeta,
    owner: CredentialOwner,
    secret: Option<Secret>,
    command: WorkspaceCommand,
) -> Outcome<SecurityDocumentView> {
    let _gate = call.app.secrets.gate.lock().await;
    let repeated = match meta.operation {
        Some(operation) => call.app.log.receipt(operation).await,
        None => Ok(None),
    };
    let repeated = repeated.map_err(|error| Rejected::refused(sentence_of(&error)))?.is_some();
    let (which, name) = match &owner {
        CredentialOwner::Connection { connection } => {
            (Which::Connection(*connection), SecretName::Connection(*connection))
        }
        CredentialOwner::Header { server, name } => {
            (Which::Server(*server), SecretName::Header(*server, name.clone()))
        }
    };
    let set = secret.is_some();
    let stored = !repeated && check_credential_owner(&*workspace(call).await?, &owner).is_ok();
    let former = call.app.secrets.store.get(&name);
    if stored {
        let changed = call.app.secrets.change(vec![(name.clone(), secret)]).await;
        changed.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    }
    let done = call.app.handle.execute::<Workspace>(WorkspaceId::THE, command, meta).await;
    let done = match done {
        Ok(done) => done,
        // The repeat of a call that may have taken effect leaves the secret as it is.
        Err(error) if stored && !error.may_be_written() => {
            let back = call.app.secrets.change(vec![(name, former)]).await;
            back.map_err(|broken| Rejected::refused(sentence_of(&broken)))?;
            return Err(which.rejected(error));
        }
        Err(error) => return Err(which.rejected(error)),
    };
    let phrase = match (set, done.receipt.events) {
        (true, _) => "Stored the secret",
        (false, 0) => "There was no secret",
        (false, _) => "Cleared the secret",
    };
    applied(&done, which, phrase.to_owned())
}
