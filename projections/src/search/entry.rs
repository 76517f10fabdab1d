//! A message as the index keeps it.

use scripta_events::domain::{BranchId, Message, MessageId, Part, Role};
use scripta_events::{Position, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::SearchKey;

/// The version of the stored form; the index's own version goes with it.
const VERSION: u8 = 1;

/// The largest stored form, in bytes (inclusive): the largest event, and room for its ids.
const MAX_BYTES: usize = 17 * 1024 * 1024;

/// What is searched in a message, and what a result tells of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) key: SearchKey,
    pub(super) branch: BranchId,
    pub(super) message: MessageId,
    pub(super) role: Role,
    pub(super) time: Timestamp,
    /// Each is searched by itself.
    pub(super) texts: Vec<String>,
}

impl Entry {
    /// The entry of a message; `None` if it has no text to search.
    pub(super) fn new(key: SearchKey, branch: BranchId, message: Message) -> Option<Entry> {
        let Message { id, role, parts, created_at, .. } = message;
        let texts: Vec<String> =
            parts.into_iter().filter_map(|part| searched(role, part)).collect();
        (!texts.is_empty()).then_some(Entry {
            key,
            branch,
            message: id,
            role,
            time: created_at,
            texts,
        })
    }

    /// How much memory it takes, about, in bytes.
    pub(super) fn weight(&self) -> usize {
        self.texts.iter().map(String::len).sum::<usize>() + size_of::<Entry>()
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let body = bincode::serde::encode_to_vec(self, bincode::config::standard());
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&body.map_err(|error| error.to_string())?);
        Ok(bytes)
    }

    /// Bounded, and every byte must be consumed.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Entry, String> {
        let Some((&VERSION, body)) = bytes.split_first() else {
            return Err("an entry has an unknown version".to_owned());
        };
        let config = bincode::config::standard().with_limit::<MAX_BYTES>();
        let (entry, used) =
            bincode::serde::decode_from_slice(body, config).map_err(|error| error.to_string())?;
        if used != body.len() {
            return Err(format!("an entry has {} bytes left over", body.len() - used));
        }
        Ok(entry)
    }
}

/// The text of a part that is searched: text parts, and what a tool answered.
fn searched(role: Role, part: Part) -> Option<String> {
    match part {
        Part::Text { text } => Some(text),
        Part::ToolResult(result) if role == Role::Tool => Some(result.text),
        _ => None,
    }
}

/// The bytes of a key, which sort as keys do.
pub(super) fn key_bytes(key: &SearchKey) -> [u8; 40] {
    let mut bytes = [0; 40];
    let ids = key.project.0.as_bytes().iter().chain(key.chat.0.as_bytes());
    let all = ids.copied().chain(key.position.0.to_be_bytes());
    bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
    bytes
}

impl SearchKey {
    /// Before every message of these; a missing id stands for all.
    pub(super) fn first_of(project: Uuid, chat: Option<Uuid>) -> SearchKey {
        SearchKey {
            project: scripta_events::domain::ProjectId(project),
            chat: scripta_events::domain::ChatId(chat.unwrap_or(Uuid::nil())),
            position: Position(0),
        }
    }

    /// After every message of these.
    pub(super) fn last_of(project: Uuid, chat: Option<Uuid>) -> SearchKey {
        SearchKey {
            project: scripta_events::domain::ProjectId(project),
            chat: scripta_events::domain::ChatId(chat.unwrap_or(Uuid::max())),
            position: Position(u64::MAX),
        }
    }
}
