//! Listings that were fixed when their first page was read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::CursorError;

/// How long a list is kept after it was last read: as long as somebody may be expected to turn
/// the page.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// The most lists kept at once; the one that was read longest ago goes first.
const MAX_LISTS: usize = 256;

/// The most ids kept at once over all lists (64 MB of them). A single longer list is kept alone.
const MAX_IDS: usize = 4_000_000;

/// The ids of listings that have more pages, in their order.
#[derive(Default)]
pub(crate) struct KeptLists {
    lists: Mutex<HashMap<Uuid, Kept>>,
}

struct Kept {
    ids: Arc<[Uuid]>,
    read_at: Instant,
}

impl KeptLists {
    /// Keeps a listing, or finds that the same one is kept already (one client that reads a first
    /// page again and again takes no room from others), and gives the name that it can be found by.
    pub(crate) fn keep(&self, ids: Arc<[Uuid]>, now: Instant) -> Uuid {
        let name = Uuid::now_v7();
        let mut lists = self.lists();
        lists.retain(|_, kept| !kept.is_idle(now));
        if let Some((name, kept)) = lists.iter_mut().find(|(_, kept)| kept.ids == ids) {
            kept.read_at = now;
            return *name;
        }
        let mut total = ids.len() + lists.values().map(|kept| kept.ids.len()).sum::<usize>();
        while lists.len() >= MAX_LISTS || (total > MAX_IDS && !lists.is_empty()) {
            let oldest = lists.iter().min_by_key(|(_, kept)| kept.read_at).map(|(name, _)| *name);
            let gone = oldest.and_then(|name| lists.remove(&name));
            total -= gone.map_or(0, |kept| kept.ids.len());
        }
        lists.insert(name, Kept { ids, read_at: now });
        name
    }

    /// A kept listing, which is then kept for another while.
    pub(crate) fn find(&self, name: Uuid, now: Instant) -> Result<Arc<[Uuid]>, CursorError> {
        let mut lists = self.lists();
        lists.retain(|_, kept| !kept.is_idle(now));
        let kept = lists.get_mut(&name).ok_or(CursorError::Expired)?;
        kept.read_at = now;
        Ok(Arc::clone(&kept.ids))
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<Uuid, Kept>> {
        // The map is never left half changed.
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn is_idle(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.read_at) > IDLE
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn ids(count: usize) -> Arc<[Uuid]> {
        (0..count).map(|_| Uuid::now_v7()).collect()
    }

    #[test]
    fn a_list_lasts_ten_minutes_after_it_was_last_read() {
        let kept = KeptLists::default();
        let start = Instant::now();
        let list = ids(3);
        let name = kept.keep(Arc::clone(&list), start);
        let nine = Duration::from_secs(9 * 60);
        assert_eq!(kept.find(name, start + nine).unwrap(), list);
        assert_eq!(kept.find(name, start + 2 * nine).unwrap(), list);
        let late = start + 2 * nine + IDLE + Duration::from_secs(1);
        assert_eq!(kept.find(name, late), Err(CursorError::Expired));
    }

    #[test]
    fn the_same_list_is_kept_once() {
        let kept = KeptLists::default();
        let (start, list) = (Instant::now(), ids(3));
        let other = kept.keep(ids(3), start);
        let name = kept.keep(Arc::clone(&list), start);
        for _ in 0..2 * MAX_LISTS {
            assert_eq!(kept.keep(list.iter().copied().collect(), start), name);
        }
        assert!(kept.find(other, start).is_ok());
    }

    #[test]
    fn the_list_that_was_read_longest_ago_makes_room() {
        let kept = KeptLists::default();
        let start = Instant::now();
        let first = kept.keep(ids(1), start);
        let second = kept.keep(ids(1), start + Duration::from_millis(1));
        kept.find(first, start + Duration::from_millis(2)).unwrap();
        for at in 0..MAX_LISTS as u64 - 1 {
            kept.keep(ids(1), start + Duration::from_millis(3 + at));
        }
        let now = start + Duration::from_secs(1);
        assert!(kept.find(first, now).is_ok());
        assert_eq!(kept.find(second, now), Err(CursorError::Expired));
    }
}
