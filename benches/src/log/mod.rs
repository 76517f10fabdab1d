//! The event log beside the raw disk, and beside other embedded stores.

mod appends;

use std::path::Path;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use scripta_events::log::{EventLog, Filter};
use scripta_events::segment::SegmentLog;
use scripta_events::{OperationId, Position};
use uuid::Uuid;

use crate::load::{Write, payloads};
use crate::table::{self, Pair, Row, Target};
use crate::{Common, curves, folder, raw, store};

/// The event log: durable appends, sequential reads; with --curves, how it grows.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
    /// How the log grows instead: 0.1, 1 and 10 million events (with --quick, 0.1 and 1).
    #[arg(long)]
    curves: bool,
    /// Keep the cores from halting while this measures (Linux, as root): where waking a halted
    /// core is dear, as in many virtual machines, this shows how much of a figure is that.
    #[arg(long)]
    awake: bool,
}

/// How often each row is measured; the table has the medians.
pub const ROUNDS: usize = 5;

struct Bench {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    time: Duration,
}

/// Measures and prints the table.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let common = &arguments.common;
    let _awake = if arguments.awake { Some(folder::keep_awake()?) } else { None };
    let folder = folder::create(common.dir.as_deref())?;
    let load_before = folder::machine_load();
    let rows = if arguments.curves {
        curves::measure(folder.path(), common.quick)?
    } else {
        measure(folder, common.quick)?
    };
    let load = format!("{load_before} before, {} after", folder::machine_load());
    let cores = if arguments.awake { "kept awake" } else { "as the system has them" };
    println!("Medians of {ROUNDS} rounds. Load of the machine: {load}. Cores: {cores}.\n");
    table::print(&rows, common.json.as_deref())
}

fn measure(folder: tempfile::TempDir, quick: bool) -> anyhow::Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let time = Duration::from_millis(if quick { 200 } else { 1_000 });
    let bench = Bench { folder, runtime, time };
    let mut rows = bench.appends()?;
    rows.extend(bench.reads(if quick { 200_000 } else { 1_000_000 })?);
    Ok(rows)
}

impl Bench {
    fn reads(&self, count: u64) -> anyhow::Result<Vec<Row>> {
        let folder = self.folder.path().join("read");
        self.runtime.block_on(fill(&folder, count))?;
        let mut bytes = Vec::with_capacity(ROUNDS);
        let mut events = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let (reference, total) = raw::read(&store::segments(&folder)?)?;
            let seconds = self.runtime.block_on(read(&folder, count))?;
            bytes.push(Pair { scripta: total as f64 / seconds, reference });
            // Against one event a reference byte count: the same time seen as events.
            let average = total as f64 / count as f64;
            events.push(Pair { scripta: count as f64 / seconds, reference: reference / average });
        }
        std::fs::remove_dir_all(&folder)?;
        let (what, against) = ("sequential read, decoded", "read + CRC-32C of the same files");
        let least = Target::Figure(2e6);
        Ok(vec![
            Row::compared(what, "bytes/s", against, Some(Target::Ratio(0.3)), &bytes),
            Row::compared(what, "events/s", against, Some(least), &events),
        ])
    }
}

/// A log of `count` events in commits of one, over a thousand streams.
async fn fill(folder: &Path, count: u64) -> anyhow::Result<()> {
    const STREAMS: u64 = 1_000;
    let (log, _) = SegmentLog::open(folder, store::options())?;
    let streams: Vec<Uuid> = (0..STREAMS).map(|_| Uuid::now_v7()).collect();
    let appends = (0..count).zip(streams.iter().cycle()).map(|(nth, stream)| {
        let write = Write { stream: *stream, after: nth / STREAMS, events: payloads(1) };
        log.append(store::commit(write, OperationId::random()))
    });
    // Fewer than there are streams, so that each finds its stream where it expects it.
    let mut appends = futures::stream::iter(appends).buffered(STREAMS as usize / 2);
    while let Some(result) = appends.next().await {
        result?;
    }
    drop(appends);
    log.close().await?;
    Ok(())
}

/// The seconds that reading all events takes.
async fn read(folder: &Path, count: u64) -> anyhow::Result<f64> {
    let (log, _) = SegmentLog::open(folder, store::options())?;
    let begin = Instant::now();
    let mut events = log.read_all(Position::START, Filter::until(Position(count)));
    let mut seen = 0;
    while let Some(event) = events.next().await {
        std::hint::black_box(event?);
        seen += 1;
    }
    let seconds = begin.elapsed().as_secs_f64();
    anyhow::ensure!(seen == count, "read {seen} events of {count}");
    drop(events);
    log.close().await?;
    Ok(seconds)
}
