//! What happens to a project.

use serde::{Deserialize, Serialize};

use super::ProjectId;
use crate::codec::Payload;

/// A project was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectCreated {
    /// Its id.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// Its directories, absolute.
    pub directories: Vec<String>,
}

/// The project's instructions were replaced as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructionsReplaced {
    /// The new text; empty where there are none any more.
    pub text: String,
}

/// The project was deleted. Its chats are as good as deleted from here on; the events that say so
/// of each follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectDeleted {}

impl Payload for ProjectDeleted {
    const VERSION: u8 = 1;
}
impl Payload for ProjectCreated {
    const VERSION: u8 = 1;
}
impl Payload for InstructionsReplaced {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens to a project.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ProjectEvent {
        /// It was made.
        0x0201 => ProjectCreated,
        /// Its instructions were replaced.
        0x0202 => InstructionsReplaced,
        /// It was deleted.
        0x020f => ProjectDeleted,
    }
}
