//! What happens to a project.

use serde::{Deserialize, Serialize};

use super::{
    ConnectionId, DirectoryGrantAdded, DirectoryGrantRemoved, ProjectId, ResourceId, SecurityFact,
    SecuritySet, ToolPolicySet,
};
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

/// The project was changed. What is `None` stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectUpdated {
    /// The new name.
    pub name: Option<String>,
    /// The new directories, absolute.
    pub directories: Option<Vec<String>>,
    /// The new default connection of its chats; `Some(None)` takes it away.
    pub default_connection: Option<Option<ConnectionId>>,
}

/// The project refers to a file or a directory from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceCreated {
    /// The reference.
    pub resource: ResourceId,
    /// The path, absolute, without links and detours.
    pub path: String,
    /// What was there when it was made.
    pub kind: ResourceKind,
}

/// What a resource refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResourceKind {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// A reference was retired: it stays readable where it was attached, and is attached no more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceRetired {
    /// Which.
    pub resource: ResourceId,
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
impl Payload for ProjectUpdated {
    const VERSION: u8 = 1;
}
impl Payload for ResourceCreated {
    const VERSION: u8 = 1;
}
impl Payload for ResourceRetired {
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
        /// Its name, directories or default connection changed.
        0x0203 => ProjectUpdated,
        /// It got a resource.
        0x0204 => ResourceCreated,
        /// A resource was retired.
        0x0205 => ResourceRetired,
        /// It was deleted.
        0x020f => ProjectDeleted,
        /// Its security document was replaced.
        0x0211 => SecuritySet,
        /// The policy of a tool was set in it.
        0x0212 => ToolPolicySet,
        /// A directory was granted in it.
        0x0213 => DirectoryGrantAdded,
        /// A grant was taken back from it.
        0x0214 => DirectoryGrantRemoved,
    }
}

impl ProjectEvent {
    /// What it says of the security document, if it is about that.
    pub fn security(&self) -> Option<SecurityFact<'_>> {
        match self {
            ProjectEvent::SecuritySet(set) => Some(SecurityFact::Set(set)),
            ProjectEvent::ToolPolicySet(set) => Some(SecurityFact::Policy(set)),
            ProjectEvent::DirectoryGrantAdded(added) => Some(SecurityFact::GrantAdded(added)),
            ProjectEvent::DirectoryGrantRemoved(removed) => {
                Some(SecurityFact::GrantRemoved(removed))
            }
            _ => None,
        }
    }
}
