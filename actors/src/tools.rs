//! Tools: what a run's model can call, behind traits.

use std::sync::Arc;

use futures::future::BoxFuture;
use scripta_events::OperationId;
use scripta_events::domain::{BranchId, ChatId, ProjectId, RunId, Sender, ToolsetTool};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

/// The server of Scripta's own tools, in every run. What they change takes effect once for an
/// operation id.
pub const APP_SERVER: &str = "app";

/// Where runs get their tools from.
pub trait Toolbox: Send + Sync + 'static {
    /// Opens a session for a run. It is dropped when the run is over.
    fn open(
        &self,
        run: RunContext,
    ) -> BoxFuture<'static, Result<Arc<dyn ToolSession>, ToolboxError>>;

    /// The memory that a turn in this project begins with: the workspace's and the project's, the
    /// pinned first, in an order that stays. None unless overridden.
    fn memory(
        &self,
        _project: ProjectId,
    ) -> BoxFuture<'static, Result<Vec<MemoryNote>, ToolboxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// An entry of long-term memory, as a model is told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNote {
    /// Its title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The tools of one run.
pub trait ToolSession: Send + Sync + 'static {
    /// The tools, in the order that the model sees them.
    fn tools(&self) -> Vec<ToolsetTool>;

    /// Makes one call. It ends soon after `cancel`; whoever dropped the future doesn't wait.
    fn call(
        &self,
        request: ToolRequest,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ToolOutcome>;
}

/// The run that a session is for: its rights are its submitter's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunContext {
    /// Its chat's project.
    pub project: ProjectId,
    /// Its chat.
    pub chat: ChatId,
    /// Its branch.
    pub branch: BranchId,
    /// The run.
    pub run: RunId,
    /// Whoever submitted its message.
    pub submitter: Sender,
    /// Whether somebody watches it.
    pub interactive: bool,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// The server that has the tool.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
    /// JSON text, as the model wrote it: it may not be valid JSON.
    pub arguments: String,
    /// How many calls of the tool the run asked for before, be it that they were refused.
    pub before: u32,
    /// Made from the place of the request in its run: the same for the same request.
    pub operation: OperationId,
}

/// What a call came to. Failures are outcomes too: the model reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// Whether the tool failed.
    pub is_error: bool,
    /// The result, for the model.
    pub text: String,
    /// The structured result, as JSON text.
    pub structured: Option<String>,
}

/// Why a session or the memory could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("what the run needs could not be opened: {message}")]
pub struct ToolboxError {
    /// What went wrong, for a person.
    pub message: String,
}

/// The name that a model knows a tool by: `mcp_<server>__<tool>`.
pub fn tool_name(server: &str, tool: &str) -> String {
    format!("mcp_{server}__{tool}")
}

impl ToolOutcome {
    /// A failure that the model reads.
    pub fn error(text: impl Into<String>) -> ToolOutcome {
        ToolOutcome { is_error: true, text: text.into(), structured: None }
    }
}
