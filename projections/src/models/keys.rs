//! Keys of rows: a letter for the kind of row, then ids and numbers that sort as they should.

use scripta_events::Timestamp;
use uuid::Uuid;

use crate::QueryError;
use crate::store::Store;

/// The length of an id in a key, in bytes.
pub(super) const ID: usize = 16;

/// Room for the longest key but a name's, in bytes: a kind, two ids, a mark and a number.
const CAPACITY: usize = 1 + 2 * ID + 1 + 8;

/// A key that is being put together.
pub(super) struct Key(Vec<u8>);

impl Key {
    /// A key of rows of one kind.
    pub(super) fn of(kind: u8) -> Key {
        let mut bytes = Vec::with_capacity(CAPACITY);
        bytes.push(kind);
        Key(bytes)
    }

    pub(super) fn id(mut self, id: Uuid) -> Key {
        self.0.extend_from_slice(id.as_bytes());
        self
    }

    /// A number; smaller ones first.
    pub(super) fn rising(mut self, number: u64) -> Key {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// A number; greater ones first.
    pub(super) fn falling(self, number: u64) -> Key {
        self.rising(!number)
    }

    /// A mark; what has it comes first.
    pub(super) fn pinned(mut self, pinned: bool) -> Key {
        self.0.push(u8::from(!pinned));
        self
    }

    /// A time; newer ones first.
    pub(super) fn newest(self, time: Timestamp) -> Key {
        self.falling(time_bits(time))
    }

    /// A text without regard to case, and an end that sorts before any longer text.
    pub(super) fn text(mut self, text: &str) -> Key {
        self.0.extend_from_slice(text.to_lowercase().replace('\0', " ").as_bytes());
        self.0.push(0);
        self
    }

    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// The bits of a time as a number that sorts as the time does.
fn time_bits(time: Timestamp) -> u64 {
    time.0.cast_unsigned() ^ (1 << 63)
}

/// The time in the bytes of [`Key::newest`].
pub(super) fn time_from_newest(bytes: [u8; 8]) -> Timestamp {
    let bits = !u64::from_be_bytes(bytes) ^ (1 << 63);
    Timestamp(bits.cast_signed())
}

/// The id at the end of a key.
pub(super) fn last_id(key: &[u8]) -> Option<Uuid> {
    let bytes = key.last_chunk::<ID>()?;
    Some(Uuid::from_bytes(*bytes))
}

/// The id right after the kind, and the one at the end.
pub(super) fn first_and_last_id(key: &[u8]) -> Option<(Uuid, Uuid)> {
    key.get(..=ID).and_then(last_id).zip(last_id(key))
}

/// The ids at the ends of the keys that begin with `prefix`, in order; `whose` key it is goes into
/// the error about one that is too short.
pub(super) fn last_ids<'a>(
    store: &'a Store,
    prefix: &[u8],
    whose: &'a str,
) -> impl Iterator<Item = Result<Uuid, QueryError>> + use<'a> {
    let short = move || store.malformed(format!("{whose} key is too short"));
    store.keys(prefix).map(move |key| last_id(&key?).ok_or_else(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_times_have_smaller_keys_and_come_back() {
        let times = [i64::MIN, -5, 0, 7, i64::MAX].map(Timestamp);
        let keys = times.map(|time| Key::of(b'a').newest(time).done());
        assert!(keys.is_sorted_by(|left, right| left > right));
        for (time, key) in times.iter().zip(&keys) {
            let bytes = key.last_chunk::<8>().copied();
            assert_eq!(bytes.map(time_from_newest), Some(*time));
        }
    }
}
