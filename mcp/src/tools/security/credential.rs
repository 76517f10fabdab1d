//! Setting and clearing a secret. It goes to the store of secrets and nowhere else: the log has
//! only the fact.

use scripta_actors::{CommandMeta, WorkspaceCommand, check_credential_owner};
use scripta_events::domain::{CredentialOwner, ToolServerId};

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute, workspace};
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected, sentence_of};
use crate::secrets::{Secret, SecretName};
use crate::tools::{Call, operation};

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
    if secret.chars().any(char::is_control) {
        return Err(Rejected::refused(
            "`secret` has line breaks or other control characters; leave them out",
        ));
    }
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
            Ok(CredentialOwner::Header { server: ToolServerId(server.0), name: name.clone() })
        }
        _ => Err(Rejected::refused(
            "Whose secret it is must be told either by `connectionId`, or by `serverId` and \
             `header`, and not by both",
        )),
    }
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
    if !repeated && check_credential_owner(&*workspace(call).await?, &owner).is_ok() {
        let changed = call.app.secrets.change(vec![(name, secret)]).await;
        changed.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    }
    let done = execute(call, meta, command, which).await?;
    let phrase = match (set, done.receipt.events) {
        (true, _) => "Stored the secret",
        (false, 0) => "There was no secret",
        (false, _) => "Cleared the secret",
    };
    applied(&done, which, phrase.to_owned())
}
