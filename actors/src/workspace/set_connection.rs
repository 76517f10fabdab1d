//! Making or replacing a connection.

use scripta_events::domain::{Connection, ConnectionSet, WorkspaceDocuments, WorkspaceEvent};
use serde_json::Value;

use super::absent;
use crate::Refusal;
use crate::names::{self, MAX_NAME_CHARS, MAX_TITLE_CHARS};

/// The most connections (inclusive): each is held in memory, and all are read at once.
pub const MAX_CONNECTIONS: usize = 256;

/// The longest address, in bytes (inclusive): longer ones are refused by servers, too.
const MAX_URL_BYTES: usize = 2_048;

/// The most JSON of options or prices, in bytes (inclusive): a request's settings, not data.
const MAX_JSON_BYTES: usize = 16 * 1024;

/// Names of options that hold secrets, without punctuation: those have a store of their own.
const SECRET_NAMES: [&str; 7] =
    ["apikey", "authorization", "bearer", "token", "secret", "password", "xapikey"];

/// A connection that is there already as it is given is nothing to change.
pub(super) fn decide(
    state: &WorkspaceDocuments,
    wanted: &Connection,
    new: bool,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    let known = state.connections.get(&wanted.id);
    if !new && known.is_none() {
        return Err(absent(state, "connection", wanted.id));
    }
    if known.is_none() && state.connections.len() >= MAX_CONNECTIONS {
        return Err(Refusal::Full {
            what: "the workspace",
            limit: MAX_CONNECTIONS as u64,
            unit: "connections",
            instead: "delete one that is not used",
        });
    }
    check(wanted)?;
    let mut others = state.connections.values().map(|document| &document.value);
    if others.any(|other| other.id != wanted.id && other.name == wanted.name) {
        let problem = format!("'{}' is the name of another connection; choose one", wanted.name);
        return Err(Refusal::Invalid { field: "connection.name", problem });
    }
    // Marks for use go when the connection may not be used any more.
    let connection = Connection {
        default: wanted.default && wanted.enabled,
        for_subtasks: wanted.for_subtasks && wanted.enabled,
        ..wanted.clone()
    };
    if known.is_some_and(|known| known.value == connection) {
        return Ok(vec![]);
    }
    Ok(vec![ConnectionSet { connection }.into()])
}

fn check(connection: &Connection) -> Result<(), Refusal> {
    names::check("connection.name", &connection.name, MAX_NAME_CHARS)?;
    if connection.name.starts_with("builtin:") {
        let problem = "begins with builtin:, which is kept for connections that come with the \
                       program; choose another"
            .to_owned();
        return Err(Refusal::Invalid { field: "connection.name", problem });
    }
    names::check("connection.model", &connection.model, MAX_NAME_CHARS)?;
    if let Some(url) = &connection.base_url {
        check_url("connection.baseUrl", url)?;
    }
    if let Some(good_for) = &connection.good_for {
        names::check("connection.goodFor", good_for, MAX_TITLE_CHARS)?;
    }
    if connection.rating.is_some_and(|rating| !(1..=5).contains(&rating)) {
        let problem = "must be from 1 to 5; leave it out where nobody rated".to_owned();
        return Err(Refusal::Invalid { field: "connection.rating", problem });
    }
    check_json("connection.options", connection.options.as_deref())?;
    check_json("connection.prices", connection.prices.as_deref())
}

/// An http or https address without a password in it, which would be a secret.
pub(super) fn check_url(field: &'static str, url: &str) -> Result<(), Refusal> {
    let invalid = |problem: &str| Err(Refusal::Invalid { field, problem: problem.to_owned() });
    let lower = url.to_ascii_lowercase();
    let rest = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let Some(rest) = rest.filter(|_| url.len() <= MAX_URL_BYTES) else {
        return invalid("must be an http or https address of at most 2,048 bytes");
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || url.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return invalid("must be an http or https address, such as https://api.example.com/v1");
    }
    if host.contains('@') {
        return invalid("has a name or password before its host; set it by SetCredential instead");
    }
    Ok(())
}

fn check_json(field: &'static str, json: Option<&str>) -> Result<(), Refusal> {
    let Some(json) = json else { return Ok(()) };
    let invalid = |problem: String| Err(Refusal::Invalid { field, problem });
    if json.len() > MAX_JSON_BYTES {
        let size = json.len();
        return invalid(format!("has {size} bytes; at most {MAX_JSON_BYTES} are allowed"));
    }
    match serde_json::from_str::<Value>(json) {
        Ok(value @ Value::Object(_)) => match secret_name(&value) {
            Some(name) => invalid(format!(
                "has '{name}', which looks like a secret; leave it out and set it by SetCredential"
            )),
            None => Ok(()),
        },
        _ => invalid("must be a JSON object".to_owned()),
    }
}

/// The first member, at any depth, that is called like a secret and holds text.
fn secret_name(value: &Value) -> Option<&str> {
    match value {
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            let bare = bare.to_ascii_lowercase();
            if value.is_string() && SECRET_NAMES.contains(&bare.as_str()) {
                return Some(name.as_str());
            }
            secret_name(value)
        }),
        Value::Array(items) => items.iter().find_map(secret_name),
        _ => None,
    }
}
