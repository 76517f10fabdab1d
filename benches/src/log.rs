//! The event log beside the raw disk.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::join_all;
use scripta_events::log::{Append, Commit, EventData, EventLog, Expectation, Filter};
use scripta_events::segment::{Options, SegmentLog};
use scripta_events::{Category, EventType, Fingerprint, OperationId, Position, RootId, StreamId};
use uuid::Uuid;

use crate::table::{self, Pair, Row};
use crate::{Common, raw};

/// The event log: durable appends, sequential reads and opening.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// The payload of every measured event, in bytes.
const EVENT_BYTES: usize = 256;

/// How often each pair is measured; the table has the medians.
const ROUNDS: usize = 5;

struct Bench {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    time: Duration,
}

/// Measures and prints the table.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let common = &arguments.common;
    let folder = match &common.dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let time = Duration::from_millis(if common.quick { 200 } else { 1_000 });
    let bench = Bench { folder, runtime, time };
    let mut rows = Vec::new();
    for (writers, events, target) in [(1, 1, 0.7), (8, 1, 0.8), (64, 1, 0.5), (8, 100, 0.8)] {
        rows.push(bench.appends(writers, events, target)?);
    }
    let count = if common.quick { 200_000 } else { 1_000_000 };
    rows.extend(bench.reads(count)?);
    rows.push(bench.opening()?);
    table::print(&rows, common.json.as_deref())
}

impl Bench {
    fn appends(&self, writers: usize, events: usize, target: f64) -> anyhow::Result<Row> {
        let mut rounds = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            let group = writers * events;
            let reference = raw::append(self.folder.path(), group, EVENT_BYTES, self.time)?;
            let folder = self.folder.path().join(format!("append-{writers}-{events}-{round}"));
            let scripta = self.runtime.block_on(append(&folder, writers, events, self.time))?;
            std::fs::remove_dir_all(&folder)?;
            rounds.push(Pair { scripta, reference });
        }
        let what = format!("durable append, {writers} writers, {events} events a commit");
        let against = format!("write + fdatasync of {} events", writers * events);
        Ok(Row::of(what, "events/s", against, Some(target), &rounds))
    }

    fn reads(&self, count: u64) -> anyhow::Result<Vec<Row>> {
        let folder = self.folder.path().join("read");
        self.runtime.block_on(fill(&folder, count))?;
        let mut bytes = Vec::with_capacity(ROUNDS);
        let mut events = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let (reference, total) = raw::read(&segments(&folder)?)?;
            let seconds = self.runtime.block_on(read(&folder, count))?;
            bytes.push(Pair { scripta: total as f64 / seconds, reference });
            // Against one event a reference byte count: the same time seen as events.
            let average = total as f64 / count as f64;
            events.push(Pair { scripta: count as f64 / seconds, reference: reference / average });
        }
        std::fs::remove_dir_all(&folder)?;
        let against = "read + CRC-32C of the same files";
        Ok(vec![
            Row::of("sequential read, decoded", "bytes/s", against, Some(0.3), &bytes),
            Row::of("sequential read, decoded", "events/s", against, None, &events),
        ])
    }

    /// Opening after a process that died: the tail is read, and written again.
    fn opening(&self) -> anyhow::Result<Row> {
        const EVENTS: u64 = 100_000;
        let folder = self.folder.path().join("open");
        self.runtime.block_on(fill(&folder, EVENTS))?;
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            raw::read(&segments(&folder)?)?;
            let reference = begin.elapsed().as_secs_f64();
            let begin = Instant::now();
            let (log, _) = SegmentLog::open(&folder, options())?;
            let scripta = begin.elapsed().as_secs_f64();
            drop(log);
            rounds.push(Pair { scripta, reference });
        }
        std::fs::remove_dir_all(&folder)?;
        let what = format!("opening a log of {EVENTS} events (less is better)");
        Ok(Row::of(what, "s", "read + CRC-32C of the same files", None, &rounds))
    }
}

fn options() -> Options {
    Options { reserve_bytes: 0, ..Options::default() }
}

/// Events a second of `writers` tasks, each with the next commit after the answer to its last.
async fn append(
    folder: &Path,
    writers: usize,
    events: usize,
    time: Duration,
) -> anyhow::Result<f64> {
    let (log, _) = SegmentLog::open(folder, options())?;
    let begin = Instant::now();
    let tasks = (0..writers).map(|_| {
        let log = log.clone();
        tokio::spawn(async move {
            let stream = new_stream();
            let mut written = 0;
            while begin.elapsed() < time {
                log.append(commit(stream, events)).await?;
                written += events;
            }
            anyhow::Ok(written)
        })
    });
    let mut total = 0;
    for written in join_all(tasks).await {
        total += written??;
    }
    let rate = total as f64 / begin.elapsed().as_secs_f64();
    log.close().await?;
    Ok(rate)
}

/// A log of `count` events in commits of one, over a thousand streams.
async fn fill(folder: &Path, count: u64) -> anyhow::Result<()> {
    let (log, _) = SegmentLog::open(folder, options())?;
    let streams: Vec<StreamId> = (0..1_000).map(|_| new_stream()).collect();
    let appends = (0..count).zip(streams.iter().cycle());
    let appends = appends.map(|(_, stream)| log.append(commit(*stream, 1)));
    let mut appends = futures::stream::iter(appends).buffer_unordered(1_024);
    while let Some(result) = appends.next().await {
        result?;
    }
    drop(appends);
    log.close().await?;
    Ok(())
}

/// The seconds that reading all events takes.
async fn read(folder: &Path, count: u64) -> anyhow::Result<f64> {
    let (log, _) = SegmentLog::open(folder, options())?;
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

fn segments(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "segment") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn new_stream() -> StreamId {
    let root = RootId(Uuid::now_v7());
    StreamId { category: Category(700), root, id: root.0 }
}

fn commit(stream: StreamId, events: usize) -> Commit {
    static PAYLOAD: [u8; EVENT_BYTES] = [0x5A; EVENT_BYTES];
    let event = EventData {
        event_type: EventType(1),
        version: 1,
        codec: 0,
        payload: Bytes::from_static(&PAYLOAD),
    };
    Commit {
        root: stream.root,
        operation: OperationId::random(),
        fingerprint: Fingerprint([7; 32]),
        appends: vec![Append { stream, expected: Expectation::Any, events: vec![event; events] }],
        checks: Vec::new(),
        meta: Bytes::new(),
    }
}
