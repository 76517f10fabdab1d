//! A listing across the ids that keys begin with.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// The keys of one kind in memory, in the order of what follows their first id: a listing across
/// those ids, which the tree could only give by reading all its keys.
pub(super) struct Across {
    pub(super) kind: u8,
    /// Made when it is first asked for, and kept up to date from then on.
    keys: Mutex<Option<AcrossKeys>>,
}

/// What follows the first id of each key, and that id.
pub(crate) type AcrossKeys = BTreeMap<Box<[u8]>, Uuid>;

impl Across {
    pub(super) fn of(kind: u8) -> Across {
        Across { kind, keys: Mutex::new(None) }
    }

    /// What follows the first id, and that id, of a key of this kind.
    pub(super) fn split<'a>(&self, key: &'a [u8]) -> Option<(&'a [u8], Uuid)> {
        let (id, rest) = key.strip_prefix(&[self.kind])?.split_first_chunk::<16>()?;
        Some((rest, Uuid::from_bytes(*id)))
    }

    pub(super) fn keys(&self) -> MutexGuard<'_, Option<AcrossKeys>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a commit; each key with whether it is there now.
    pub(super) fn apply<'a>(&self, changed: impl Iterator<Item = (&'a [u8], bool)>) {
        let mut keys = self.keys();
        let Some(keys) = keys.as_mut() else { return };
        for (key, is_there) in changed {
            match self.split(key) {
                Some((rest, id)) if is_there => drop(keys.insert(rest.into(), id)),
                Some((rest, _)) => drop(keys.remove(rest)),
                None => {}
            }
        }
    }
}
