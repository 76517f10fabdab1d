//! What happens to a branch.

use serde::{Deserialize, Serialize};

use super::{BranchId, ChatId, Message, MessageId, ProjectId, RunId};
use crate::codec::Payload;

/// A branch was opened: the first event of its stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BranchOpened {
    /// Its id.
    pub branch: BranchId,
    /// The chat it belongs to.
    pub chat: ChatId,
    /// The chat's project.
    pub project: ProjectId,
    /// Where it was forked from; `None` for a chat's first branch.
    pub fork: Option<ForkPoint>,
    /// Its title.
    pub title: Option<String>,
}

/// Where a branch leaves another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The branch that wrote the last shared message.
    pub parent: BranchId,
    /// How many of the parent's own messages are shared: the history of the fork is the
    /// parent's history up to and including its own message of this number (from 1), then the
    /// fork's own. 0 shares what the parent itself shares with its parent, and nothing more.
    pub own_messages: u64,
    /// The last shared message; `None` where none is shared.
    pub after: Option<MessageId>,
}

/// A message was submitted and waits for its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageQueued {
    /// The message, as it will be appended.
    pub message: Message,
    /// The message that its author saw last: its turn starts after no other. `None` for any.
    pub only_if_head: Option<MessageId>,
    /// Whether somebody watches its turn.
    pub interactive: bool,
    /// Whether it goes before what is queued.
    pub first: bool,
}

/// A queued message got another text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedMessageChanged {
    /// The message.
    pub message: MessageId,
    /// The new text, in place of all its parts.
    pub text: String,
}

/// A queued message was taken out: it is never appended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedMessageRemoved {
    /// The message.
    pub message: MessageId,
}

/// All queued messages were taken out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueCleared {}

/// The turn of a queued message came, and the head was not the one it was meant for: it waits
/// for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RebaseNeeded {
    /// The message.
    pub message: MessageId,
    /// The head of then.
    pub head: Option<MessageId>,
}

/// A queued message that was meant for another head took the present one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRebased {
    /// The message.
    pub message: MessageId,
    /// The head that it took.
    pub head: Option<MessageId>,
}

/// A message came that starts no turn. It is appended by a [`MessageAppended`] of its own, where
/// it parts no tool call from its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AsideReceived {
    /// The message, as it will be appended.
    pub message: Message,
}

/// A turn that was stopped or had failed goes on, in the same run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResumed {
    /// The run that carries it out.
    pub run: RunId,
    /// The user message that it answers.
    pub message: MessageId,
}

/// The history was read up to and including a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessagesRead {
    /// The message, which another branch may have written.
    pub message: MessageId,
}

/// A message joined the branch's history. A queued message of the same id leaves the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageAppended {
    /// The message, whole.
    pub message: Message,
}

/// A turn started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The run that carries it out.
    pub run: RunId,
    /// The user message that it answers.
    pub message: MessageId,
}

/// A turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// The run that carried it out.
    pub run: RunId,
    /// How it ended.
    pub outcome: TurnOutcome,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnOutcome {
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

/// Why a branch with a queue does not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// Somebody stopped the last turn.
    Stopped,
    /// The last turn failed.
    Failed {
        /// Why, for a person.
        reason: String,
    },
    /// The next message was meant for another head.
    NeedsRebase,
}

impl TurnOutcome {
    /// Why what is queued behind a turn that ended like this does not go on; `None` where it does.
    pub fn pauses(&self) -> Option<PauseReason> {
        match self {
            TurnOutcome::Completed => None,
            TurnOutcome::Stopped => Some(PauseReason::Stopped),
            TurnOutcome::Failed { reason } => Some(PauseReason::Failed { reason: reason.clone() }),
        }
    }
}

impl Payload for BranchOpened {
    const VERSION: u8 = 1;
}
impl Payload for MessageQueued {
    const VERSION: u8 = 1;
}
impl Payload for MessageAppended {
    const VERSION: u8 = 1;
}
impl Payload for TurnStarted {
    const VERSION: u8 = 1;
}
impl Payload for TurnEnded {
    const VERSION: u8 = 1;
}
impl Payload for QueuedMessageChanged {
    const VERSION: u8 = 1;
}
impl Payload for QueuedMessageRemoved {
    const VERSION: u8 = 1;
}
impl Payload for QueueCleared {
    const VERSION: u8 = 1;
}
impl Payload for RebaseNeeded {
    const VERSION: u8 = 1;
}
impl Payload for MessageRebased {
    const VERSION: u8 = 1;
}
impl Payload for AsideReceived {
    const VERSION: u8 = 1;
}
impl Payload for TurnResumed {
    const VERSION: u8 = 1;
}
impl Payload for MessagesRead {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens to a branch.
    #[derive(Clone, Debug, PartialEq)]
    pub enum BranchEvent {
        /// It was opened.
        0x0401 => BranchOpened,
        /// A message waits.
        0x0402 => MessageQueued,
        /// A message joined its history.
        0x0403 => MessageAppended,
        /// A turn started.
        0x0404 => TurnStarted,
        /// A turn ended.
        0x0405 => TurnEnded,
        /// A queued message got another text.
        0x0406 => QueuedMessageChanged,
        /// A queued message was taken out.
        0x0407 => QueuedMessageRemoved,
        /// The queue was emptied.
        0x0408 => QueueCleared,
        /// A queued message was meant for another head.
        0x0409 => RebaseNeeded,
        /// It took the present one.
        0x040A => MessageRebased,
        /// A message came that starts no turn.
        0x040B => AsideReceived,
        /// A turn goes on.
        0x040C => TurnResumed,
        /// It was read.
        0x040D => MessagesRead,
    }
}
