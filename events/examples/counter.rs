//! The smallest program with a log: a counter that survives its process.
//!
//! `cargo run -p scripta-events --example counter -- FOLDER`, as often as you like.
//!
//! It also shows how a payload grows: the first release of this program counted one at a time,
//! and what it wrote is read for ever.

use std::error::Error;
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use scripta_events::codec::{self, CodecError, Event as _, Payload};
use scripta_events::log::{AppendError, Commit, EventLog, Expectation};
use scripta_events::segment::{Options, SegmentLog};
use scripta_events::{Category, EventType, Revision, RootId, StreamId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or("counter-log".into(), PathBuf::from);
    println!("the counter is at {}", count(&folder, 2).await?);
    Ok(())
}

/// Adds to the counter in this folder: what it stands at now.
pub async fn count(folder: &Path, by: u64) -> Result<u64, Box<dyn Error>> {
    let (log, opened) = SegmentLog::open(folder, Options::default())?;
    if opened.created {
        as_the_first_release(&log).await?;
    }
    let total = loop {
        // 1. Load: fold the events of the stream.
        let (total, revision) = load(&log).await?;
        // 2. Decide: what happens, from what is known and what is asked.
        let counted = CounterEvent::from(Counted { by }).encode()?;
        // 3. Append, if nobody was faster.
        let unmoved = Expectation::Exactly(revision);
        let commit = Commit::new(counter().root).append(counter(), unmoved, vec![counted]);
        match log.append(commit).await {
            Ok(_) => break total + by,
            // Somebody was: look again.
            Err(AppendError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    };
    log.close().await?;
    Ok(total)
}

/// Where the counter stands, and after how many events.
async fn load(log: &impl EventLog) -> Result<(u64, Revision), Box<dyn Error>> {
    let mut events = log.read_stream(counter(), Revision::NONE);
    let (mut total, mut revision) = (0, Revision::NONE);
    while let Some(event) = events.try_next().await? {
        let CounterEvent::Counted(Counted { by }) = codec::decode(&event)?;
        total += by;
        revision = event.revision;
    }
    Ok((total, revision))
}

/// The only stream here; it is its own root.
fn counter() -> StreamId {
    let id = Uuid::from_u128(1);
    StreamId { category: Category(0x7000), root: RootId(id), id }
}

scripta_events::events! {
    /// What happens to a counter.
    #[derive(Clone, Debug, PartialEq)]
    enum CounterEvent {
        /// Somebody counted.
        0x7001 => Counted,
    }
}

/// Somebody counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Counted {
    /// By how much.
    by: u64,
}

/// Version 1, as it was, never to be changed: one at a time.
#[derive(Serialize, Deserialize)]
struct CountedV1 {}

impl Payload for CountedV1 {
    const VERSION: u8 = 1;
}

impl From<CountedV1> for Counted {
    fn from(_: CountedV1) -> Counted {
        Counted { by: 1 }
    }
}

impl Payload for Counted {
    const VERSION: u8 = 2;

    fn upcast(event_type: EventType, version: u8, payload: &[u8]) -> Result<Counted, CodecError> {
        match version {
            1 => codec::decode_version::<CountedV1>(event_type, 1, payload).map(Counted::from),
            _ => Err(CodecError::UnknownVersion { event_type, version, newest: Self::VERSION }),
        }
    }
}

/// Begins a new log with one event in version 1, as if an older program had been here.
async fn as_the_first_release(log: &impl EventLog) -> Result<(), Box<dyn Error>> {
    let old = codec::encode_payload(EventType(0x7001), &CountedV1 {})?;
    let commit = Commit::new(counter().root).append(counter(), Expectation::NoStream, vec![old]);
    log.append(commit).await?;
    Ok(())
}
