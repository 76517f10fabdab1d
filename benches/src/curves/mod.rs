//! How the log grows: the same measures at 0.1, 1 and 10 million events.
//!
//! Each log is filled by a process of its own, which is killed while it writes on; another
//! process then opens what was left, so that its memory and its time are those of a fresh start.
//! The files are in the page cache, as after a crash of the program and not of the machine.

pub mod fill;
mod ids;
pub mod probe;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use scripta_events::segment::{INDEX_FOLDER, LOG_FOLDER};
use serde::de::DeserializeOwned;

use crate::folder::bytes_on_disk;
use crate::log::ROUNDS;
use crate::table::{Row, Target, median};

const SIZES: [u64; 3] = [100_000, 1_000_000, 10_000_000];

/// What is measured at each size.
#[derive(Clone, Copy)]
struct Measure {
    what: &'static str,
    unit: &'static str,
    of: fn(&Point) -> f64,
    /// What the measure is to reach at a size.
    target: fn(u64) -> Option<Target>,
}

const NONE: fn(u64) -> Option<Target> = |_| None;

const MEASURES: [Measure; 9] = [
    Measure {
        what: "appending the last tenth, 512 commits of one event in flight",
        unit: "events/s",
        of: |point| point.filled.rate,
        target: NONE,
    },
    Measure {
        what: "memory at the end of that",
        unit: "MiB",
        of: |point| mebibytes(point.filled.resident),
        target: NONE,
    },
    Measure {
        what: "opening after kill -9 under load, half a segment after the last seal",
        unit: "ms",
        of: |point| point.median(|probed| probed.opening) * 1e3,
        target: |events| (events == 10_000_000).then_some(Target::RatioAtMost(2.0)),
    },
    Measure {
        what: "memory, opened and idle",
        unit: "MiB",
        of: |point| mebibytes(point.median(|probed| probed.resident)),
        target: |events| (events == 1_000_000).then_some(Target::FigureAtMost(150.0)),
    },
    Measure {
        what: "memory after 200 streams and 1,000 receipts",
        unit: "MiB",
        of: |point| mebibytes(point.median(|probed| probed.resident_after)),
        target: NONE,
    },
    Measure {
        what: "reading one stream of 100 events, spread over the whole log (p50)",
        unit: "µs",
        of: |point| point.median(|probed| probed.stream) * 1e6,
        target: NONE,
    },
    Measure {
        what: "looking up a receipt (p50)",
        unit: "µs",
        of: |point| point.median(|probed| probed.receipt) * 1e6,
        target: NONE,
    },
    Measure {
        what: "disk, the log, for each event of 256 bytes",
        unit: "bytes",
        of: |point| point.log_bytes,
        target: NONE,
    },
    Measure {
        what: "disk, the index, for each event",
        unit: "bytes",
        of: |point| point.index_bytes,
        target: NONE,
    },
];

/// What was seen at one size.
struct Point {
    filled: fill::Filled,
    probed: Vec<probe::Probed>,
    /// An event, in bytes.
    log_bytes: f64,
    index_bytes: f64,
}

/// Fills, kills, opens and looks, at each size.
pub fn measure(folder: &Path, quick: bool) -> anyhow::Result<Vec<Row>> {
    let sizes = SIZES.iter().take(if quick { 2 } else { SIZES.len() });
    let mut points = Vec::new();
    for events in sizes.copied() {
        let folder = folder.join(format!("curve-{events}"));
        points.push((events, point(&folder, events)?));
        std::fs::remove_dir_all(&folder)?;
    }
    let mut rows = Vec::new();
    for measure in MEASURES {
        let mut before: Option<f64> = None;
        for (events, point) in &points {
            let figure = (measure.of)(point);
            rows.push(Row {
                what: format!("{} million events: {}", *events as f64 / 1e6, measure.what),
                unit: measure.unit,
                scripta: figure,
                against: if before.is_some() { "a tenth of them" } else { "" }.to_owned(),
                reference: before,
                ratio: before.map(|before| figure / before),
                target: (measure.target)(*events),
            });
            before = Some(figure);
        }
    }
    Ok(rows)
}

fn point(folder: &Path, events: u64) -> anyhow::Result<Point> {
    let mut filled = None;
    let mut probed = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        // Later rounds find it filled, and only write on until they are killed.
        let round = fill_and_kill(folder, events)?;
        filled.get_or_insert(round);
        probed.push(probe(folder, events)?);
    }
    let head = probed.last().map_or(0, |probed| probed.head) as f64;
    Ok(Point {
        filled: filled.context("no round was made")?,
        probed,
        log_bytes: bytes_on_disk(&folder.join(LOG_FOLDER))? as f64 / head,
        index_bytes: bytes_on_disk(&folder.join(INDEX_FOLDER))? as f64 / head,
    })
}

fn fill_and_kill(folder: &Path, events: u64) -> anyhow::Result<fill::Filled> {
    let mut child = this_program("fill", folder, events)?.stdout(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let filled = lines.next().context("the filling process ended")??;
    let ready = lines.next().context("the filling process ended before it was ready")??;
    anyhow::ensure!(ready == fill::READY, "the filling process said {ready}");
    child.kill()?;
    child.wait()?;
    parsed(&filled)
}

fn probe(folder: &Path, events: u64) -> anyhow::Result<probe::Probed> {
    let output = this_program("probe", folder, events)?.stderr(Stdio::inherit()).output()?;
    anyhow::ensure!(output.status.success(), "the opening process failed: {}", output.status);
    parsed(&String::from_utf8(output.stdout)?)
}

fn this_program(what: &str, folder: &Path, events: u64) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(what).arg(folder).arg(events.to_string());
    Ok(command)
}

fn parsed<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    serde_json::from_str(text).with_context(|| format!("a child process said {text}"))
}

impl Point {
    fn median(&self, of: fn(&probe::Probed) -> f64) -> f64 {
        median(self.probed.iter().map(of))
    }
}

fn mebibytes(bytes: f64) -> f64 {
    bytes / (1024.0 * 1024.0)
}

/// The memory of this process that is resident, in bytes.
fn resident_bytes() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes: f64 = line.context("no VmRSS")?.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes * 1024.0)
}
