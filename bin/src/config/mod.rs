//! The effective configuration: flags over environment over `scripta.toml` over defaults.

mod file;
mod size;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

pub use file::{FileConnection, Provider};

use scripta_events::segment::{self, MAX_SEGMENT_BYTES};

use crate::cli::{Global, Serve};
use crate::failure::{Failure, Outcome};
use crate::secrets::{KEY_VARIABLE, SecretKey};

/// Where the server listens when nothing says otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:7411";

/// What is logged when nothing says otherwise.
const DEFAULT_LOG: &str = "info,actix_server=warn,tantivy=warn,sled=warn,rmcp=warn";

/// The environment variables that mean something. Any other that begins with `SCRIPTA_` is
/// taken for a misspelt one.
const KNOWN_ENVIRONMENT: &[&str] = &[
    "SCRIPTA_DATA",
    "SCRIPTA_CONFIG",
    "SCRIPTA_LISTEN",
    "SCRIPTA_OPEN",
    "SCRIPTA_ALLOWED_HOSTS",
    "SCRIPTA_ALLOWED_ORIGINS",
    "SCRIPTA_LOG",
    "SCRIPTA_SEGMENT_BYTES",
    "SCRIPTA_RESERVE_BYTES",
    KEY_VARIABLE,
];

/// The smallest segment that makes sense, in bytes: less than that is more header and marks than
/// events.
const LEAST_SEGMENT_BYTES: u64 = 4 * 1024;

/// The effective configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data folder, absolute.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Whether keyless callers may do everything; only ever true for a loopback address.
    pub open: bool,
    /// Further `Host` values to accept.
    pub allowed_hosts: Vec<String>,
    /// Further `Origin` values to accept.
    pub allowed_origins: Vec<String>,
    /// The filter of the log lines.
    pub log: String,
    /// How the event log keeps its files.
    pub segments: segment::Options,
    /// The key of the secrets, where the environment has it.
    pub secret_key: Option<SecretKey>,
    /// The connections, beside `builtin:demo`.
    pub connections: Vec<FileConnection>,
}

/// The environment, as a function, so that tests need not change the process's.
pub trait Environment {
    /// A variable's value; `None` if it is not set or empty.
    fn get(&self, name: &str) -> Option<String>;
    /// All names.
    fn names(&self) -> Vec<String>;
}

/// The process's environment.
pub struct Process;

impl Environment for Process {
    fn get(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn names(&self) -> Vec<String> {
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
    }
}

/// Puts the layers together.
pub fn resolve(global: &Global, serve: &Serve, environment: &dyn Environment) -> Outcome<Config> {
    let data = data_folder(global, environment)?;
    let named = global.config.clone().or_else(|| environment.get("SCRIPTA_CONFIG").map(Into::into));
    let path = named.clone().unwrap_or_else(|| data.join("scripta.toml"));
    let file = file::read(&path, named.is_some())?;
    check_connections(&file.connections)?;
    check_environment(environment, &file.connections)?;
    let segments = segment_options(serve, environment, &file)?;

    let listen = serve.listen.clone().or_else(|| environment.get("SCRIPTA_LISTEN"));
    let listen = listen.or(file.listen).unwrap_or_else(|| DEFAULT_LISTEN.to_owned());
    let listen = listen_address(&listen)?;
    let open = match (serve.open, environment.get("SCRIPTA_OPEN")) {
        (true, _) => true,
        (false, Some(text)) => boolean("SCRIPTA_OPEN", &text)?,
        (false, None) => file.open.unwrap_or(false),
    };
    if open && !listen.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "--open is for a loopback address only, and {listen} can be reached from elsewhere; \
             leave --open out, or listen on 127.0.0.1"
        )));
    }
    let list = |name: &str, other: Option<Vec<String>>| match environment.get(name) {
        Some(text) => text.split(',').map(|item| item.trim().to_owned()).collect(),
        None => other.unwrap_or_default(),
    };
    let log = environment.get("SCRIPTA_LOG").or(file.log);
    Ok(Config {
        data,
        listen,
        open,
        allowed_hosts: list("SCRIPTA_ALLOWED_HOSTS", file.allowed_hosts),
        allowed_origins: list("SCRIPTA_ALLOWED_ORIGINS", file.allowed_origins),
        log: log.unwrap_or_else(|| DEFAULT_LOG.to_owned()),
        segments,
        secret_key: secret_key(environment)?,
        connections: file.connections,
    })
}

/// The key of the secrets; what is none is never shown.
fn secret_key(environment: &dyn Environment) -> Outcome<Option<SecretKey>> {
    let Some(text) = environment.get(KEY_VARIABLE) else { return Ok(None) };
    let wrong =
        || Failure::usage(format!("{KEY_VARIABLE} is not 64 hexadecimal digits; give it a key"));
    SecretKey::parse(&text).ok_or_else(wrong).map(Some)
}

fn segment_options(
    serve: &Serve,
    environment: &dyn Environment,
    file: &file::FileConfig,
) -> Outcome<segment::Options> {
    let default = segment::Options::default();
    let value = |flag: &Option<String>, name: &str, key: &str, in_file: &Option<file::Size>| {
        let variable = format!("SCRIPTA_{}", name.to_uppercase().replace('-', "_"));
        if let Some(text) = flag {
            return size::bytes(&format!("--{name}"), text).map(Some);
        }
        if let Some(text) = environment.get(&variable) {
            return size::bytes(&variable, &text).map(Some);
        }
        in_file.as_ref().map(|size| size::bytes(key, &size.to_string())).transpose()
    };
    let segment =
        value(&serve.segment_bytes, "segment-bytes", "segment_bytes", &file.segment_bytes)?;
    let reserve =
        value(&serve.reserve_bytes, "reserve-bytes", "reserve_bytes", &file.reserve_bytes)?;
    let segment_bytes = segment.unwrap_or(default.segment_bytes);
    if !(LEAST_SEGMENT_BYTES..=MAX_SEGMENT_BYTES).contains(&segment_bytes) {
        return Err(Failure::usage(format!(
            "a segment of {segment_bytes} bytes can't be had; give --segment-bytes between 4KiB and 1GiB"
        )));
    }
    let reserve_bytes = reserve.unwrap_or(default.reserve_bytes);
    Ok(segment::Options { segment_bytes, reserve_bytes })
}

/// The data folder alone, for commands that need no more.
pub fn data_folder(global: &Global, environment: &dyn Environment) -> Outcome<PathBuf> {
    let named = global.data.clone().or_else(|| environment.get("SCRIPTA_DATA").map(Into::into));
    let folder = match named {
        Some(folder) => folder,
        None => default_data_folder(environment)?,
    };
    std::path::absolute(&folder).map_err(|error| {
        Failure::usage(format!("the data folder {} can't be used: {error}", folder.display()))
    })
}

fn default_data_folder(environment: &dyn Environment) -> Outcome<PathBuf> {
    // The XDG specification says that a relative path there is to be ignored.
    let xdg = environment.get("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let home = environment.get("HOME").map(|home| Path::new(&home).join(".local/share"));
    xdg.or(home).map(|dir| dir.join("scripta")).ok_or_else(|| {
        Failure::usage("there is no home folder to keep data in; name a folder with --data")
    })
}

fn listen_address(text: &str) -> Outcome<SocketAddr> {
    let mut addresses = text.to_socket_addrs().map_err(|_| {
        Failure::usage(format!(
            "{text} is not an address to listen on; write it as HOST:PORT, such as {DEFAULT_LISTEN}"
        ))
    })?;
    addresses.next().ok_or_else(|| {
        Failure::usage(format!(
            "{text} has no address; write it as HOST:PORT, such as {DEFAULT_LISTEN}"
        ))
    })
}

fn boolean(name: &str, text: &str) -> Outcome<bool> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(Failure::usage(format!("{name} is {text:?}; it must be true or false"))),
    }
}

fn check_connections(connections: &[FileConnection]) -> Outcome {
    let mut names = std::collections::BTreeSet::new();
    for connection in connections {
        let name = &connection.name;
        if name.trim().is_empty() || name.starts_with("builtin:") {
            return Err(Failure::usage(format!(
                "a connection can't have the name {name:?}: it must not be empty or begin with builtin:"
            )));
        }
        if !names.insert(name) {
            return Err(Failure::usage(format!(
                "two connections have the name {name:?}; rename one"
            )));
        }
        let url = reqwest::Url::parse(&connection.base_url);
        if !url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
            return Err(Failure::usage(format!(
                "the base_url of the connection {name:?} must be an http or https address, such as https://api.openai.com/v1"
            )));
        }
    }
    if connections.iter().filter(|connection| connection.default).count() > 1 {
        return Err(Failure::usage("more than one connection says default = true; leave one"));
    }
    Ok(())
}

fn check_environment(environment: &dyn Environment, connections: &[FileConnection]) -> Outcome {
    let keys = |name: &str| {
        connections.iter().any(|connection| connection.api_key_env.as_deref() == Some(name))
    };
    let unknown = environment.names().into_iter().find(|name| {
        name.starts_with("SCRIPTA_") && !KNOWN_ENVIRONMENT.contains(&name.as_str()) && !keys(name)
    });
    match unknown {
        None => Ok(()),
        Some(name) => Err(Failure::usage(format!(
            "the environment variable {name} means nothing to scripta; known are {}",
            KNOWN_ENVIRONMENT.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;
    use crate::failure::Status;

    struct Fake(BTreeMap<&'static str, String>);

    impl Environment for Fake {
        fn get(&self, name: &str) -> Option<String> {
            self.0.get(name).cloned()
        }

        fn names(&self) -> Vec<String> {
            self.0.keys().map(|name| (*name).to_owned()).collect()
        }
    }

    fn setup(toml: &str, env: &[(&'static str, &str)]) -> (tempfile::TempDir, Global, Fake) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("scripta.toml"), toml).unwrap();
        let global = Global { data: Some(dir.path().to_owned()), config: None };
        let env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        (dir, global, Fake(env))
    }

    fn listen(address: &str) -> Serve {
        Serve { listen: Some(address.to_owned()), ..Serve::default() }
    }

    #[test]
    fn flags_go_over_environment_over_file_over_defaults() {
        let toml = "listen = '127.0.0.1:1'\nallowed_hosts = ['a']\n";
        let (_dir, global, env) = setup(toml, &[("SCRIPTA_LISTEN", "127.0.0.1:2")]);
        let port = |serve: &Serve, env: &Fake| resolve(&global, serve, env).unwrap().listen.port();
        assert_eq!(port(&listen("127.0.0.1:3"), &env), 3);
        assert_eq!(port(&Serve::default(), &env), 2);
        assert_eq!(port(&Serve::default(), &Fake(BTreeMap::new())), 1);
        let config = resolve(&global, &Serve::default(), &env).unwrap();
        assert_eq!(config.allowed_hosts, ["a"]);
        let (_dir, global, env) = setup("", &[]);
        let config = resolve(&global, &Serve::default(), &env).unwrap();
        assert_eq!(config.listen.to_string(), DEFAULT_LISTEN);
        assert!(!config.open);
    }

    #[test]
    fn the_sizes_of_the_log_come_from_anywhere() {
        let toml = "segment_bytes = '8MiB'\nreserve_bytes = 4194304\n";
        let (_dir, global, env) = setup(toml, &[("SCRIPTA_RESERVE_BYTES", "2 MiB")]);
        let segments = |serve: &Serve, env: &Fake| resolve(&global, serve, env).unwrap().segments;
        let file = segments(&Serve::default(), &Fake(BTreeMap::new()));
        assert_eq!((file.segment_bytes, file.reserve_bytes), (8 << 20, 4 << 20));
        assert_eq!(segments(&Serve::default(), &env).reserve_bytes, 2 << 20);
        let serve = Serve { segment_bytes: Some("16KiB".to_owned()), ..Serve::default() };
        assert_eq!(segments(&serve, &env).segment_bytes, 16 << 10);
        for wrong in ["1", "2GiB", "many", ""] {
            let serve = Serve { segment_bytes: Some(wrong.to_owned()), ..Serve::default() };
            let failure = resolve(&global, &serve, &env).unwrap_err();
            assert_eq!(failure.status(), Status::Usage, "{wrong}");
            assert!(failure.to_string().contains("--segment-bytes"), "{failure}");
        }
    }

    #[test]
    fn open_is_refused_away_from_loopback() {
        let (_dir, global, env) = setup("open = true", &[]);
        assert!(resolve(&global, &Serve::default(), &env).unwrap().open);
        let failure = resolve(&global, &listen("0.0.0.0:7411"), &env).unwrap_err();
        assert_eq!(failure.status(), Status::Usage);
        assert!(failure.to_string().contains("loopback"), "{failure}");
    }

    #[test]
    fn a_misspelt_variable_is_an_error_and_a_key_variable_is_not() {
        let (_dir, global, env) = setup("", &[("SCRIPTA_LISTN", "127.0.0.1:2")]);
        let failure = resolve(&global, &Serve::default(), &env).unwrap_err();
        assert!(failure.to_string().contains("SCRIPTA_LISTN"), "{failure}");
        let toml = "[[connections]]\nname='a'\nprovider='openai'\nbase_url='http://h/v1'\nmodel='m'\napi_key_env='SCRIPTA_MY_KEY'\n";
        let (_dir, global, env) = setup(toml, &[("SCRIPTA_MY_KEY", "k")]);
        assert_eq!(resolve(&global, &Serve::default(), &env).unwrap().connections.len(), 1);
    }

    #[test]
    fn the_data_folder_follows_xdg() {
        let env = |pairs: &[(&'static str, &str)]| {
            Fake(pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
        };
        let folder = |env: Fake| data_folder(&Global::default(), &env).unwrap();
        assert_eq!(folder(env(&[("HOME", "/h")])), Path::new("/h/.local/share/scripta"));
        let both = [("HOME", "/h"), ("XDG_DATA_HOME", "/x")];
        assert_eq!(folder(env(&both)), Path::new("/x/scripta"));
        let relative = [("HOME", "/h"), ("XDG_DATA_HOME", "x")];
        assert_eq!(folder(env(&relative)), Path::new("/h/.local/share/scripta"));
        assert_eq!(folder(env(&[("SCRIPTA_DATA", "/d"), ("HOME", "/h")])), Path::new("/d"));
    }

    #[test]
    fn connections_are_checked() {
        let connection = |name: &str, url: &str| {
            format!(
                "[[connections]]\nname='{name}'\nprovider='openai'\nbase_url='{url}'\nmodel='m'\ndefault=true\n"
            )
        };
        for (toml, says) in [
            (connection("builtin:x", "http://h/v1"), "builtin:"),
            (connection("a", "nonsense"), "base_url"),
            (connection("a", "http://h") + &connection("a", "http://h"), "two connections"),
            (connection("a", "http://h") + &connection("b", "http://h"), "more than one"),
        ] {
            let (_dir, global, env) = setup(&toml, &[]);
            let failure = resolve(&global, &Serve::default(), &env).unwrap_err();
            assert!(failure.to_string().contains(says), "{failure}");
        }
    }
}
