//! The read models as they were at a position of the log.

use std::path::Path;

use futures::StreamExt as _;
use scripta_events::codec::DecodeError;
use scripta_events::domain::{BRANCH, CHAT, ChatId, REVIEW, RUN};
use scripta_events::log::{Filter, ReadError, Recorded};
use scripta_events::{Position, Timestamp};
use thiserror::Error;
use uuid::Uuid;

use crate::follower::Halt;
use crate::opening::{Opening, Source};
use crate::{OpenError, Projections};

/// The subfolder of the projections with the rows of moments. What is left there by a process
/// that was killed is swept away.
const FOLDER: &str = "moments";

/// How many events are applied at once: a bound on the memory that they take.
const BATCH_EVENTS: usize = 4_096;

/// How many bytes of payload are applied at once.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How much of its rows a moment keeps in memory, in bytes: it is read a few times, then dropped.
const CACHE_BYTES: u64 = 8 * 1024 * 1024;

/// Why a moment of the past can't be shown.
#[derive(Debug, Error)]
pub enum MomentError {
    /// The log hasn't come so far.
    #[error(
        "the log is at position {head}, before {position}; name an earlier one, or wait for it with waitFor"
    )]
    Ahead {
        /// The position asked for.
        position: Position,
        /// The last position of the log.
        head: Position,
    },
    /// The log can't be read.
    #[error("the log can't be read")]
    Read(#[from] ReadError),
    /// There is no room for the rows.
    #[error("the rows of that moment can't be made")]
    Open(#[from] OpenError),
    /// An event is not known here.
    #[error("the log holds an event that can't be decoded")]
    Decode(#[from] DecodeError),
    /// The events contradict each other.
    #[error("the log can't be replayed to that moment: {reason}")]
    Replay {
        /// What is wrong.
        reason: String,
    },
}

impl Projections {
    /// The read models as they were at a position, without the message index. With a chat, only
    /// that one of all chats is in them, which is made much faster.
    ///
    /// It replays the log up to there, and takes as long as reading that much of it: call it from
    /// a runtime, and keep what it returns while it is used.
    ///
    /// # Errors
    ///
    /// [`MomentError`].
    pub async fn as_of(
        &self,
        position: Position,
        chat: Option<ChatId>,
    ) -> Result<Projections, MomentError> {
        let head = *self.log().head().borrow();
        if position > head {
            return Err(MomentError::Ahead { position, head });
        }
        let path = self.dir().join(FOLDER).join(Uuid::now_v7().to_string());
        let config = sled::Config::new().path(&path).temporary(true).cache_capacity(CACHE_BYTES);
        let opened = config.open();
        let db = opened
            .map_err(|error| OpenError::Store { path: path.clone(), reason: error.to_string() })?;
        let source = Source::Replayed(Vec::new());
        let mut opening = Opening { log: self.log().clone(), db, path, head: position, source };
        let options = self.options().clone();
        let moment = Projections::assemble(&mut opening, self.dir(), options, None)?;
        replay(&mut opening, position, chat).await?;
        Ok(moment)
    }

    /// The position of the last event that was written at a time or before it; of none, if the
    /// log began later.
    ///
    /// # Errors
    ///
    /// [`MomentError::Read`].
    pub async fn position_at(&self, time: Timestamp) -> Result<Position, MomentError> {
        // Times never go back along the log.
        let (mut known, mut beyond) = (0, self.log().head().borrow().0 + 1);
        while known + 1 < beyond {
            let middle = known + (beyond - known) / 2;
            if self.log().read_at(Position(middle)).await?.time <= time {
                known = middle;
            } else {
                beyond = middle;
            }
        }
        Ok(Position(known))
    }
}

async fn replay(
    opening: &mut Opening,
    position: Position,
    chat: Option<ChatId>,
) -> Result<(), MomentError> {
    if position == Position::START {
        return Ok(());
    }
    let mut events = opening.log.read_all(Position::START, Filter::until(position));
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while let Some(event) = events.next().await {
        let event = event?;
        if is_elsewhere(&event, chat) {
            continue;
        }
        bytes += event.payload.len();
        batch.push(event);
        if batch.len() >= BATCH_EVENTS || bytes >= BATCH_BYTES {
            batch = apply(opening, batch).await?;
            bytes = 0;
        }
    }
    apply(opening, batch).await.map(drop)
}

/// Whether an event is of another chat than the one that is wanted.
fn is_elsewhere(event: &Recorded, chat: Option<ChatId>) -> bool {
    let of_a_chat = [CHAT, BRANCH, RUN, REVIEW].contains(&event.stream.category);
    of_a_chat && chat.is_some_and(|chat| event.stream.root != chat.root())
}

/// Applies a batch on a thread that may block, and gives its room back.
async fn apply(
    opening: &mut Opening,
    mut batch: Vec<Recorded>,
) -> Result<Vec<Recorded>, MomentError> {
    let Source::Replayed(replays) = &mut opening.source else { return Ok(batch) };
    let mut taken = std::mem::take(replays);
    let work = tokio::task::spawn_blocking(move || {
        let applied = taken.iter_mut().try_for_each(|model| model.replay(&batch));
        batch.clear();
        (applied, taken, batch)
    });
    let (applied, taken, batch) = work
        .await
        .map_err(|error| MomentError::Replay { reason: format!("it broke off: {error}") })?;
    *replays = taken;
    applied.map_err(|Halt { error, .. }| MomentError::Replay { reason: error.to_string() })?;
    Ok(batch)
}

/// Removes what moments left behind.
pub(crate) fn sweep(dir: &Path) -> Result<(), OpenError> {
    let path = dir.join(FOLDER);
    match std::fs::remove_dir_all(&path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(OpenError::Folder { path, source })
        }
        _ => Ok(()),
    }
}
