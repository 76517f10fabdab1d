//! The workspace's settings, connections and tool servers, as callers see and write them. No
//! secret is in any of it.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scripta_events::domain::{
    Connection, ConnectionDocument, Document, GlobalSettings, Provider, SecretValue, ToolServer,
    ToolServerId, WorkspaceDocuments, WorkspaceId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::security::same;
use super::{Id, SecurityView, TransportView};
use crate::arguments::TELLS_NULL;
use crate::secrets::{SecretName, SecretStore};

/// The most calls of one tool in one run where nothing says otherwise.
const DEFAULT_MAX_CALLS_PER_RUN: u32 = 65_535;

/// How long a tool call may say nothing where nothing says otherwise, in milliseconds.
const DEFAULT_SILENCE_TIMEOUT_MS: u64 = 5 * 60 * 1_000;

/// All settings.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsView {
    /// The id of the workspace.
    id: Id,
    /// Of the global settings.
    revision: u64,
    settings: GlobalSettingsArgument,
    connections: Vec<ConnectionView>,
    tool_servers: Vec<ToolServerView>,
    /// The global security document.
    security: SecurityView,
    /// What holds where no policy says otherwise.
    limits: LimitsView,
}

/// What holds where no policy says otherwise.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LimitsView {
    /// How long a tool call may say nothing, in milliseconds.
    silence_timeout_ms: u64,
    /// The most calls of one tool in one run.
    max_calls_per_run: u32,
}

/// The global settings, as the document that SetGlobalSettings answers with.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GlobalSettingsView {
    id: Id,
    revision: u64,
    settings: GlobalSettingsArgument,
}

/// The global settings: limits and defaults of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GlobalSettingsArgument {
    /// What the workspace is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// How long a tool call may say nothing, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1_000, max = 1_800_000))]
    silence_timeout_ms: Option<u64>,
    /// The most calls of one tool in one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    max_calls_per_run: Option<u32>,
    /// How many characters of memory are put before a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_budget_chars: Option<u32>,
}

/// A connection to a model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConnectionView {
    id: Id,
    revision: u64,
    name: String,
    provider: ProviderView,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<String>,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<JsonObject>,
    enabled: bool,
    default: bool,
    for_subtasks: bool,
    /// The person's opinion, 1 to 5; absent when nobody rated, which is not the middle.
    #[serde(skip_serializing_if = "Option::is_none")]
    rating: Option<u8>,
    /// What it is good for, in the person's opinion.
    #[serde(skip_serializing_if = "Option::is_none")]
    good_for: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prices: Option<JsonObject>,
    /// Whether a secret is stored for it; null in a read of the past. Secrets are never returned.
    #[schemars(schema_with = "boolean_or_null")]
    has_credential: Option<bool>,
}

/// A connection to a model, whole.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConnectionArgument {
    /// Absent for a new one.
    pub(crate) id: Option<Id>,
    /// Of the document that was read; not looked at.
    #[serde(rename = "revision")]
    _revision: Option<u64>,
    /// Of the document that was read; not looked at, since the store of secrets tells.
    #[serde(rename = "hasCredential")]
    _has_credential: Option<bool>,
    #[schemars(length(min = 1, max = 200))]
    name: String,
    provider: ProviderView,
    /// The address before `/chat/completions`; the provider's own unless given.
    base_url: Option<String>,
    /// What chats without a model of their own use.
    #[schemars(length(min = 1, max = 200))]
    model: String,
    /// Further options of requests; no secrets.
    options: Option<JsonObject>,
    /// Whether it may be used; the marks below go when it may not.
    enabled: bool,
    /// Whether chats without a connection of their own use it; no other is the default then.
    default: Option<bool>,
    /// Whether subtasks are spread over it; several may have this.
    for_subtasks: Option<bool>,
    /// The person's opinion.
    #[schemars(range(min = 1, max = 5))]
    rating: Option<u8>,
    /// What it is good for, in the person's opinion.
    #[schemars(length(min = 1, max = 500))]
    good_for: Option<String>,
    /// What it costs, as the person writes it.
    prices: Option<JsonObject>,
}

// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum ProviderView {
    OpenAi,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Ollama,
}

/// A server of tools.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolServerView {
    id: Id,
    revision: u64,
    name: String,
    transport: TransportView,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    /// By name; the values are secrets, and blank here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    env: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// By name; the values are secrets, and blank here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    enabled: bool,
    /// Whether it comes with the program: name and transport are read-only, and it can't be
    /// deleted.
    bundled: bool,
    /// Whether the values of all its variables and headers are stored; false where it has none;
    /// null in a read of the past.
    #[schemars(schema_with = "boolean_or_null")]
    has_credential: Option<bool>,
}

/// For what may be unknown: an absent member would be taken for an oversight.
fn boolean_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["boolean", "null"], TELLS_NULL: true })
}

impl SettingsView {
    /// What there is, with what the store of secrets has; it is no part of the past.
    pub(crate) fn of(
        documents: &WorkspaceDocuments,
        store: Option<&dyn SecretStore>,
    ) -> SettingsView {
        let settings = &documents.settings;
        let connections = documents.connections.values();
        let servers = documents.servers.values();
        SettingsView {
            id: Id(WorkspaceId::THE.0),
            revision: settings.revision,
            settings: GlobalSettingsArgument::from(&settings.value),
            connections: connections.map(|it| ConnectionView::stored(it, store)).collect(),
            tool_servers: servers.map(|it| ToolServerView::stored(it, store)).collect(),
            security: SecurityView::of(WorkspaceId::THE.0, &documents.security, documents),
            limits: LimitsView {
                silence_timeout_ms: settings
                    .value
                    .silence_timeout_ms
                    .unwrap_or(DEFAULT_SILENCE_TIMEOUT_MS),
                max_calls_per_run: settings
                    .value
                    .max_calls_per_run
                    .unwrap_or(DEFAULT_MAX_CALLS_PER_RUN),
            },
        }
    }

    /// How many connections it has.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }
}

impl From<&WorkspaceDocuments> for GlobalSettingsView {
    fn from(documents: &WorkspaceDocuments) -> GlobalSettingsView {
        GlobalSettingsView {
            id: Id(WorkspaceId::THE.0),
            revision: documents.settings.revision,
            settings: GlobalSettingsArgument::from(&documents.settings.value),
        }
    }
}

impl From<&GlobalSettings> for GlobalSettingsArgument {
    fn from(settings: &GlobalSettings) -> GlobalSettingsArgument {
        GlobalSettingsArgument {
            name: settings.name.clone(),
            silence_timeout_ms: settings.silence_timeout_ms,
            max_calls_per_run: settings.max_calls_per_run,
            memory_budget_chars: settings.memory_budget_chars,
        }
    }
}

impl From<GlobalSettingsArgument> for GlobalSettings {
    fn from(settings: GlobalSettingsArgument) -> GlobalSettings {
        GlobalSettings {
            name: settings.name,
            silence_timeout_ms: settings.silence_timeout_ms,
            max_calls_per_run: settings.max_calls_per_run,
            memory_budget_chars: settings.memory_budget_chars,
        }
    }
}

impl From<&ConnectionDocument> for ConnectionView {
    /// With what the events tell of its secret, so that a replay answers the same.
    fn from(document: &ConnectionDocument) -> ConnectionView {
        let connection = &document.value;
        ConnectionView {
            id: Id(connection.id),
            revision: document.revision,
            name: connection.name.clone(),
            provider: connection.provider.into(),
            base_url: connection.base_url.clone(),
            model: connection.model.clone(),
            options: object(connection.options.as_deref()),
            enabled: connection.enabled,
            default: connection.default,
            for_subtasks: connection.for_subtasks,
            rating: connection.rating,
            good_for: connection.good_for.clone(),
            prices: object(connection.prices.as_deref()),
            has_credential: Some(document.credential),
        }
    }
}

impl ConnectionView {
    fn stored(document: &ConnectionDocument, store: Option<&dyn SecretStore>) -> ConnectionView {
        let name = SecretName::Connection(document.value.id);
        let has_credential = store.map(|store| store.get(&name).is_some());
        ConnectionView { has_credential, ..ConnectionView::from(document) }
    }
}

impl ConnectionArgument {
    /// The connection, under the id that it has or gets.
    pub(crate) fn into_connection(self, id: Uuid) -> Connection {
        let text = |object: Option<JsonObject>| object.map(|it| Value::Object(it).to_string());
        Connection {
            id,
            name: self.name,
            provider: self.provider.into(),
            base_url: self.base_url,
            model: self.model,
            options: text(self.options),
            enabled: self.enabled,
            default: self.default.unwrap_or(false),
            for_subtasks: self.for_subtasks.unwrap_or(false),
            rating: self.rating,
            good_for: self.good_for,
            prices: text(self.prices),
        }
    }
}

fn object(json: Option<&str>) -> Option<JsonObject> {
    json.and_then(|json| serde_json::from_str(json).ok())
}

impl From<&Document<ToolServer>> for ToolServerView {
    /// With what the events tell of its secrets, so that a replay answers the same.
    fn from(document: &Document<ToolServer>) -> ToolServerView {
        let server = &document.value;
        let blank = |values: &[SecretValue]| {
            values.iter().map(|value| (value.name.clone(), String::new())).collect()
        };
        ToolServerView {
            id: Id(server.id.0),
            revision: document.revision,
            name: server.name.clone(),
            transport: server.transport.into(),
            command: server.command.clone(),
            args: server.args.clone(),
            env: blank(&server.env),
            url: server.url.clone(),
            headers: blank(&server.headers),
            prefix: server.prefix.clone(),
            enabled: server.enabled,
            bundled: server.id.is_bundled(),
            has_credential: Some(!(server.env.is_empty() && server.headers.is_empty())),
        }
    }
}

impl ToolServerView {
    fn stored(document: &Document<ToolServer>, store: Option<&dyn SecretStore>) -> ToolServerView {
        let mut names = secret_names(&document.value).peekable();
        let has_credential = store
            .map(|store| names.peek().is_some() && names.all(|name| store.get(&name).is_some()));
        ToolServerView { has_credential, ..ToolServerView::from(document) }
    }
}

/// The names of a server's secrets.
pub(crate) fn secret_names(server: &ToolServer) -> impl Iterator<Item = SecretName> {
    let id: ToolServerId = server.id;
    let name = |value: &SecretValue| value.name.clone();
    let variables = server.env.iter().map(move |it| SecretName::Variable(id, name(it)));
    variables.chain(server.headers.iter().map(move |it| SecretName::Header(id, name(it))))
}

same!(ProviderView = Provider { OpenAi, OpenAiResponses, Anthropic, Gemini, Ollama });
