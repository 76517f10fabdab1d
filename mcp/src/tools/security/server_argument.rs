//! The argument `server`: a whole tool server to set, or the name of one to set a policy for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::view::{Id, TransportView};

/// A server, whole or by its name or id.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum ServerArgument {
    Named(String),
    Server(Box<ToolServerArgument>),
}

/// A tool server, whole.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ToolServerArgument {
    /// Absent for a new one.
    pub(super) id: Option<Id>,
    /// Of the document that was read; not looked at.
    #[serde(rename = "revision")]
    _revision: Option<u64>,
    /// Of the document that was read; not looked at, since the store of secrets tells.
    #[serde(rename = "hasCredential")]
    _has_credential: Option<bool>,
    /// Of the document that was read; not looked at.
    #[serde(rename = "bundled")]
    _bundled: Option<bool>,
    /// Letters, digits, - and _; models know its tools by it.
    #[schemars(length(min = 1, max = 32))]
    pub(super) name: String,
    pub(super) transport: TransportView,
    /// The program to start. For Stdio.
    pub(super) command: Option<String>,
    /// The program's arguments; no secrets. For Stdio.
    pub(super) args: Option<Vec<String>>,
    /// The program's environment. Values are secrets and are never returned; a blank keeps the
    /// stored one. For Stdio.
    pub(super) env: Option<BTreeMap<String, String>>,
    /// Where it is. For StreamableHttp.
    pub(super) url: Option<String>,
    /// Headers of its requests. Values are secrets and are never returned; a blank keeps the stored
    /// one. For StreamableHttp.
    pub(super) headers: Option<BTreeMap<String, String>>,
    /// What stands before its tools' names.
    pub(super) prefix: Option<String>,
    /// Whether it may be used.
    pub(super) enabled: bool,
}

impl JsonSchema for ServerArgument {
    fn schema_name() -> Cow<'static, str> {
        "ServerArgument".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// What holds of an object holds of no string: one schema for both, without a choice, which
    /// some model providers refuse.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ToolServerArgument::json_schema(generator);
        schema.insert("type".to_owned(), serde_json::json!(["object", "string"]));
        schema
    }
}
