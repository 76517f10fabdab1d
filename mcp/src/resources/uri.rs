//! The addresses of what a client can show in its own menus.

use std::fmt;

use scripta_events::codec;
use scripta_events::domain::{
    BRANCH, BranchEvent, BranchId, CHAT, ChatId, MEMORY, MemoryId, PROJECT, ProjectId,
};
use scripta_events::log::Recorded;
use scripta_events::{Category, codec::DecodeError};
use serde_json::json;
use uuid::Uuid;

/// What every address begins with.
const SCHEME: &str = "scripta://";

/// A document, or the messages of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    Project(ProjectId),
    Chat(ChatId),
    /// A branch's history, across forks.
    Messages(BranchId),
    Memory(MemoryId),
}

impl Address {
    /// `None` for what is no address of ours.
    pub(crate) fn parse(text: &str) -> Option<Address> {
        let (kind, rest) = text.strip_prefix(SCHEME)?.split_once('/')?;
        let id = |text: &str| Uuid::try_parse(text).ok();
        match kind {
            "project" => id(rest).map(|id| Address::Project(ProjectId(id))),
            "chat" => id(rest).map(|id| Address::Chat(ChatId(id))),
            "memory" => id(rest).map(|id| Address::Memory(MemoryId(id))),
            "branch" => {
                id(rest.strip_suffix("/messages")?).map(|id| Address::Messages(BranchId(id)))
            }
            _ => None,
        }
    }

    /// What `app_read` is asked for it.
    pub(crate) fn arguments(self) -> serde_json::Value {
        match self {
            Address::Project(id) => json!({ "resource": "Project", "projectId": id }),
            Address::Chat(id) => json!({ "resource": "Chat", "chatId": id }),
            Address::Messages(id) => json!({ "resource": "Messages", "branchId": id }),
            Address::Memory(id) => json!({ "resource": "Memory", "memoryId": id }),
        }
    }

    /// The categories of streams whose events can change what is there.
    pub(crate) fn categories(self) -> &'static [Category] {
        match self {
            Address::Project(_) => &[PROJECT],
            Address::Chat(_) => &[CHAT, BRANCH],
            Address::Messages(_) => &[BRANCH],
            Address::Memory(_) => &[MEMORY],
        }
    }

    /// Whether an event of those categories changes what is read here.
    pub(crate) fn is_changed_by(self, event: &Recorded) -> Result<bool, DecodeError> {
        let stream = event.stream;
        Ok(match self {
            Address::Project(id) => stream.category == PROJECT && stream.id == id.0,
            // The chat shows what its branches are doing.
            Address::Chat(id) => {
                [CHAT, BRANCH].contains(&stream.category) && stream.root == id.root()
            }
            // What is shared with other branches stays as it is.
            Address::Messages(id) => {
                stream.category == BRANCH
                    && stream.id == id.0
                    && matches!(codec::decode(event)?, BranchEvent::MessageAppended(_))
            }
            Address::Memory(id) => stream.category == MEMORY && stream.id == id.0,
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Project(id) => write!(f, "{SCHEME}project/{id}"),
            Address::Chat(id) => write!(f, "{SCHEME}chat/{id}"),
            Address::Messages(id) => write!(f, "{SCHEME}branch/{id}/messages"),
            Address::Memory(id) => write!(f, "{SCHEME}memory/{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let id = Uuid::from_u128(7);
        let all = [
            Address::Project(ProjectId(id)),
            Address::Chat(ChatId(id)),
            Address::Messages(BranchId(id)),
            Address::Memory(MemoryId(id)),
        ];
        for address in all {
            assert_eq!(Address::parse(&address.to_string()), Some(address));
        }
        for odd in [
            "",
            "scripta://",
            "scripta://chat/",
            "scripta://chat/7",
            "scripta://branch/00000000-0000-0000-0000-000000000007",
            "scripta://branch/00000000-0000-0000-0000-000000000007/messages/",
            "scripta://room/00000000-0000-0000-0000-000000000007",
            "http://chat/00000000-0000-0000-0000-000000000007",
        ] {
            assert_eq!(Address::parse(odd), None, "{odd}");
        }
    }
}
