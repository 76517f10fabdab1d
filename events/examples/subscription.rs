//! A live subscription: what was sold today, told as it happens, without missing a sale and
//! without counting one twice, however often the program is stopped.
//!
//! `cargo run -p scripta-events --example subscription -- FOLDER`, as often as you like.
//!
//! The reader asks for the sales only, begins after its checkpoint, goes through history and
//! then follows what is new. It stores its position together with what it computed from it, in
//! one step: so the two never disagree.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use futures::TryStreamExt as _;
use scripta_events::codec::{self, Payload};
use scripta_events::log::{AppendError, Commit, EventLog, Expectation, Filter};
use scripta_events::segment::{Options, SegmentLog};
use scripta_events::{Category, EventType, LogId, Position, RootId, StreamId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or("shop-log".into(), PathBuf::from);
    let (log, _) = SegmentLog::open(&folder, Options::default())?;
    let checkpoint = folder.join("takings");
    sell(&log, 3).await?; // history
    let selling = tokio::spawn({
        let log = log.clone();
        async move { sell(&log, 2).await } // and while the reader reads
    });
    let takings = follow(&log, &checkpoint, 5).await?;
    println!("{} sales so far, up to position {}", takings.sales, takings.position);
    selling.await??;
    log.close().await?;
    Ok(())
}

/// What the reader computes, and how far it got: one value, stored whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Takings {
    /// The log that it was computed from.
    pub log: LogId,
    /// The last event that is in it.
    pub position: Position,
    /// How many sales there were.
    pub sales: u64,
    /// What they came to.
    pub cents: u64,
}

/// Follows the sales from the checkpoint on, until it has seen `count` of them.
pub async fn follow(
    log: &impl EventLog,
    checkpoint: &Path,
    count: u64,
) -> Result<Takings, Box<dyn Error>> {
    let mut takings = Takings::load(checkpoint, log)?;
    let until = takings.sales + count;
    let filter = Filter {
        categories: Some(vec![TILL]),
        types: Some(vec![EventType(0x7201)]),
        until: None, // for ever
    };
    let mut events = log.read_all(takings.position, filter);
    while takings.sales < until
        && let Some(event) = events.try_next().await?
    {
        if let TillEvent::Sold(Sold { cents }) = codec::decode(&event)? {
            takings.sales += 1;
            takings.cents += cents;
        }
        takings.position = event.position;
        takings.store(checkpoint)?;
    }
    Ok(takings)
}

impl Takings {
    /// What was stored, or nothing yet. What comes from another log doesn't count, nor does what
    /// is ahead of this one: then an older backup of it was restored.
    fn load(path: &Path, log: &impl EventLog) -> Result<Takings, Box<dyn Error>> {
        let nothing = Takings { log: log.id(), position: Position::START, sales: 0, cents: 0 };
        if !path.exists() {
            return Ok(nothing);
        }
        let text = std::fs::read_to_string(path)?;
        let [id, position, sales, cents] = text.split(' ').collect::<Vec<_>>()[..] else {
            return Err("the checkpoint is malformed; delete it to begin again".into());
        };
        let (position, sales, cents) =
            (Position(position.parse()?), sales.parse()?, cents.parse()?);
        let stored = Takings { log: LogId(id.parse()?), position, sales, cents };
        let is_of_this = stored.log == log.id() && stored.position <= *log.head().borrow();
        Ok(if is_of_this { stored } else { nothing })
    }

    /// Replaces what was stored in one step, so that a crash leaves the one or the other.
    fn store(&self, path: &Path) -> std::io::Result<()> {
        let Takings { log, position, sales, cents } = self;
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        write!(file, "{log} {position} {sales} {cents}")?;
        file.sync_all()?;
        std::fs::rename(new, path)
    }
}

/// Sells something `count` times. The till opens its drawer each time, which is no sale.
pub async fn sell(log: &impl EventLog, count: u64) -> Result<(), SellError> {
    for cents in 1..=count {
        let events: [TillEvent; 2] = [DrawerOpened {}.into(), Sold { cents }.into()];
        let commit = Commit::new(till().root);
        let commit = commit.append(till(), Expectation::Any, codec::encode_all(&events)?);
        log.append(commit).await?;
    }
    Ok(())
}

/// Why nothing was sold.
#[derive(Debug, thiserror::Error)]
pub enum SellError {
    /// The log refused it.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The sale can't be encoded.
    #[error(transparent)]
    Encode(#[from] codec::CodecError),
}

const TILL: Category = Category(0x7200);

fn till() -> StreamId {
    let id = Uuid::from_u128(1);
    StreamId { category: TILL, root: RootId(id), id }
}

scripta_events::events! {
    /// What happens at a till.
    #[derive(Clone, Debug, PartialEq)]
    enum TillEvent {
        0x7201 => Sold,
        0x7202 => DrawerOpened,
    }
}

/// Something was sold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Sold {
    cents: u64,
}

/// The drawer was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct DrawerOpened {}

impl Payload for Sold {
    const VERSION: u8 = 1;
}
impl Payload for DrawerOpened {
    const VERSION: u8 = 1;
}
