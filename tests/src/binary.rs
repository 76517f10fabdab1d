//! The real `scripta` binary: built once a test process, and run to its end.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The path of the binary, built from the present sources the first time it is asked for.
///
/// # Panics
///
/// If it doesn't build: a test never runs against an older binary, and never skips.
pub fn path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(build)
}

/// Selects the whole workspace with a test target, so that the dependencies get the features that
/// `cargo test --workspace` has just built them with, and nothing is built twice.
fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["build", "--workspace", "--bin", "scripta", "--test", "system"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace())
        .stderr(Stdio::inherit());
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.output().expect("cargo can be run");
    assert!(output.status.success(), "the scripta binary does not build, see above");
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == "scripta")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo names the executable it built")
}

/// The root folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the workspace").to_owned()
}

/// How a command of the binary ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Ended {
    fn new(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Panics with everything it said unless it ended with this status.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Panics unless it failed with this status and complained in one sentence, without a
    /// backtrace or a debug print, that has all of `words` in it.
    #[track_caller]
    pub fn expect_refusal(self, code: i32, words: &[&str]) -> Ended {
        let ended = self.expect_code(code);
        // Warnings and progress may stand before it: the refusal is the last line.
        let sentence = ended.stderr.trim_end().lines().last().unwrap_or_default();
        for word in words {
            assert!(sentence.contains(word), "{word:?} is not in the refusal:\n{}", ended.stderr);
        }
        for leak in ["panicked", "RUST_BACKTRACE", "Err(", "Os {"] {
            assert!(!ended.stderr.contains(leak), "{leak:?} in:\n{}", ended.stderr);
        }
        ended
    }
}

/// Runs the binary to its end, without input, and with nothing of the caller's configuration.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Ended {
    let output = command()
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the scripta binary can be run");
    Ended::new(output)
}

/// A command of the binary in a clean environment: no `SCRIPTA_…` variable leaks in.
pub fn command() -> Command {
    let mut command = Command::new(path());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SCRIPTA_") {
            command.env_remove(name);
        }
    }
    command.current_dir(std::env::temp_dir());
    command
}
