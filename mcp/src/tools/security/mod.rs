//! `app_security`.

mod delete_connection;
mod delete_tool_server;
mod document;
mod set_connection;
mod set_global_security;
mod set_global_settings;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::document::SecurityDocumentView;
use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::secrets::{Secret, SecretStore};
use crate::view::{ConnectionArgument, GlobalSettingsArgument, Id, SecurityArgument};

pub(super) const DESCRIPTION: &str = "\
Changes settings, connections to models, tool servers, and who may do what.\n\
SetGlobalSettings: settings (the whole document), expectedRevision\n\
SetConnection: connection, expectedRevision (0 for a new one)\n\
DeleteConnection: connectionId, expectedRevision\n\
DeleteToolServer: serverId, expectedRevision; not a bundled one\n\
SetGlobalSecurity: security (the whole document: servers, policies, grants), expectedRevision\n\
`expectedRevision` is the revision of that document that you saw last by app_read Settings; if somebody \
wrote since, nothing is changed and the answer has the status Conflict with the present document. Secrets \
are never returned: `hasCredential` tells whether one is stored. The answer has what was changed as \
`document`.";

/// Arguments of `app_security`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SecurityArguments {
    /// What to do.
    operation: Operation,
    /// The whole document. For SetGlobalSettings.
    settings: Option<GlobalSettingsArgument>,
    /// The whole connection. For SetConnection.
    connection: Option<ConnectionArgument>,
    /// The connection. For DeleteConnection.
    connection_id: Option<Id>,
    /// The tool server. For DeleteToolServer.
    server_id: Option<Id>,
    /// The whole document. For SetGlobalSecurity.
    security: Option<SecurityArgument>,
    /// The document's revision that you saw last; 0 for one that is new.
    expected_revision: Option<u64>,
    /// Makes the call effect-once: a repeat with the same id answers what the first answered.
    operation_id: Option<Id>,
    /// Refused when true: nothing here has a dry run.
    #[serde(rename = "dryRun")]
    _dry_run: Option<bool>,
}

// What to do.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum Operation {
    SetGlobalSettings,
    SetConnection,
    DeleteConnection,
    DeleteToolServer,
    SetGlobalSecurity,
}

pub(super) async fn call(mut call: Call<'_>) -> Outcome<SecurityDocumentView> {
    let arguments: SecurityArguments = typed(call.arguments.clone().into())?;
    // From here on nothing but the typed arguments has a secret: not what is fingerprinted, either.
    hide_secrets(&mut call.arguments, &*call.app.secrets.store);
    match arguments.operation {
        Operation::SetGlobalSettings => set_global_settings::run(&call, arguments).await,
        Operation::SetConnection => set_connection::run(&call, arguments).await,
        Operation::DeleteConnection => delete_connection::run(&call, arguments).await,
        Operation::DeleteToolServer => delete_tool_server::run(&call, arguments).await,
        Operation::SetGlobalSecurity => set_global_security::run(&call, arguments).await,
    }
}

/// Puts keyed digests in the place of secrets.
fn hide_secrets(arguments: &mut JsonObject, store: &dyn SecretStore) {
    let hide = |value: &mut Value| {
        if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
            let digest = blake3::Hash::from_bytes(store.digest(&Secret::new(text)));
            *value = Value::from(digest.to_hex().as_str());
        }
    };
    if let Some(secret) = arguments.get_mut("secret") {
        hide(secret);
    }
    let Some(server) = arguments.get_mut("server").and_then(Value::as_object_mut) else { return };
    for values in ["env", "headers"] {
        let values = server.get_mut(values).and_then(Value::as_object_mut);
        values.into_iter().flat_map(|values| values.values_mut()).for_each(hide);
    }
}
