//! The events of Scripta: what happens to projects, chats, branches, runs, memory and reviews.
//!
//! The structs here are the frozen payload schemas: their fields and variants are never
//! reordered, renamed fields or new ones are a new version (see [`Payload`](crate::codec::Payload)), and the
//! golden bytes of each are a test. They are not a JSON contract: what callers see is made by
//! the tool surface.
//!
//! | codes | events of |
//! |---|---|
//! | `0x01xx` | the workspace |
//! | `0x02xx` | projects |
//! | `0x03xx` | chats |
//! | `0x04xx` | branches |
//! | `0x05xx` | runs |
//! | `0x06xx` | memory entries |
//! | `0x07xx` | reviews |

mod branch;
mod chat;
mod documents;
#[cfg(test)]
mod golden;
mod ids;
mod memory;
mod message;
mod meta;
mod project;
#[cfg(test)]
mod properties;
mod review;
mod run;
mod security;
mod workspace;

pub use branch::{
    AsideReceived, BranchEvent, BranchOpened, ForkPoint, MessageAppended, MessageQueued,
    MessageRebased, MessagesRead, PauseReason, QueueCleared, QueuedMessageChanged,
    QueuedMessageRemoved, RebaseNeeded, TurnEnded, TurnOutcome, TurnResumed, TurnStarted,
};
pub use chat::{
    BranchDeleted, BranchForked, BranchRenamed, ChatCreated, ChatDeleted, ChatEndpointSet,
    ChatEvent, ChatPinned, ChatRenamed, ImportSource,
};
pub use documents::{ConnectionDocument, Document, WorkspaceDocuments};
pub use ids::{
    BRANCH, BranchId, CHAT, ChatId, ConnectionId, GrantId, MEMORY, MemoryId, MessageId, PROJECT,
    ProjectId, RESOURCE, REVIEW, RUN, ResourceId, ReviewId, RunId, ToolServerId, WORKSPACE,
    WorkspaceId,
};
pub use memory::{MemoryCreated, MemoryDeleted, MemoryEvent, MemoryUpdated};
pub use message::{
    Intent, Message, MessageStatus, Part, Reference, Role, Sender, ToolCall, ToolResult, Usage,
};
pub use meta::{Actor, Meta};
pub use project::{
    InstructionsReplaced, ProjectCreated, ProjectDeleted, ProjectEvent, ProjectUpdated,
    ResourceCreated, ResourceKind, ResourceRetired,
};
pub use review::{ReviewComment, ReviewCreated, ReviewEvent, ReviewUpdated};
pub use run::{
    ModelAnswered, ModelStepStarted, RunCompleted, RunEvent, RunFailed, RunPickedUp, RunResumed,
    RunStarted, RunStopped, ToolCallFinished, ToolCallStarted, ToolsetRecorded, ToolsetTool,
};
pub use security::{
    Capability, DirectoryGrant, DirectoryGrantAdded, DirectoryGrantRemoved, PolicyDecision,
    PolicyRule, RuleMatch, Security, SecurityDocument, SecurityFact, SecuritySet, ServerBinding,
    ToolPolicy, ToolPolicySet, Transport,
};
pub use workspace::{
    Connection, ConnectionDeleted, ConnectionSet, CredentialCleared, CredentialOwner,
    CredentialSet, GlobalSettings, GlobalSettingsSet, Provider, SecretValue, ToolServer,
    ToolServerDeleted, ToolServerSet, WorkspaceEvent,
};
