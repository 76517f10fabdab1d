//! What happens in a run: one turn of one branch.

use serde::{Deserialize, Serialize};

use super::{BranchId, ChatId, ConnectionId, MessageId, ProjectId, RunId, Sender, ToolCall, Usage};
use crate::codec::Payload;

/// A run started: the first event of its stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Its id.
    pub run: RunId,
    /// The chat.
    pub chat: ChatId,
    /// The branch whose turn this is.
    pub branch: BranchId,
    /// The chat's project.
    pub project: ProjectId,
    /// The user message that it answers.
    pub message: MessageId,
    /// The connection it uses.
    pub connection: ConnectionId,
    /// The model it uses; `None` for the connection's own.
    pub model: Option<String>,
    /// Whoever submitted the message; the run has their rights.
    pub submitter: Sender,
    /// Whether somebody watches it.
    pub interactive: bool,
}

/// The tools that the run has, fixed from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolsetRecorded {
    /// The tools, in the order the model sees them.
    pub tools: Vec<ToolsetTool>,
}

/// One tool of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsetTool {
    /// The server that has it.
    pub server: String,
    /// Its name there.
    pub tool: String,
    /// What the model is told about it.
    pub description: String,
    /// Its argument schema, as JSON text.
    pub schema: String,
    /// BLAKE3 of the schema text.
    pub schema_hash: [u8; 32],
    /// Whether it says of itself that it only reads.
    pub read_only: bool,
}

/// The model was asked for its next answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelStepStarted {
    /// Which step, from 1.
    pub step: u32,
}

/// The model answered. The answer's text is the message of this id in the run's branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswered {
    /// Which step, from 1.
    pub step: u32,
    /// The message in the branch.
    pub message: MessageId,
    /// The tools it asks for, in order.
    pub calls: Vec<ToolCall>,
    /// What it used.
    pub usage: Option<Usage>,
}

/// A tool call went out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallStarted {
    /// The step whose answer asked for it.
    pub step: u32,
    /// Which of that answer's calls, from 0.
    pub index: u32,
}

/// A tool call has its result, which is the message of this id in the run's branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallFinished {
    /// The step whose answer asked for it.
    pub step: u32,
    /// Which of that answer's calls, from 0.
    pub index: u32,
    /// The message in the branch.
    pub message: MessageId,
    /// Whether it failed.
    pub is_error: bool,
}

/// The model asked for nothing more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCompleted {}

/// The run was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunStopped {}

/// The run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFailed {
    /// Why, for a person.
    pub reason: String,
}

/// The run, which was stopped or had failed, goes on where it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResumed {
    /// The connection it uses from here on.
    pub connection: ConnectionId,
    /// The model it uses from here on; `None` for the connection's own.
    pub model: Option<String>,
}

/// A process that was started after the one that carried the run out ended goes on with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPickedUp {}

impl Payload for RunStarted {
    const VERSION: u8 = 1;
}
impl Payload for ToolsetRecorded {
    const VERSION: u8 = 1;
}
impl Payload for ModelStepStarted {
    const VERSION: u8 = 1;
}
impl Payload for ModelAnswered {
    const VERSION: u8 = 1;
}
impl Payload for ToolCallStarted {
    const VERSION: u8 = 1;
}
impl Payload for ToolCallFinished {
    const VERSION: u8 = 1;
}
impl Payload for RunCompleted {
    const VERSION: u8 = 1;
}
impl Payload for RunStopped {
    const VERSION: u8 = 1;
}
impl Payload for RunFailed {
    const VERSION: u8 = 1;
}
impl Payload for RunResumed {
    const VERSION: u8 = 1;
}
impl Payload for RunPickedUp {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens in a run.
    #[derive(Clone, Debug, PartialEq)]
    pub enum RunEvent {
        /// It started.
        0x0501 => RunStarted,
        /// Its tools were fixed.
        0x0502 => ToolsetRecorded,
        /// The model was asked.
        0x0503 => ModelStepStarted,
        /// The model answered.
        0x0504 => ModelAnswered,
        /// A tool call went out.
        0x0505 => ToolCallStarted,
        /// A tool call has its result.
        0x0506 => ToolCallFinished,
        /// It completed.
        0x0507 => RunCompleted,
        /// It was stopped.
        0x0508 => RunStopped,
        /// It failed.
        0x0509 => RunFailed,
        /// It goes on.
        0x050A => RunResumed,
        /// It was picked up after a restart.
        0x050B => RunPickedUp,
    }
}
