//! The ids of the domain, and the streams they name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Category, RootId, StreamId};

/// The category of the workspace's stream.
pub const WORKSPACE: Category = Category(1);
/// The category of project streams.
pub const PROJECT: Category = Category(2);
/// The category of chat streams.
pub const CHAT: Category = Category(3);
/// The category of branch streams.
pub const BRANCH: Category = Category(4);
/// The category of run streams.
pub const RUN: Category = Category(5);
/// The category of the streams of memory entries.
pub const MEMORY: Category = Category(6);
/// The category of the streams of reviews.
pub const REVIEW: Category = Category(7);
/// The category of streams that name resources. They have no events: those are their project's.
pub const RESOURCE: Category = Category(8);

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id: a UUIDv7, so that ids sort by the time they were made.
            pub fn random() -> $name {
                $name(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<$name, uuid::Error> {
                Uuid::parse_str(text).map($name)
            }
        }
    };
}

id!(
    /// A project.
    ProjectId
);
id!(
    /// A chat: the root of its branches and runs.
    ChatId
);
id!(
    /// A branch of a chat. A chat's first branch has the chat's own id.
    BranchId
);
id!(
    /// A message. A submitted message's id is its operation id.
    MessageId
);
id!(
    /// A run: one turn of one branch.
    RunId
);

id!(
    /// The workspace: there is one.
    WorkspaceId
);
id!(
    /// A tool server.
    ToolServerId
);
id!(
    /// A grant of a directory.
    GrantId
);
id!(
    /// An entry of long-term memory.
    MemoryId
);
id!(
    /// A review of a change set.
    ReviewId
);
id!(
    /// A reference of a project to a file or a directory.
    ResourceId
);

/// The name of a connection to a model, such as `builtin:demo`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConnectionId(pub String);

impl WorkspaceId {
    /// The one workspace of a log.
    pub const THE: WorkspaceId =
        WorkspaceId(Uuid::from_u128(0x0191_0000_0000_7000_8000_0000_0000_0001));

    /// The root of the workspace and of what belongs to it.
    pub fn root(self) -> RootId {
        RootId(self.0)
    }

    /// The workspace's stream.
    pub fn stream(self) -> StreamId {
        StreamId { category: WORKSPACE, root: self.root(), id: self.0 }
    }
}

impl ToolServerId {
    /// Scripta's own tools, bundled.
    pub const APP: ToolServerId =
        ToolServerId(Uuid::from_u128(0x0191_0000_0000_7000_8000_0000_0000_0002));
    /// The file tools, bundled.
    pub const FILES: ToolServerId =
        ToolServerId(Uuid::from_u128(0x0191_0000_0000_7000_8000_0000_0000_0003));

    /// Whether the server is a part of the program: it can't be removed.
    pub fn is_bundled(self) -> bool {
        self == ToolServerId::APP || self == ToolServerId::FILES
    }
}

impl ProjectId {
    /// The project's stream: a root of its own.
    pub fn stream(self) -> StreamId {
        StreamId { category: PROJECT, root: RootId(self.0), id: self.0 }
    }
}

impl ChatId {
    /// The root that the chat, its branches and its runs share.
    pub fn root(self) -> RootId {
        RootId(self.0)
    }

    /// The chat's own stream.
    pub fn stream(self) -> StreamId {
        StreamId { category: CHAT, root: self.root(), id: self.0 }
    }

    /// The id of the chat's first branch.
    pub fn first_branch(self) -> BranchId {
        BranchId(self.0)
    }
}

impl BranchId {
    /// The branch's stream in its chat.
    pub fn stream(self, chat: ChatId) -> StreamId {
        StreamId { category: BRANCH, root: chat.root(), id: self.0 }
    }
}

impl RunId {
    /// The run's stream in its chat.
    pub fn stream(self, chat: ChatId) -> StreamId {
        StreamId { category: RUN, root: chat.root(), id: self.0 }
    }
}

impl MemoryId {
    /// The entry's stream: its root is its project's, or the workspace's.
    pub fn stream(self, project: Option<ProjectId>) -> StreamId {
        let root = project.map_or(WorkspaceId::THE.root(), |project| RootId(project.0));
        StreamId { category: MEMORY, root, id: self.0 }
    }
}

impl ReviewId {
    /// The review's stream in its chat.
    pub fn stream(self, chat: ChatId) -> StreamId {
        StreamId { category: REVIEW, root: chat.root(), id: self.0 }
    }
}

impl ResourceId {
    /// The stream that names the resource in receipts of its project.
    pub fn stream(self, project: ProjectId) -> StreamId {
        StreamId { category: RESOURCE, root: RootId(project.0), id: self.0 }
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
