//! A process that opens a log that another one left, and looks things up in it.

use std::path::PathBuf;
use std::time::Instant;

use futures::StreamExt as _;
use scripta_events::Revision;
use scripta_events::log::EventLog as _;
use scripta_events::segment::SegmentLog;
use serde::{Deserialize, Serialize};

use super::{ids, resident_bytes};
use crate::store;
use crate::table::median;

#[derive(clap::Args)]
pub struct Arguments {
    folder: PathBuf,
    events: u64,
}

/// What it saw; times in seconds, memory in bytes.
#[derive(Serialize, Deserialize)]
pub struct Probed {
    pub opening: f64,
    pub resident: f64,
    pub resident_after: f64,
    /// The median time to read a stream.
    pub stream: f64,
    /// The median time to find a receipt.
    pub receipt: f64,
    /// The position of the last event.
    pub head: u64,
}

/// How many streams are read.
const STREAMS: u64 = 200;

/// How many receipts are looked up.
const RECEIPTS: u64 = 1_000;

pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let begin = Instant::now();
    let (log, opened) = SegmentLog::open(&arguments.folder, store::options())?;
    let opening = begin.elapsed().as_secs_f64();
    let resident = resident_bytes()?;
    let (stream, receipt) = runtime.block_on(async {
        let times =
            (streams(&log, arguments.events).await?, receipts(&log, arguments.events).await?);
        anyhow::Ok(times)
    })?;
    let resident_after = resident_bytes()?;
    let head = opened.head.0;
    let probed = Probed { opening, resident, resident_after, stream, receipt, head };
    runtime.block_on(log.close())?;
    println!("{}", serde_json::to_string(&probed)?);
    Ok(())
}

async fn streams(log: &SegmentLog, events: u64) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for nth in 0..STREAMS {
        let stream = store::stream(ids::stream(ids::mixed(nth) % ids::streams(events)));
        let begin = Instant::now();
        let mut read = log.read_stream(stream, Revision::NONE);
        let mut seen = 0;
        while let Some(event) = read.next().await {
            std::hint::black_box(event?);
            seen += 1;
        }
        times.push(begin.elapsed().as_secs_f64());
        anyhow::ensure!(seen == ids::STREAM_EVENTS, "a stream has {seen} events");
    }
    Ok(median(times.into_iter()))
}

async fn receipts(log: &SegmentLog, events: u64) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for nth in 0..RECEIPTS {
        let operation = ids::operation(ids::mixed(nth) % events);
        let begin = Instant::now();
        let receipt = log.receipt(operation).await?;
        times.push(begin.elapsed().as_secs_f64());
        anyhow::ensure!(receipt.is_some(), "operation {operation} is not there");
    }
    Ok(median(times.into_iter()))
}
