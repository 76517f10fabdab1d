//! `app_security`.

mod add_directory_grant;
mod credential;
mod delete_connection;
mod delete_tool_server;
mod document;
mod remove_directory_grant;
mod scoped;
mod server_argument;
mod set_chat_security;
mod set_connection;
mod set_global_security;
mod set_global_settings;
mod set_project_security;
mod set_tool_policy;
mod set_tool_server;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use self::document::SecurityDocumentView;
use self::server_argument::ServerArgument;
use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::secrets::{Secret, SecretStore};
use crate::view::{
    CapabilityView, ConnectionArgument, GlobalSettingsArgument, Id, PolicyArgument,
    PolicyScopeView, SecurityArgument,
};

pub(super) const DESCRIPTION: &str = "\
Changes settings, connections to models, tool servers, and who may do what.\n\
SetGlobalSettings: settings (the whole document), expectedRevision\n\
SetConnection: connection, expectedRevision (0 for a new one)\n\
DeleteConnection: connectionId, expectedRevision\n\
SetToolServer: server (whole), expectedRevision (0 for a new one)\n\
DeleteToolServer: serverId, expectedRevision; not a bundled one\n\
SetToolPolicy: scope (Global; Project with projectId; Chat with chatId), server (name or id), tool, policy; \
what a chat says goes before what its project says, and that before what holds for all\n\
SetGlobalSecurity: security (the whole document: servers, policies, grants), expectedRevision\n\
SetProjectSecurity: projectId, security (the whole document), expectedRevision\n\
SetChatSecurity: chatId, security (the whole document), expectedRevision (the chat's)\n\
AddDirectoryGrant: projectId, path (absolute), capabilities (Read, Write, Delete), name?, \
expectedRevision (of the project's security)\n\
RemoveDirectoryGrant: projectId, grantId, expectedRevision (of the project's security)\n\
SetCredential: connectionId, or serverId and header; secret\n\
ClearCredential: connectionId, or serverId and header\n\
`expectedRevision` is the revision of that document that you saw last by app_read Settings, Project or Chat; if somebody \
wrote since, nothing is changed and the answer has the status Conflict with the present document. Secrets \
are never returned: `hasCredential` tells whether one is stored. The answer has what was changed as \
`document`.";

/// Arguments of `app_security`. They may hold a secret, so there is no `Debug`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SecurityArguments {
    /// What to do.
    operation: Operation,
    /// The whole document. For SetGlobalSettings.
    settings: Option<GlobalSettingsArgument>,
    /// The whole connection. For SetConnection.
    connection: Option<ConnectionArgument>,
    /// The connection. For DeleteConnection, SetCredential and ClearCredential.
    connection_id: Option<Id>,
    /// The whole tool server, for SetToolServer; its name or id, for SetToolPolicy.
    server: Option<ServerArgument>,
    /// The tool server. For DeleteToolServer, SetCredential and ClearCredential.
    server_id: Option<Id>,
    /// The header of the server's requests. For SetCredential and ClearCredential.
    #[schemars(length(min = 1, max = 200))]
    header: Option<String>,
    /// The secret; it is stored apart and never returned. For SetCredential.
    #[schemars(length(min = 1, max = 8_192))]
    secret: Option<String>,
    /// Where the policy holds. For SetToolPolicy.
    scope: Option<PolicyScopeView>,
    /// The tool's name at its server. For SetToolPolicy.
    #[schemars(length(min = 1, max = 200))]
    tool: Option<String>,
    /// What becomes of the tool's calls. For SetToolPolicy.
    policy: Option<PolicyArgument>,
    /// The project. For SetProjectSecurity, AddDirectoryGrant, RemoveDirectoryGrant, and
    /// SetToolPolicy with the scope Project.
    project_id: Option<Id>,
    /// The chat. For SetChatSecurity, and SetToolPolicy with the scope Chat.
    chat_id: Option<Id>,
    /// The directory, absolute. For AddDirectoryGrant.
    #[schemars(length(min = 1, max = 4_096))]
    path: Option<String>,
    /// What may be done in the directory. For AddDirectoryGrant.
    #[schemars(length(min = 1, max = 3))]
    capabilities: Option<Vec<CapabilityView>>,
    /// The grant's name; the last part of its path unless given. For AddDirectoryGrant.
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// The grant. For RemoveDirectoryGrant.
    grant_id: Option<Id>,
    /// The whole document. For SetGlobalSecurity, SetProjectSecurity and SetChatSecurity.
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
    SetToolServer,
    DeleteToolServer,
    SetToolPolicy,
    SetGlobalSecurity,
    SetProjectSecurity,
    SetChatSecurity,
    AddDirectoryGrant,
    RemoveDirectoryGrant,
    SetCredential,
    ClearCredential,
}

pub(super) async fn call(mut call: Call<'_>) -> Outcome<SecurityDocumentView> {
    let arguments: SecurityArguments = typed(&call.arguments)?;
    // From here on nothing but the typed arguments has a secret: not what is fingerprinted, either.
    hide_secrets(&mut call.arguments, &*call.app.secrets.store);
    match arguments.operation {
        Operation::SetGlobalSettings => set_global_settings::run(&call, arguments).await,
        Operation::SetConnection => set_connection::run(&call, arguments).await,
        Operation::DeleteConnection => delete_connection::run(&call, arguments).await,
        Operation::SetToolServer => set_tool_server::run(&call, arguments).await,
        Operation::DeleteToolServer => delete_tool_server::run(&call, arguments).await,
        Operation::SetToolPolicy => set_tool_policy::run(&call, arguments).await,
        Operation::SetGlobalSecurity => set_global_security::run(&call, arguments).await,
        Operation::SetProjectSecurity => set_project_security::run(&call, arguments).await,
        Operation::SetChatSecurity => set_chat_security::run(&call, arguments).await,
        Operation::AddDirectoryGrant => add_directory_grant::run(&call, arguments).await,
        Operation::RemoveDirectoryGrant => remove_directory_grant::run(&call, arguments).await,
        Operation::SetCredential => credential::set(&call, arguments).await,
        Operation::ClearCredential => credential::clear(&call, arguments).await,
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
