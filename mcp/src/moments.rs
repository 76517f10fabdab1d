//! Read models of the past, kept for a while: a reader of pages asks for the same moment again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use scripta_events::Position;
use scripta_events::domain::ChatId;
use scripta_projections::{MomentError, Projections};
use tokio::sync::OnceCell;

/// How many are kept: each has rows on the disk and threads of its store.
const MAX_KEPT: usize = 4;

/// How long one is kept that nobody asks for: as long as a cursor.
const KEPT_FOR: Duration = Duration::from_secs(10 * 60);

/// Those that are kept.
#[derive(Default)]
pub(crate) struct Moments(Mutex<Vec<Kept>>);

struct Kept {
    key: Key,
    used: Instant,
    /// Made once, by the first who asks; the others wait for it.
    made: Arc<OnceCell<Arc<Projections>>>,
}

/// Which moment, and of which chat if not of all.
type Key = (Position, Option<ChatId>);

impl Moments {
    /// The read models as of a position; with a chat, only that one of all chats is in them.
    pub(crate) async fn at(
        &self,
        now: &Projections,
        position: Position,
        chat: Option<ChatId>,
    ) -> Result<Arc<Projections>, MomentError> {
        let made = self.kept((position, chat), Instant::now());
        let made = made.get_or_try_init(|| async {
            Ok::<_, MomentError>(Arc::new(now.as_of(position, chat).await?))
        });
        made.await.cloned()
    }

    /// The place of a moment, a new one if need be; the one that was used longest ago makes room.
    fn kept(&self, key: Key, now: Instant) -> Arc<OnceCell<Arc<Projections>>> {
        // A change is whole when the lock is let go of.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|kept| now.saturating_duration_since(kept.used) < KEPT_FOR);
        let mut kept = match all.iter().position(|kept| kept.key == key) {
            Some(place) => all.remove(place),
            None => Kept { key, used: now, made: Arc::default() },
        };
        kept.used = now;
        let made = kept.made.clone();
        all.push(kept);
        let over = all.len().saturating_sub(MAX_KEPT);
        all.drain(..over);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_kept_and_none_for_ever() {
        let (moments, now) = (Moments::default(), Instant::now());
        let keys = (1..=6).map(|position| (Position(position), None));
        keys.for_each(|key| drop(moments.kept(key, now)));
        let kept = |moments: &Moments| -> Vec<u64> {
            let all = moments.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter().map(|kept| kept.key.0.0).collect()
        };
        assert_eq!(kept(&moments), [3, 4, 5, 6]);
        drop(moments.kept((Position(4), None), now));
        assert_eq!(kept(&moments), [3, 5, 6, 4]);
        drop(moments.kept((Position(9), None), now + KEPT_FOR));
        assert_eq!(kept(&moments), [9]);
    }
}
