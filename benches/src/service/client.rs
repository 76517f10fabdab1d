//! A client of an MCP server over HTTP: the same for all that are measured.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::future::join_all;
use serde_json::{Value, json};

/// How long a server may take to be ready, with its read models to be made first.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server in a process of its own. It is killed when this is dropped.
pub struct Server {
    child: Child,
    /// Its address, without a slash at the end.
    pub url: String,
    /// The key to call it with.
    pub key: Option<String>,
}

/// What a load came to.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Calls a second.
    pub rate: f64,
    /// The time of a call, in seconds.
    pub p50: f64,
    pub p99: f64,
}

impl Server {
    /// Starts a server, which says its address on its standard output or error.
    pub fn start(mut command: Command) -> anyhow::Result<Server> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("the server can't be started")?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let begin = line.find("http://127.0.0.1:")?;
            let url = line.get(begin..)?.split_whitespace().next()?;
            Some(url.trim_end_matches("/mcp").trim_end_matches('/').to_owned())
        });
        // It must not wait for somebody to read what it says.
        std::thread::spawn(move || lines.for_each(drop));
        let url = url.context("the server ended without an address")?;
        Ok(Server { child, url, key: None })
    }

    /// Waits until it is ready.
    pub async fn ready(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        loop {
            let answer = reqwest::get(format!("{}/readyz", self.url)).await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            anyhow::ensure!(begin.elapsed() < PATIENCE, "the server did not become ready");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Calls a tool once; its structured answer.
    pub async fn call(&self, tool: &str, arguments: &Value) -> anyhow::Result<Value> {
        let http = reqwest::Client::new();
        let answer = self.request(&http, tool, body(tool, arguments)).send().await?;
        let text = answer.text().await?;
        let text = text.lines().rfind(|line| line.contains("\"result\"")).unwrap_or(&text);
        let answer: Value = serde_json::from_str(text.trim_start_matches("data:"))?;
        let result = answer.pointer("/result/structuredContent").cloned();
        result.with_context(|| format!("{tool} answered {answer}"))
    }

    /// Calls a tool over so many connections, each as soon as it was answered.
    pub async fn load(
        &self,
        connections: usize,
        time: Duration,
        tool: &str,
        arguments: &Value,
    ) -> anyhow::Result<Measured> {
        let body = body(tool, arguments);
        let clients = (0..connections).map(|_| reqwest::Client::new()).collect::<Vec<_>>();
        let begin = Instant::now();
        let loads = clients.iter().map(|http| async {
            let mut times = Vec::new();
            while begin.elapsed() < time {
                let sent = Instant::now();
                let answer = self.request(http, tool, body.clone()).send().await?;
                anyhow::ensure!(answer.status().is_success(), "{}", answer.status());
                let bytes = answer.bytes().await?;
                times.push(sent.elapsed().as_secs_f64());
                let text = std::str::from_utf8(&bytes)?;
                anyhow::ensure!(!text.contains("\"isError\":true"), "{text}");
            }
            anyhow::Ok(times)
        });
        let mut times = Vec::new();
        for load in join_all(loads).await {
            times.extend(load?);
        }
        let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
        times.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let place = (times.len() as f64 * part) as usize;
            times.get(place.min(times.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
        };
        Ok(Measured { rate, p50: at(0.5), p99: at(0.99) })
    }

    fn request(&self, http: &reqwest::Client, tool: &str, body: String) -> reqwest::RequestBuilder {
        let request = http
            .post(format!("{}/mcp", self.url))
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2026-07-28")
            .header("Mcp-Method", "tools/call")
            .header("Mcp-Name", tool)
            .body(body);
        match &self.key {
            Some(key) => request.header("X-API-Key", key),
            None => request,
        }
    }
}

fn body(tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "scripta-benches", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
