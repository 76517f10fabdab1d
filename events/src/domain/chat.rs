//! What happens to a chat.

use serde::{Deserialize, Serialize};

use super::{
    BranchId, ChatId, ConnectionId, DirectoryGrantAdded, DirectoryGrantRemoved, MessageId,
    ProjectId, SecurityFact, SecuritySet, ToolPolicySet,
};
use crate::codec::Payload;

/// A chat was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatCreated {
    /// Its id, which is its first branch's id too.
    pub chat: ChatId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its title.
    pub title: String,
    /// The connection its turns use; `None` for the default of the moment.
    pub connection: Option<ConnectionId>,
    /// The model its turns use; `None` for the connection's own.
    pub model: Option<String>,
    /// Where it was imported from.
    pub source: Option<ImportSource>,
}

/// Where an imported conversation came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportSource {
    /// The product's format, such as `chatgpt`.
    pub format: String,
    /// The conversation's id there.
    pub id: String,
}

/// A chat got another title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatRenamed {
    /// The new title.
    pub title: String,
}

/// A branch was forked off another branch of the chat. It shares that branch's history up to and
/// including a message; nothing is copied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchForked {
    /// The new branch.
    pub branch: BranchId,
    /// The branch that wrote the message it starts after.
    pub parent: BranchId,
    /// The last message they share; `None` shares nothing (an imported second root).
    pub after: Option<MessageId>,
    /// Its title.
    pub title: Option<String>,
}

/// A chat was pinned, so that it stands before the others, or no longer is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatPinned {
    /// Whether it is pinned from here on.
    pub pinned: bool,
}

/// A chat's turns use another connection or model from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatEndpointSet {
    /// The connection.
    pub connection: ConnectionId,
    /// The model; `None` for the connection's own.
    pub model: Option<String>,
}

/// A branch of the chat got another title.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchRenamed {
    /// Which.
    pub branch: BranchId,
    /// The new title.
    pub title: String,
}

/// A branch of the chat was deleted. What it shared with branches that are there stays theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchDeleted {
    /// Which.
    pub branch: BranchId,
}

/// The chat was deleted, with all its branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatDeleted {}

impl Payload for ChatCreated {
    const VERSION: u8 = 1;
}
impl Payload for ChatRenamed {
    const VERSION: u8 = 1;
}
impl Payload for BranchForked {
    const VERSION: u8 = 1;
}
impl Payload for ChatPinned {
    const VERSION: u8 = 1;
}
impl Payload for ChatEndpointSet {
    const VERSION: u8 = 1;
}
impl Payload for BranchRenamed {
    const VERSION: u8 = 1;
}
impl Payload for BranchDeleted {
    const VERSION: u8 = 1;
}
impl Payload for ChatDeleted {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens to a chat.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ChatEvent {
        /// It was made.
        0x0301 => ChatCreated,
        /// It got another title.
        0x0302 => ChatRenamed,
        /// One of its branches was forked.
        0x0303 => BranchForked,
        /// It was pinned, or no longer is.
        0x0304 => ChatPinned,
        /// Its turns use another connection or model.
        0x0305 => ChatEndpointSet,
        /// One of its branches got another title.
        0x0306 => BranchRenamed,
        /// One of its branches was deleted.
        0x0307 => BranchDeleted,
        /// It was deleted.
        0x0308 => ChatDeleted,
        /// Its security document was replaced.
        0x0311 => SecuritySet,
        /// The policy of a tool was set in it.
        0x0312 => ToolPolicySet,
        /// A directory was granted in it.
        0x0313 => DirectoryGrantAdded,
        /// A grant was taken back from it.
        0x0314 => DirectoryGrantRemoved,
    }
}

impl ChatEvent {
    /// What it says of the security document, if it is about that.
    pub fn security(&self) -> Option<SecurityFact<'_>> {
        match self {
            ChatEvent::SecuritySet(set) => Some(SecurityFact::Set(set)),
            ChatEvent::ToolPolicySet(set) => Some(SecurityFact::Policy(set)),
            ChatEvent::DirectoryGrantAdded(added) => Some(SecurityFact::GrantAdded(added)),
            ChatEvent::DirectoryGrantRemoved(removed) => Some(SecurityFact::GrantRemoved(removed)),
            _ => None,
        }
    }
}
