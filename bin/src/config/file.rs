//! `scripta.toml`.

use std::path::Path;

use serde::Deserialize;

use crate::failure::{Failure, Outcome};

/// What the configuration file may say. An unknown key is an error.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileConfig {
    /// The address to listen on.
    pub listen: Option<String>,
    /// Whether keyless callers on loopback may do everything.
    pub open: Option<bool>,
    /// `Host` headers that are accepted, beside loopback and the address listened on.
    pub allowed_hosts: Option<Vec<String>>,
    /// `Origin` headers that are accepted, beside the server's own.
    pub allowed_origins: Option<Vec<String>>,
    /// The filter of the log lines, as tracing-subscriber writes it.
    pub log: Option<String>,
    /// How long a segment of the event log gets.
    pub segment_bytes: Option<Size>,
    /// How much of the disk the event log leaves free.
    pub reserve_bytes: Option<Size>,
    /// The connections to models.
    #[serde(default)]
    pub connections: Vec<FileConnection>,
}

/// A number of bytes, or text such as `"64MiB"`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Size {
    /// Bytes.
    Bytes(u64),
    /// With a unit.
    Text(String),
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Size::Bytes(bytes) => bytes.fmt(f),
            Size::Text(text) => text.fmt(f),
        }
    }
}

/// One `[[connections]]` table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileConnection {
    /// Its name; what chats refer to.
    pub name: String,
    /// What it speaks.
    pub provider: Provider,
    /// The address before `/chat/completions`.
    pub base_url: String,
    /// The model that a chat without one of its own uses.
    pub model: String,
    /// The environment variable that holds the key; none for a server that asks for no key.
    pub api_key_env: Option<String>,
    /// Whether chats without a connection of their own use it.
    #[serde(default)]
    pub default: bool,
}

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// OpenAI-compatible chat completions.
    OpenAi,
}

/// Reads the file. `required` tells a path that somebody named from the default one, which need
/// not be there.
pub fn read(path: &Path, required: bool) -> Outcome<FileConfig> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => {
            Ok(FileConfig::default())
        }
        Err(error) => Err(Failure::usage(format!(
            "the configuration file {} can't be read ({error}); name another with --config",
            path.display()
        ))),
    }
}

fn parse(path: &Path, text: &str) -> Outcome<FileConfig> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or_default();
            format!("line {}: ", before.matches('\n').count() + 1)
        });
        Failure::usage(format!(
            "{} is not a valid configuration: {}{}",
            path.display(),
            line.unwrap_or_default(),
            error.message().replace('\n', " ")
        ))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_unknown_key_is_an_error_that_names_it_and_its_line() {
        let error = parse(Path::new("scripta.toml"), "open = true\nlisten_on = \"x\"\n");
        let text = error.unwrap_err().to_string();
        assert!(text.contains("listen_on"), "{text}");
        assert!(text.contains("line 2"), "{text}");
        let nested = "[[connections]]\nname='a'\nprovider='openai'\nbase_url='http://x/v1'\nmodel='m'\nkey='s'\n";
        let text = parse(Path::new("scripta.toml"), nested).unwrap_err().to_string();
        assert!(text.contains("`key`"), "{text}");
    }

    #[test]
    fn a_connection_is_read() {
        let text = "[[connections]]\nname = 'local'\nprovider = 'openai'\nbase_url = 'http://127.0.0.1:1/v1'\nmodel = 'm'\napi_key_env = 'K'\ndefault = true\n";
        let config = parse(Path::new("scripta.toml"), text).unwrap();
        let connection = config.connections.first().unwrap();
        assert_eq!(connection.name, "local");
        assert!(connection.default);
    }
}
