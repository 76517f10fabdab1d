//! The rows that were read last, decoded.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many rows are kept at least, once there were as many; twice as many at most.
const MIN_ROWS: usize = 2_048;

/// The largest row that is kept, in encoded bytes (inclusive): with the number of rows, it bounds the
/// memory.
const MAX_BYTES: usize = 4 * 1024;

/// Rows as the tree has them. Each is forgotten by the commit that changes it.
#[derive(Default)]
pub(super) struct Recent(Mutex<Rows>);

type Row = Arc<dyn Any + Send + Sync>;

#[derive(Default)]
struct Rows {
    /// How many commits there were: a row that was read before one is not kept after it.
    commits: u64,
    /// The older half moves out when the younger one is full.
    young: HashMap<Vec<u8>, Row>,
    old: HashMap<Vec<u8>, Row>,
}

/// When a row was read from the tree.
pub(super) struct Moment(u64);

impl Recent {
    /// The row, if it is kept, or else when it is looked for.
    pub(super) fn find<T: Clone + 'static>(&self, key: &[u8]) -> Result<T, Moment> {
        let rows = self.rows();
        let row = rows.young.get(key).or_else(|| rows.old.get(key));
        let row = row.and_then(|row| row.downcast_ref::<T>());
        row.cloned().ok_or(Moment(rows.commits))
    }

    /// Keeps a row that was read after this moment, unless there was a commit meanwhile.
    pub(super) fn keep<T: Clone + Send + Sync + 'static>(
        &self,
        Moment(commits): Moment,
        key: &[u8],
        row: &T,
        bytes: usize,
    ) {
        if bytes > MAX_BYTES {
            return;
        }
        let row = Arc::new(row.clone());
        let mut rows = self.rows();
        if rows.commits != commits {
            return;
        }
        if rows.young.len() >= MIN_ROWS {
            rows.old = std::mem::take(&mut rows.young);
        }
        rows.young.insert(key.to_vec(), row);
    }

    /// Forgets what a commit changed, which is in the tree by now.
    pub(super) fn forget<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let mut rows = self.rows();
        rows.commits = rows.commits.wrapping_add(1);
        if rows.young.is_empty() && rows.old.is_empty() {
            return;
        }
        for key in keys {
            rows.young.remove(key);
            rows.old.remove(key);
        }
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(recent: &Recent, key: &[u8]) -> Option<u64> {
        recent.find(key).ok()
    }

    fn moment(recent: &Recent) -> Moment {
        recent.find::<u64>(b"none").err().unwrap_or(Moment(0))
    }

    #[test]
    fn a_row_is_kept_until_a_commit_changes_it() {
        let recent = Recent::default();
        recent.keep(moment(&recent), b"one", &1_u64, 8);
        recent.keep(moment(&recent), b"two", &2_u64, 8);
        recent.keep(moment(&recent), b"large", &3_u64, MAX_BYTES + 1);
        recent.forget([b"one".as_slice()].into_iter());
        assert_eq!((kept(&recent, b"one"), kept(&recent, b"two")), (None, Some(2)));
        assert_eq!((kept(&recent, b"large"), recent.find::<String>(b"two").ok()), (None, None));
        // Read before a commit, and back only after it.
        let before = moment(&recent);
        recent.forget([b"one".as_slice()].into_iter());
        recent.keep(before, b"one", &1_u64, 8);
        assert_eq!(kept(&recent, b"one"), None);
    }

    #[test]
    fn the_rows_are_bounded_and_the_last_are_there() {
        let recent = Recent::default();
        for row in 0..10 * MIN_ROWS as u64 {
            recent.keep(moment(&recent), &row.to_le_bytes(), &row, 8);
        }
        let rows = recent.rows();
        assert!(rows.young.len() + rows.old.len() <= 2 * MIN_ROWS);
        drop(rows);
        let last = 10 * MIN_ROWS as u64 - 1;
        assert_eq!(kept(&recent, &last.to_le_bytes()), Some(last));
    }
}
