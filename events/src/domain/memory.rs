//! What happens to an entry of long-term memory.

use serde::{Deserialize, Serialize};

use super::{MemoryId, ProjectId};
use crate::codec::Payload;

/// An entry was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryCreated {
    /// Its id.
    pub memory: MemoryId,
    /// The project it belongs to; `None` for the whole workspace.
    pub project: Option<ProjectId>,
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its tags, in their order.
    pub tags: Vec<String>,
    /// Whether it goes before those that are not.
    pub pinned: bool,
}

/// An entry was changed. What is `None` stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryUpdated {
    /// The new title.
    pub title: Option<String>,
    /// The new text.
    pub text: Option<String>,
    /// The new tags.
    pub tags: Option<Vec<String>>,
    /// Whether it is pinned now.
    pub pinned: Option<bool>,
}

/// An entry was deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryDeleted {}

impl Payload for MemoryCreated {
    const VERSION: u8 = 1;
}
impl Payload for MemoryUpdated {
    const VERSION: u8 = 1;
}
impl Payload for MemoryDeleted {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens to an entry of long-term memory.
    #[derive(Clone, Debug, PartialEq)]
    pub enum MemoryEvent {
        /// It was made.
        0x0601 => MemoryCreated,
        /// It was changed.
        0x0602 => MemoryUpdated,
        /// It was deleted.
        0x0603 => MemoryDeleted,
    }
}
