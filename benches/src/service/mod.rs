//! The service over HTTP beside a tool that does nothing on the same stack.

pub mod bare;
mod client;
mod fill;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use self::client::{Measured, Server};
use crate::log::ROUNDS;
use crate::table::{self, Pair, Row, Target, median};
use crate::{Common, folder};

/// The service over HTTP: reads and changes, beside a tool that does nothing.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// The `scripta` program to measure; the present sources are built unless told.
    #[arg(long)]
    scripta: Option<PathBuf>,
    /// Only the measurements whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,
}

/// How many chats there are, and how many messages the long one has.
const CHATS: usize = 100_000;
const MESSAGES: usize = 10_000;

/// The page that is read in the middle of all chats, and how many chats a page has.
const PAGE: usize = 500;
const PAGE_CHATS: usize = 100;

/// How many clients there are where the row doesn't say.
const CLIENTS: usize = 16;

/// One measurement.
struct Measure {
    what: &'static str,
    tool: &'static str,
    arguments: Value,
    clients: usize,
    /// Of the calls a second of the tool that does nothing.
    target: Option<f64>,
    /// The most that a call may take, in milliseconds (the median).
    p50: Option<f64>,
}

/// Measures and prints the table.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rows = runtime.block_on(measure(arguments))?;
    println!(
        "Medians of {ROUNDS} rounds. Load of the machine after it: {}. Server and clients share its \
         cores.\n",
        folder::machine_load()
    );
    table::print(&rows, arguments.common.json.as_deref())
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Vec<Row>> {
    let common = &arguments.common;
    let program = match &arguments.scripta {
        Some(program) => program.clone(),
        None => build()?,
    };
    let folder = folder::create(common.dir.as_deref())?;
    let (chats, messages) =
        if common.quick { (CHATS / 10, MESSAGES / 10) } else { (CHATS, MESSAGES) };
    let filled = fill::fill(folder.path(), chats, messages).await?;
    let mut command = Command::new(program);
    command.arg("--data").arg(folder.path()).args(["serve", "--listen", "127.0.0.1:0"]);
    let mut scripta = Server::start(command)?;
    scripta.ready().await?;
    let key = std::fs::read_to_string(folder.path().join("admin.key"))?;
    scripta.key = Some(key.trim().to_owned());
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("bare");
    let bare = Server::start(command)?;
    let time = Duration::from_millis(if common.quick { 300 } else { 1_500 });
    let mut rows = Vec::new();
    let measures = measures(&scripta, &filled, chats).await?;
    for measure in measures.iter().filter(|it| it.what.contains(&arguments.only)) {
        rows.extend(rounds(measure, &scripta, &bare, time).await?);
    }
    Ok(rows)
}

async fn measures(
    scripta: &Server,
    filled: &fill::Filled,
    chats: usize,
) -> anyhow::Result<Vec<Measure>> {
    let (project, chat) = (filled.project, filled.long);
    let middle = (chats / PAGE_CHATS / 2).min(PAGE);
    let mut page = json!({ "resource": "Chats", "limit": PAGE_CHATS });
    for _ in 1..middle {
        let read = scripta.call("app_read", &page).await?;
        let cursor = read.get("nextCursor").cloned().context("the chats end too early")?;
        page.as_object_mut().context("an object")?.insert("cursor".to_owned(), cursor);
    }
    let read = |what, arguments, target, p50| Measure {
        what,
        tool: "app_read",
        arguments,
        clients: CLIENTS,
        target,
        p50,
    };
    let create = json!({ "operation": "Create", "projectId": project, "title": "New" });
    let aside = json!({
        "operation": "Submit", "mode": "Aside", "chatId": chat, "text": "By the way",
    });
    let first = json!({ "resource": "Chats", "limit": PAGE_CHATS });
    let change = |what, tool, arguments, clients, target| Measure {
        what,
        tool,
        arguments,
        clients,
        target,
        p50: None,
    };
    Ok(vec![
        read("app_read Chat", json!({ "resource": "Chat", "chatId": chat }), Some(0.7), None),
        read(
            "app_read Messages, the newest 100 of 10,000",
            json!({ "resource": "Messages", "chatId": chat }),
            None,
            None,
        ),
        Measure {
            clients: 1,
            ..read("app_read Chats, the first page of 100,000", first, None, Some(10.0))
        },
        Measure { clients: 1, ..read("app_read Chats, page 500 of 1,000", page, None, Some(10.0)) },
        change("app_runs Submit without a turn", "app_runs", aside, CLIENTS, None),
        change("app_chats Create, durable", "app_chats", create, 32, Some(0.4)),
    ])
}

async fn rounds(
    measure: &Measure,
    scripta: &Server,
    bare: &Server,
    time: Duration,
) -> anyhow::Result<Vec<Row>> {
    let Measure { what, tool, arguments, clients, target, p50 } = measure;
    let mut pairs: Vec<(Measured, Measured)> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let own = scripta.load(*clients, time, tool, arguments).await?;
        let other = bare.load(*clients, time, bare::TOOL, &json!({})).await?;
        pairs.push((own, other));
    }
    let against = || "a tool that does nothing".to_owned();
    let what = format!("{what}, clients: {clients}");
    let rates: Vec<Pair> = pairs
        .iter()
        .map(|(own, other)| Pair { scripta: own.rate, reference: other.rate })
        .collect();
    let mut rows =
        vec![Row::compared(&what, "calls/s", against(), target.map(Target::Ratio), &rates)];
    for (name, of, most) in [
        ("p50", (|it: &Measured| it.p50) as fn(&Measured) -> f64, *p50),
        ("p99", |it: &Measured| it.p99, None),
    ] {
        rows.push(Row {
            what: format!("{what}, {name}"),
            unit: "ms",
            scripta: median(pairs.iter().map(|(own, _)| of(own) * 1e3)),
            against: against(),
            reference: Some(median(pairs.iter().map(|(_, other)| of(other) * 1e3))),
            ratio: None,
            target: most.map(Target::FigureAtMost),
        });
    }
    Ok(rows)
}

/// Builds the program from the present sources.
fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--release", "-p", "scripta"]).status()?;
    anyhow::ensure!(built.success(), "the scripta program does not build");
    let own = std::env::current_exe()?;
    Ok(own.with_file_name("scripta"))
}
