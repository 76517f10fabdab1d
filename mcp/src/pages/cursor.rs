//! Cursors: opaque, signed against tampering, and bound to their query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::model::JsonObject;
use scripta_projections::SearchKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use uuid::Uuid;

use crate::fingerprint::canonical;

/// Arguments that a caller may change from one page of a listing to the next.
const OF_THE_PAGE: [&str; 2] = ["limit", "cursor"];

/// Bytes of the signature at the front of a cursor.
const SIGNATURE_BYTES: usize = 32;

/// The longest cursor that is looked at, in characters: ours stay far below.
const MAX_CURSOR_CHARACTERS: usize = 4_096;

/// The key that signs cursors: made at each start, so a cursor lasts no longer than the server.
pub(crate) struct CursorKey([u8; 32]);

/// What a listing was asked for, as a digest: the caller and the arguments but those of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Query([u8; 16]);

/// Where the next page of a listing begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// In a kept list of ids.
    Kept {
        /// The list.
        list: Uuid,
        /// The index of the next id, from 0.
        next: usize,
    },
    /// In a chain of messages, which only grows at its end and is therefore fixed by its length.
    Chain {
        /// The first place of what is left, from 1.
        first: u64,
        /// The last place of what is left (inclusive).
        last: u64,
    },
    /// In the matches of a search.
    Search {
        /// Messages after this log position are not on the listing.
        until: u64,
        /// The last match before the next page.
        after: SearchKey,
    },
}

/// Why a cursor is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum CursorError {
    /// It was not signed by this server since its start.
    #[error(
        "`cursor` is not one that this server gave since it was started; begin again without it"
    )]
    Forged,
    /// It belongs to another query.
    #[error(
        "`cursor` belongs to another query; give it only with the arguments of the page that it \
         came with (`limit` may differ), or begin again without it"
    )]
    OtherQuery,
    /// Its list is no longer kept.
    #[error("`cursor` has expired after ten idle minutes; begin again without it")]
    Expired,
}

#[derive(Serialize, Deserialize)]
struct Sealed {
    query: Query,
    place: Place,
}

impl CursorKey {
    /// A key from the operating system's randomness.
    ///
    /// # Errors
    ///
    /// The operating system's reason, if it has no randomness to give.
    pub(crate) fn random() -> Result<CursorKey, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(CursorKey(key))
    }

    /// The cursor for a place in the listing of a query.
    pub(crate) fn seal(&self, query: Query, place: Place) -> String {
        let body = Value::to_string(&serde_json::json!(Sealed { query, place }));
        let mut bytes = self.signature(body.as_bytes()).as_bytes().to_vec();
        bytes.extend_from_slice(body.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place that a cursor of this very query names.
    pub(crate) fn open(&self, query: Query, cursor: &str) -> Result<Place, CursorError> {
        if cursor.len() > MAX_CURSOR_CHARACTERS {
            return Err(CursorError::Forged);
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorError::Forged)?;
        let (signature, body) =
            bytes.split_first_chunk::<SIGNATURE_BYTES>().ok_or(CursorError::Forged)?;
        // The comparison of hashes takes the same time wherever they differ.
        if self.signature(body) != blake3::Hash::from(*signature) {
            return Err(CursorError::Forged);
        }
        let sealed: Sealed = serde_json::from_slice(body).map_err(|_| CursorError::Forged)?;
        if sealed.query != query {
            return Err(CursorError::OtherQuery);
        }
        Ok(sealed.place)
    }

    fn signature(&self, body: &[u8]) -> blake3::Hash {
        blake3::keyed_hash(&self.0, body)
    }
}

impl Query {
    /// The query of a caller's arguments, after repair and with omitted ids filled in.
    pub(crate) fn of(caller: &str, arguments: &JsonObject) -> Query {
        let mut asked = arguments.clone();
        asked.retain(|name, _| !OF_THE_PAGE.contains(&name.as_str()));
        let form = [Value::from(caller), canonical(&Value::Object(asked))];
        let digest = blake3::hash(Value::from(form.to_vec()).to_string().as_bytes());
        let mut first = [0; 16];
        for (to, from) in first.iter_mut().zip(digest.as_bytes()) {
            *to = *from;
        }
        Query(first)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    fn query(caller: &str, arguments: Value) -> Query {
        Query::of(caller, arguments.as_object().unwrap())
    }

    #[test]
    fn a_cursor_comes_back_as_its_place() {
        let key = CursorKey::random().unwrap();
        let first = query("user", json!({ "resource": "Chats", "limit": 2 }));
        let place = Place::Kept { list: Uuid::now_v7(), next: 2 };
        let cursor = key.seal(first, place.clone());
        let next = query("user", json!({ "limit": 9, "cursor": cursor, "resource": "Chats" }));
        assert_eq!(key.open(next, &cursor), Ok(place));
    }

    #[test]
    fn a_cursor_of_another_query_is_refused() {
        let key = CursorKey::random().unwrap();
        let base = query("user", json!({ "resource": "Chats" }));
        let cursor = key.seal(base, Place::Chain { first: 1, last: 5 });
        let others = [
            query("user", json!({ "resource": "Projects" })),
            query("user", json!({ "resource": "Chats", "projectId": "p" })),
            query("key:k", json!({ "resource": "Chats" })),
        ];
        for other in others {
            assert_eq!(key.open(other, &cursor), Err(CursorError::OtherQuery));
        }
    }

    #[test]
    fn a_cursor_with_any_character_changed_is_refused() {
        let key = CursorKey::random().unwrap();
        let base = query("user", json!({ "resource": "Chats" }));
        let cursor = key.seal(base, Place::Chain { first: 1, last: 5 });
        for at in 0..cursor.len() {
            let mut bytes = cursor.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(key.open(base, &changed), Err(CursorError::Forged), "at {at}");
        }
        for wrong in ["", "abc", "not base64!", &"A".repeat(5_000)] {
            assert_eq!(key.open(base, wrong), Err(CursorError::Forged));
        }
        let other = CursorKey::random().unwrap();
        assert_eq!(other.open(base, &cursor), Err(CursorError::Forged));
    }
}
