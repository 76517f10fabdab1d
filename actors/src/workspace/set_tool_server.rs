//! Making or replacing a tool server.

use scripta_events::domain::{
    SecretValue, ToolServer, ToolServerId, ToolServerSet, Transport, WorkspaceDocuments,
    WorkspaceEvent,
};

use super::absent;
use super::set_connection::check_url;
use crate::Refusal;

/// The most tool servers (inclusive): each is held in memory, and all are read at once.
pub const MAX_TOOL_SERVERS: usize = 256;

/// The longest name, in characters (inclusive): it is a part of its tools' names, which providers
/// allow 64 characters.
const MAX_SERVER_NAME_CHARS: usize = 32;

/// The most arguments, variables or headers, each (inclusive): a command line, not data.
pub(super) const MAX_VALUES: usize = 64;

/// The longest argument, path or name of a value, in bytes (inclusive): Linux's limit of a path.
const MAX_TEXT_BYTES: usize = 4_096;

/// A tool server as a caller gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToolServer {
    /// Its id.
    pub id: ToolServerId,
    /// Its name: 1 to 32 letters, digits, `-` and `_`.
    pub name: String,
    /// How it is spoken to; a bundled one's own.
    pub transport: Transport,
    /// The program, for [`Transport::Stdio`].
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// The program's environment.
    pub env: Vec<GivenSecret>,
    /// Where it is, for [`Transport::StreamableHttp`].
    pub url: Option<String>,
    /// The headers of its requests.
    pub headers: Vec<GivenSecret>,
    /// What stands before its tools' names.
    pub prefix: Option<String>,
    /// Whether it may be used.
    pub enabled: bool,
}

/// A secret value by its name. The value itself doesn't come here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenSecret {
    /// The name.
    pub name: String,
    /// The keyed digest of the value; `None` keeps the one that is stored.
    pub digest: Option<[u8; 32]>,
}

/// A server that is there already as it is given is nothing to change.
pub(super) fn decide(
    state: &WorkspaceDocuments,
    wanted: &NewToolServer,
    new: bool,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    let known = state.servers.get(&wanted.id).map(|document| &document.value);
    if !new && known.is_none() {
        return Err(absent(state, "tool server", wanted.id.0));
    }
    if known.is_none() && state.servers.len() >= MAX_TOOL_SERVERS {
        return Err(Refusal::Full {
            what: "the workspace",
            limit: MAX_TOOL_SERVERS as u64,
            unit: "tool servers",
            instead: "delete one that is not used",
        });
    }
    let server = match known.filter(|known| known.id.is_bundled()) {
        Some(bundled) => of_bundled(bundled, wanted)?,
        None => of_external(state, known, wanted)?,
    };
    if known == Some(&server) {
        return Ok(vec![]);
    }
    Ok(vec![ToolServerSet { server }.into()])
}

/// Of a bundled server only `enabled` can change.
fn of_bundled(bundled: &ToolServer, wanted: &NewToolServer) -> Result<ToolServer, Refusal> {
    let (name, transport) = (&bundled.name, bundled.transport);
    if wanted.name != *name || wanted.transport != transport {
        return invalid(
            "server",
            format!("'{name}' comes with the program: its name and transport can't be changed"),
        );
    }
    let plain = wanted.command.is_none() && wanted.url.is_none() && wanted.prefix.is_none();
    let plain = plain && wanted.args.is_empty();
    if !plain || !wanted.env.is_empty() || !wanted.headers.is_empty() {
        return invalid(
            "server",
            format!("'{name}' comes with the program: of it only `enabled` can be changed"),
        );
    }
    Ok(ToolServer { enabled: wanted.enabled, ..bundled.clone() })
}

fn of_external(
    state: &WorkspaceDocuments,
    known: Option<&ToolServer>,
    wanted: &NewToolServer,
) -> Result<ToolServer, Refusal> {
    check_name(state, wanted)?;
    check_transport(wanted)?;
    for (field, values) in [("server.env", &wanted.env), ("server.headers", &wanted.headers)] {
        if values.len() > MAX_VALUES {
            let count = values.len();
            return invalid(
                field,
                format!("has {count} entries; at most {MAX_VALUES} are allowed"),
            );
        }
    }
    for variable in &wanted.env {
        let name = &variable.name;
        if name.is_empty() || name.len() > MAX_TEXT_BYTES || name.contains(['=', '\0']) {
            let problem = "has a name that is no variable's; names have no = and are not empty";
            return invalid("server.env", problem.to_owned());
        }
    }
    for header in &wanted.headers {
        check_header("server.headers", &header.name)?;
    }
    if let Some(prefix) = &wanted.prefix
        && !is_plain(prefix, MAX_SERVER_NAME_CHARS)
    {
        let problem = "must be 1 to 32 letters, digits, - and _".to_owned();
        return invalid("server.prefix", problem);
    }
    Ok(ToolServer {
        id: wanted.id,
        name: wanted.name.clone(),
        transport: wanted.transport,
        command: wanted.command.clone(),
        args: wanted.args.clone(),
        env: secrets("server.env", &wanted.env, known.map(|known| &known.env))?,
        url: wanted.url.clone(),
        headers: secrets("server.headers", &wanted.headers, known.map(|known| &known.headers))?,
        prefix: wanted.prefix.clone(),
        enabled: wanted.enabled,
    })
}

fn check_name(state: &WorkspaceDocuments, wanted: &NewToolServer) -> Result<(), Refusal> {
    let name = &wanted.name;
    if !is_plain(name, MAX_SERVER_NAME_CHARS) {
        return invalid("server.name", "must be 1 to 32 letters, digits, - and _".to_owned());
    }
    let mut others = state.servers.values().map(|document| &document.value);
    if others.any(|other| other.id != wanted.id && other.name == *name) {
        let problem = format!("'{name}' is the name of another tool server; choose one");
        return invalid("server.name", problem);
    }
    Ok(())
}

fn check_transport(wanted: &NewToolServer) -> Result<(), Refusal> {
    match wanted.transport {
        Transport::InProcess => {
            let problem = "must be Stdio or StreamableHttp: InProcess is for what is bundled";
            invalid("server.transport", problem.to_owned())
        }
        Transport::Stdio => {
            if wanted.url.is_some() || !wanted.headers.is_empty() {
                let problem = "is Stdio, which has a command and no url or headers";
                return invalid("server.transport", problem.to_owned());
            }
            let texts = wanted.command.iter().chain(&wanted.args);
            if wanted.command.as_ref().is_none_or(|command| command.trim().is_empty())
                || wanted.args.len() > MAX_VALUES
                || texts.clone().any(|text| text.len() > MAX_TEXT_BYTES || text.contains('\0'))
            {
                let problem = format!(
                    "must be a program to start, with at most {MAX_VALUES} args of at most \
                     {MAX_TEXT_BYTES} bytes each"
                );
                return invalid("server.command", problem);
            }
            Ok(())
        }
        Transport::StreamableHttp => {
            let of_program = wanted.command.is_some() || !wanted.args.is_empty();
            if of_program || !wanted.env.is_empty() {
                let problem = "is StreamableHttp, which has a url and no command, args or env";
                return invalid("server.transport", problem.to_owned());
            }
            check_url("server.url", wanted.url.as_deref().unwrap_or_default())
        }
    }
}

/// The values with their digests: one that is kept has the digest that it had.
fn secrets(
    field: &'static str,
    given: &[GivenSecret],
    known: Option<&Vec<SecretValue>>,
) -> Result<Vec<SecretValue>, Refusal> {
    let mut values: Vec<SecretValue> = Vec::new();
    for GivenSecret { name, digest } in given {
        let stored = known.and_then(|known| known.iter().find(|it| it.name == *name));
        let value = match (digest, stored) {
            (Some(_), _) => SecretValue { name: name.clone(), digest: *digest },
            (None, Some(stored)) => stored.clone(),
            (None, None) => {
                let problem = format!("has '{name}' without a value, and none is stored; give one");
                return invalid(field, problem);
            }
        };
        values.push(value);
    }
    values.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(values)
}

/// That a name is one that a header can have.
pub(super) fn check_header(field: &'static str, name: &str) -> Result<(), Refusal> {
    let token = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
    if name.is_empty() || name.len() > MAX_TEXT_BYTES || !name.chars().all(token) {
        let problem = "has a name that no header can have; write it as in Authorization".to_owned();
        return invalid(field, problem);
    }
    Ok(())
}

fn is_plain(text: &str, limit: usize) -> bool {
    let plain = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    !text.is_empty() && text.chars().count() <= limit && text.chars().all(plain)
}

fn invalid<T>(field: &'static str, problem: String) -> Result<T, Refusal> {
    Err(Refusal::Invalid { field, problem })
}
