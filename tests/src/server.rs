//! A `scripta serve` process of its own, on its own data folder and a free port.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use crate::binary::{self, Ended};

/// A process that says nothing for so long hangs; far above what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A data folder, which outlives the servers that are started on it one after the other.
pub struct DataFolder(TempDir);

impl DataFolder {
    /// An empty folder.
    pub fn new() -> DataFolder {
        DataFolder(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes `scripta.toml`.
    pub fn configure(&self, toml: &str) {
        std::fs::write(self.path().join("scripta.toml"), toml).expect("scripta.toml is written");
    }

    /// Configures one OpenAI-compatible connection, the default one.
    pub fn connect_model(&self, base_url: &str) {
        self.configure(&format!(
            "[[connections]]\nname = \"scripted\"\nprovider = \"openai\"\n\
             base_url = \"{base_url}\"\nmodel = \"scripted\"\ndefault = true\n"
        ));
    }

    /// The key of the person at this machine.
    pub fn key(&self) -> String {
        let text = std::fs::read_to_string(self.path().join("admin.key"));
        text.expect("admin.key is there after the first start").trim().to_owned()
    }

    /// The segment files of the log, in order.
    pub fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path().join("log")).expect("the log's folder");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "segment"));
        paths.sort();
        paths
    }

    /// Runs a command of the binary on this folder to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        let data = self.path().to_str().expect("a path in UTF-8");
        let mut all = vec!["--data", data];
        all.extend(arguments);
        binary::run(&all)
    }

    /// Copies it, so that what damages the copy leaves this one alone.
    pub fn copy(&self) -> DataFolder {
        let copy = DataFolder::new();
        copy_folder(self.path(), copy.path());
        copy
    }
}

impl Default for DataFolder {
    fn default() -> DataFolder {
        DataFolder::new()
    }
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the folder can be read") {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A running server. It is killed when it is dropped.
pub struct Server {
    child: Child,
    output: Output,
    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub url: String,
    /// The key to call it with.
    pub key: String,
}

impl Server {
    /// Starts a server on the folder, on a free port, and waits until it is ready.
    pub async fn start(data: &DataFolder) -> Server {
        Server::start_with(data, &[]).await
    }

    /// The same with further flags of `serve`.
    ///
    /// # Panics
    ///
    /// With its output, if it ends or says nothing before it is ready.
    pub async fn start_with(data: &DataFolder, flags: &[&str]) -> Server {
        let mut command = Command::from(binary::command());
        command.arg("--data").arg(data.path()).args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(flags).stdin(Stdio::null()).kill_on_drop(true);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the scripta binary can be started");
        let output = Output::collect(&mut child);
        let url = output.wait_for("an address", find_url).await;
        let server = Server { child, output, url, key: data.key() };
        server.ready().await;
        server
    }

    /// Waits until `/readyz` says so.
    async fn ready(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let response = reqwest::get(format!("{}/readyz", self.url)).await;
            match response {
                Ok(response) if response.status().is_success() => return,
                other => assert!(
                    tokio::time::Instant::now() < deadline,
                    "not ready: {other:?}\n{}",
                    self.output.text()
                ),
            }
        }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the server is running")
    }

    /// Everything it has printed so far, both streams together.
    pub fn output(&self) -> String {
        self.output.text()
    }

    /// Ends it as a power cut would end the process: `kill -9`.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("the server can be killed");
    }

    /// Asks it to stop (SIGTERM), and waits for the end.
    ///
    /// # Panics
    ///
    /// If it doesn't exit with 0 in time.
    pub async fn stop(mut self) -> String {
        self.terminate();
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = status.unwrap_or_else(|_| panic!("it didn't stop:\n{}", self.output.text()));
        let status = status.unwrap();
        assert!(status.success(), "it stopped with {status}:\n{}", self.output.text());
        self.output.text()
    }

    fn terminate(&self) {
        let pid = self.pid().to_string();
        let status = std::process::Command::new("kill").args(["-TERM", &pid]).status();
        assert!(status.expect("kill can be run").success());
    }
}

/// The first `http://…` with a port in what was printed.
fn find_url(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(start) = rest.find("http://") {
        let url: String = rest[start..]
            .chars()
            .take_while(|char| char.is_ascii_alphanumeric() || ":/.[]".contains(*char))
            .collect();
        let host = url.strip_prefix("http://").and_then(|url| url.split('/').next());
        // The line must be whole: a port that is still being printed would be a wrong one.
        let whole = rest[start..].contains('\n');
        if let Some(host) = host.filter(|host| whole && host.contains(':')) {
            return Some(format!("http://{host}"));
        }
        rest = &rest[start + "http://".len()..];
    }
    None
}

/// What a process prints, collected while it runs.
struct Output {
    text: Arc<Mutex<String>>,
    lines: watch::Receiver<usize>,
}

impl Output {
    fn collect(child: &mut Child) -> Output {
        let text = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = watch::channel(0);
        let sender = Arc::new(sender);
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        tokio::spawn(read_lines(stdout, Arc::clone(&text), Arc::clone(&sender)));
        tokio::spawn(read_lines(stderr, Arc::clone(&text), sender));
        Output { text, lines }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    async fn wait_for<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let mut lines = self.lines.clone();
        loop {
            lines.borrow_and_update();
            if let Some(found) = find(&self.text()) {
                return found;
            }
            let more = tokio::time::timeout(PATIENCE, lines.changed()).await;
            assert!(
                matches!(more, Ok(Ok(()))),
                "the server ended or fell silent before it printed {what}:\n{}",
                self.text()
            );
        }
    }
}

/// Ends with the stream; the channel closes when both streams have ended.
async fn read_lines(
    stream: impl AsyncRead + Unpin,
    text: Arc<Mutex<String>>,
    lines: Arc<watch::Sender<usize>>,
) {
    let mut reader = BufReader::new(stream).lines();
    while let Ok(Some(line)) = reader.next_line().await {
        {
            let mut text = text.lock().unwrap();
            text.push_str(&line);
            text.push('\n');
        }
        lines.send_modify(|count| *count += 1);
    }
}
