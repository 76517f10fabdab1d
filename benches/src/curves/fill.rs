//! A process that fills a log, says so, and writes on until it is killed.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use scripta_events::OperationId;
use scripta_events::log::EventLog as _;
use scripta_events::segment::SegmentLog;
use serde::{Deserialize, Serialize};

use super::{ids, resident_bytes};
use crate::load::{Load, Write, payloads};
use crate::store;

#[derive(clap::Args)]
pub struct Arguments {
    folder: PathBuf,
    events: u64,
}

/// What it says on its first line.
#[derive(Serialize, Deserialize)]
pub struct Filled {
    /// Events a second over the last tenth; 0 if the log was filled before.
    pub rate: f64,
    /// The memory of the process then, in bytes.
    pub resident: f64,
}

/// Its second line: it can be killed now.
pub const READY: &str = "ready";

/// How many commits wait for their answers at any time: fewer than there are streams in the
/// smallest log, so that each finds its stream where it expects it.
const IN_FLIGHT: usize = 512;

/// How many tasks write on, with one event a commit.
const WRITERS: usize = 64;

/// How many bytes the last segment has, at least, when the process is ready.
const HALF_SEGMENT: u64 = 32 * 1024 * 1024;

/// How many events were written on, at least, by then.
const WRITTEN_ON: u64 = 1_000;

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_time().build()?;
    runtime.block_on(fill(&arguments.folder, arguments.events))
}

async fn fill(folder: &Path, events: u64) -> anyhow::Result<()> {
    let (log, opened) = SegmentLog::open(folder, store::options())?;
    let last_tenth = events - events / 10;
    append(&log, events, opened.head.0..last_tenth).await?;
    let begin = Instant::now();
    let timed = opened.head.0.max(last_tenth)..events;
    append(&log, events, timed.clone()).await?;
    let rate = (timed.end.saturating_sub(timed.start)) as f64 / begin.elapsed().as_secs_f64();
    println!("{}", serde_json::to_string(&Filled { rate, resident: resident_bytes()? })?);
    write_on(folder, &log).await
}

/// Appends these of the `events` events of a filled log.
async fn append(log: &SegmentLog, events: u64, range: Range<u64>) -> anyhow::Result<()> {
    let streams = ids::streams(events);
    let appends = range.map(|nth| {
        let (stream, after) = (ids::stream(nth % streams), nth / streams);
        let write = Write { stream, after, events: payloads(1) };
        log.append(store::commit(write, ids::operation(nth)))
    });
    let mut appends = futures::stream::iter(appends).buffered(IN_FLIGHT);
    while let Some(result) = appends.next().await {
        result?;
    }
    Ok(())
}

/// Writes to other streams, for ever, and says when the last segment is half full.
async fn write_on(folder: &Path, log: &SegmentLog) -> anyhow::Result<()> {
    let before = *log.head().borrow();
    let load = Load { writers: WRITERS, events: 1, time: Duration::MAX };
    let writer = log.clone();
    let writing = tokio::spawn(load.drive(move |write| {
        let appended = writer.append(store::commit(write, OperationId::random()));
        async move {
            appended.await?;
            Ok(())
        }
    }));
    while log.head().borrow().0 < before.0 + WRITTEN_ON || last_segment(folder)? < HALF_SEGMENT {
        anyhow::ensure!(!writing.is_finished(), "writing on failed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("{READY}");
    writing.await??;
    Ok(())
}

fn last_segment(folder: &Path) -> anyhow::Result<u64> {
    let last = store::segments(folder)?.pop();
    Ok(last.map(std::fs::metadata).transpose()?.map_or(0, |metadata| metadata.len()))
}
