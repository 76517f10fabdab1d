//! Metadata of a commit: who, and in which connection of causes.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::RunId;
use crate::codec;

/// The version byte that metadata begins with.
const META_VERSION: u8 = 1;

/// Who caused a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Actor {
    /// The person at this machine.
    User,
    /// Whoever holds an API key.
    Key {
        /// The key's public id.
        id: String,
    },
    /// A run.
    Run {
        /// The run.
        run: RunId,
    },
    /// Scripta itself: an effect's answer, a wake after a restart.
    System,
}

/// Metadata of all events of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Who caused it.
    pub actor: Actor,
    /// What belongs together: the operation that began it all.
    pub correlation: Option<Uuid>,
    /// The operation that caused this one.
    pub causation: Option<Uuid>,
}

impl Meta {
    /// The bytes to put into a commit.
    ///
    /// # Errors
    ///
    /// [`codec::CodecError`] never in practice: the types can always be encoded.
    pub fn to_bytes(&self) -> Result<bytes::Bytes, codec::CodecError> {
        let body = codec::to_bytes(self).map_err(|error| codec::CodecError::Encode {
            event_type: crate::EventType(0),
            reason: error.to_string(),
        })?;
        let mut bytes = Vec::with_capacity(body.len() + 1);
        bytes.push(META_VERSION);
        bytes.extend_from_slice(&body);
        Ok(bytes.into())
    }

    /// The metadata in a recorded event.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Meta, String> {
        match bytes.split_first() {
            Some((&META_VERSION, body)) => codec::from_bytes(body),
            Some((version, _)) => Err(format!("commit metadata has the unknown version {version}")),
            None => Err("commit metadata is empty".to_owned()),
        }
    }
}
