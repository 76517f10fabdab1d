//! Who decides: pure deciders for projects, chats, branches and runs, and the actors around them.
//!
//! An [`Aggregate`] is two pure functions: `decide` turns a state, a command and facts into
//! events or a refusal, and `evolve` folds events into the state. Each aggregate has a folder
//! here with its state, and each of its commands a file.
//!
//! A [`Handle`] is how the rest of the program reaches them. It hides the actors: they are
//! started on demand, let go when idle, and one command runs through the numbered steps of
//! one function, `execute`. Models and tools are traits ([`Models`], [`Toolbox`]);
//! [`demo`] is a model that needs neither network nor key.

mod actor;
mod aggregate;
mod arbiters;
mod attachments;
mod branch;
mod chat;
pub mod demo;
mod engine;
mod error;
mod execute;
mod handle;
mod memory;
mod model;
mod names;
mod project;
mod replica;
mod review;
mod run;
mod security;
mod sweep;
#[cfg(test)]
mod testing;
mod tools;
mod turn;
mod workspace;

pub use aggregate::{Aggregate, CommandMeta, Decision, Done, Effect, Ids, Write};
pub use arbiters::StartError;
pub use branch::{
    BranchCommand, BranchFacts, BranchKey, BranchState, BranchStatus, Endpoint, MAX_ATTACHED,
    MAX_IMPORT_MESSAGES, MAX_MESSAGE_BYTES, MAX_QUEUE_BYTES, MAX_QUEUED, MessageRef, NewMessage,
    PauseReason, Queued, SubmitMode, Turn,
};
pub use chat::{BranchInfo, ChatCommand, ChatFacts, ChatState, MAX_BRANCHES, OpenBranch};
pub use error::{ExecuteError, LoadError, Refusal};
pub use handle::{Handle, Options, TurnStatus, WaitError};
pub use memory::{
    MAX_MEMORY_TEXT_BYTES, MAX_TAG_CHARS, MAX_TAGS, MemoryChanges, MemoryCommand, MemoryFacts,
    MemoryKey, MemoryState,
};
pub use model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest, Models};
pub use names::{MAX_NAME_CHARS, MAX_TITLE_CHARS};
pub use project::{
    Instructions, MAX_DIRECTORIES, MAX_DIRECTORY_BYTES, MAX_INSTRUCTIONS_BYTES, MAX_RESOURCES,
    NoPlace, Place, ProjectChanges, ProjectCommand, ProjectFacts, ProjectState, ResourceState,
};
pub use review::{
    MAX_COMMENT_BYTES, MAX_FILE_PATH_BYTES, MAX_REVIEW_BYTES, MAX_REVIEW_COMMENTS,
    MAX_REVIEW_FILES, ReviewChanges, ReviewCommand, ReviewFacts, ReviewKey, ReviewState,
};
pub use run::{CallState, Partial, RunCommand, RunFacts, RunKey, RunState, RunStatus};
pub use security::{
    Effective, MAX_BINDINGS, MAX_GRANTS, MAX_POLICIES, MAX_RULES, NewBinding, NewGrant, NewPolicy,
    NewSecurity, Policies, PolicyScope, SecurityCommand,
};
pub use sweep::{ListError, ProjectLists};
pub use tools::{
    APP_SERVER, MemoryNote, RunContext, ToolOutcome, ToolRequest, ToolSession, Toolbox,
    ToolboxError, tool_name,
};

pub use workspace::{
    GivenSecret, MAX_CONNECTIONS, MAX_TOOL_SERVERS, NewToolServer, WorkspaceCommand,
    WorkspaceFacts, check_credential_owner,
};

/// The aggregate of the workspace: there is one instance.
pub struct Workspace;
/// The aggregate of projects.
pub struct Project;
/// The aggregate of chats.
pub struct Chat;
/// The aggregate of branches.
pub struct Branch;
/// The aggregate of runs.
pub struct Run;
/// The aggregate of memory entries.
pub struct Memory;
/// The aggregate of reviews.
pub struct Review;
