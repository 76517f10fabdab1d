//! The rows that read models answer with.

use scripta_events::domain::{
    BranchId, ChatId, ConnectionId, ForkPoint, ImportSource, MemoryId, Message, MessageId,
    PauseReason, ProjectId, ResourceId, ResourceKind, ReviewComment, ReviewId, RunId,
    SecurityDocument, Sender, TurnOutcome, Usage,
};
use scripta_events::{Position, Timestamp};
use serde::{Deserialize, Serialize};

/// A project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectRow {
    /// Its id.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Its directories, absolute.
    pub directories: Vec<String>,
    /// The connection of its chats that name none; `None` for the workspace's default.
    pub default_connection: Option<ConnectionId>,
    /// The document's revision, which callers name: 1 when made.
    pub revision: u64,
    /// Who may do what in it, with a revision of its own.
    pub security: SecurityDocument,
    /// When it was made.
    pub created_at: Timestamp,
    /// How many chats it has.
    pub chats: u64,
    /// The newest activity of its chats; when it was made, if it has none.
    pub last_activity: Timestamp,
    /// The position of the last event of its own stream.
    pub position: Position,
}

/// The instructions of a project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstructionsRow {
    /// The project.
    pub project: ProjectId,
    /// The text; empty where there are none any more.
    pub text: String,
    /// The document's revision, which callers name: 1 with the first text.
    pub revision: u64,
    /// When they were replaced last.
    pub updated_at: Timestamp,
    /// The position of their last event.
    pub position: Position,
}

/// An entry of long-term memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// Its id.
    pub id: MemoryId,
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
    /// The document's revision, which callers name: 1 when made.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// Whether it was deleted: then it is on no listing, and says nothing any more.
    pub deleted: bool,
    /// The position of its first event.
    pub created_position: Position,
    /// The position of its last event.
    pub position: Position,
}

/// A reference of a project to a file or a directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceRow {
    /// Its id.
    pub id: ResourceId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// The path, absolute, without links and detours.
    pub path: String,
    /// What was there when it was made.
    pub kind: ResourceKind,
    /// The document's revision, which callers name: 1 when made, 2 once it is retired.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was retired; `None` while it can be attached.
    pub retired_at: Option<Timestamp>,
    /// The position of its last event.
    pub position: Position,
}

/// A review of a change set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewRow {
    /// Its id.
    pub id: ReviewId,
    /// The chat it belongs to.
    pub chat: ChatId,
    /// The assistant message whose change set it is about.
    pub message: MessageId,
    /// Its name.
    pub name: String,
    /// The files that it selects.
    pub files: Vec<String>,
    /// What is said about them, in order.
    pub comments: Vec<ReviewComment>,
    /// The document's revision, which callers name: 1 when made.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// The position of its last event.
    pub position: Position,
}

/// A chat, without its messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatRow {
    /// Its id.
    pub id: ChatId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its title.
    pub title: String,
    /// The connection its turns use; `None` for the default of the moment.
    pub connection: Option<ConnectionId>,
    /// The model its turns use; `None` for the connection's own.
    pub model: Option<String>,
    /// Whether it stands before the others.
    pub pinned: bool,
    /// Where it was imported from.
    pub source: Option<ImportSource>,
    /// What it says of tools and servers beside its project.
    pub security: SecurityDocument,
    /// The document's revision, which callers name: 1 when made, one more with each change of its
    /// title, pin and endpoint.
    pub revision: u64,
    /// When it was made here.
    pub created_at: Timestamp,
    /// When its newest message was made or queued; when the chat was made, if it has none.
    pub last_activity: Timestamp,
    /// How many branches it has, the first one included.
    pub branches: u64,
    /// How many of its branches have a turn going.
    pub running: u64,
    /// How many messages its branches wrote; a shared one counts once.
    pub messages: u64,
    /// The position of the last event of the chat's or its branches' streams.
    pub position: Position,
    /// Whether it was deleted; such a row is not shown.
    pub(crate) deleted: bool,
}

/// A branch of a chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchRow {
    /// Its id; a chat's first branch has the chat's own.
    pub id: BranchId,
    /// The chat.
    pub chat: ChatId,
    /// The chat's project.
    pub project: ProjectId,
    /// Its title.
    pub title: Option<String>,
    /// Where it leaves another branch; `None` for the first branch.
    pub fork: Option<ForkPoint>,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When its own newest message was made or queued; when it was opened, if it has none.
    pub last_activity: Timestamp,
    /// How many messages of its chain other branches wrote.
    pub inherited: u64,
    /// How many messages it wrote itself; the chain has `inherited + own`.
    pub own: u64,
    /// The last message of its chain.
    pub head: Option<MessageId>,
    /// What waits for its turn, in order.
    pub queue: Vec<MessageId>,
    /// Asides that the running turn has not read yet.
    pub asides: Vec<MessageId>,
    /// The queued message whose turn came when the head was another than it was meant for.
    pub needs_rebase: Option<MessageId>,
    /// Whether somebody went on past the last turn, so that it no longer pauses the branch.
    pub skipped: bool,
    /// Up to which place of its chain it was read. What was imported, what it shares, and what the
    /// person sends right after a read message count as read.
    pub read: u64,
    /// The turn that is going, and the user message that it answers.
    pub turn: Option<(RunId, MessageId)>,
    /// The turn that ended last, and how.
    pub last: Option<(RunId, TurnOutcome)>,
    /// Once it was deleted: how many of its own messages, from the first, other branches keep.
    /// Such a row is not shown.
    pub(crate) deleted: Option<u64>,
}

/// What goes with a chat, a branch or a project that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// How many chats.
    pub chats: u64,
    /// How many branches.
    pub branches: u64,
    /// How many messages: those that other branches keep are not among them.
    pub messages: u64,
    /// How many messages that wait for their turn.
    pub queued: u64,
    /// How many turns that are running.
    pub running: u64,
}

/// Something that an id may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    /// A project.
    Project(ProjectId),
    /// A chat.
    Chat(ChatId),
    /// A branch.
    Branch(BranchId),
    /// A message.
    Message(MessageId),
    /// A run.
    Run(RunId),
}

/// What a branch is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStatus {
    /// Nothing: a message that is submitted starts a turn.
    Idle,
    /// A turn is going.
    Running {
        /// The run that carries it out.
        run: RunId,
    },
    /// Something is queued, and the turn before it did not complete.
    Paused {
        /// Why it does not go on.
        reason: PauseReason,
    },
}

/// A message of a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRow {
    /// The message, whole.
    pub message: Message,
    /// The project it belongs to.
    pub project: ProjectId,
    /// The chat it belongs to.
    pub chat: ChatId,
    /// The branch that wrote it.
    pub branch: BranchId,
    /// The message before it in its chain.
    pub parent: Option<MessageId>,
    /// Its place in its chain, from 1: the same in every branch that has it.
    pub place: u64,
    /// The position of its event.
    pub position: Position,
}

/// A run: one turn of one branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// The project.
    pub project: ProjectId,
    /// The chat.
    pub chat: ChatId,
    /// The branch whose turn this is.
    pub branch: BranchId,
    /// The user message that it answers.
    pub message: MessageId,
    /// The connection it uses.
    pub connection: ConnectionId,
    /// The model it uses; `None` for the connection's own.
    pub model: Option<String>,
    /// Whoever submitted the message.
    pub submitter: Sender,
    /// Whether somebody watches it.
    pub interactive: bool,
    /// Where it stands.
    pub status: RunStatus,
    /// How many tools it has.
    pub tools: u64,
    /// The model step it is in, from 1; 0 before the first.
    pub step: u32,
    /// How many tools the answer of this step asks for.
    pub calls: u32,
    /// How many of those calls have a result.
    pub calls_finished: u32,
    /// The tool call that is going.
    pub call: Option<CurrentCall>,
    /// The tools that the present step asked for, in order.
    pub step_calls: Vec<CurrentCall>,
    /// What its answers used, summed.
    pub usage: Usage,
    /// When it started.
    pub started_at: Timestamp,
    /// When its last event was written.
    pub updated_at: Timestamp,
    /// When it came to rest.
    pub ended_at: Option<Timestamp>,
    /// The position of its first event.
    pub started_position: Position,
    /// The position of its last event.
    pub position: Position,
    /// Whether its chat or branch was deleted; such a row is not shown.
    pub(crate) deleted: bool,
}

/// A tool call of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentCall {
    /// The call's id, as the model's provider gave it.
    pub id: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunStatus {
    /// It is going: a run exists from the start of its turn.
    Running,
    /// The model asked for nothing more.
    Completed,
    /// Somebody stopped it.
    Stopped,
    /// It failed.
    Failed {
        /// Why, for a person.
        reason: String,
    },
}

impl BranchRow {
    /// The number of messages in its chain, from the root to the head.
    pub fn chain_length(&self) -> u64 {
        self.inherited.saturating_add(self.own)
    }

    /// How many messages of its chain come after the last that was read.
    pub fn unread(&self) -> u64 {
        self.chain_length().saturating_sub(self.read)
    }

    /// What it is doing.
    pub fn status(&self) -> BranchStatus {
        if let Some((run, _)) = self.turn {
            return BranchStatus::Running { run };
        }
        let Some(next) = self.queue.first() else { return BranchStatus::Idle };
        if self.needs_rebase.as_ref() == Some(next) {
            return BranchStatus::Paused { reason: PauseReason::NeedsRebase };
        }
        let last = self.last.as_ref().filter(|_| !self.skipped);
        match last.and_then(|(_, outcome)| outcome.pauses()) {
            Some(reason) => BranchStatus::Paused { reason },
            None => BranchStatus::Idle,
        }
    }
}

impl BranchRow {
    /// Why it needs a person: it is paused, or its last turn failed and nothing followed it.
    /// `None` while it needs nobody.
    pub fn attention(&self) -> Option<PauseReason> {
        match (self.status(), &self.last) {
            (BranchStatus::Paused { reason }, _) => Some(reason),
            (BranchStatus::Idle, Some((_, TurnOutcome::Failed { reason }))) if !self.skipped => {
                Some(PauseReason::Failed { reason: reason.clone() })
            }
            _ => None,
        }
    }
}

impl RunStatus {
    /// Whether the run has come to rest: nothing is left to do for it.
    pub fn is_at_rest(&self) -> bool {
        *self != RunStatus::Running
    }
}
