//! Models: what a run asks, behind a trait.

use std::time::Duration;

use futures::stream::BoxStream;
use scripta_events::domain::{ConnectionId, Message, ToolsetTool, Usage, WorkspaceDocuments};
use thiserror::Error;

/// The models that runs can use.
pub trait Models: Send + Sync + 'static {
    /// Takes the workspace's connections as they are now: told once after a start, and after each
    /// change before it is answered. It must not block.
    fn configure(&self, _workspace: &WorkspaceDocuments) {}

    /// Which connection and model a turn uses: `wanted`, or the default where it is `None`.
    ///
    /// # Errors
    ///
    /// [`ModelError`], when there is no such connection or no default.
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError>;

    /// Streams an answer. The stream ends after [`ModelEvent::Done`] or an error; one that ends
    /// without either broke off. Dropping it cancels the request.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// What a model is asked.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The connection to use.
    pub connection: ConnectionId,
    /// The model; `None` for the connection's own.
    pub model: Option<String>,
    /// Instructions that come before the messages.
    pub system: String,
    /// The branch's history, from its root to its head.
    pub messages: Vec<Message>,
    /// What the model may ask for; its names are made by [`tool_name`](crate::tool_name).
    pub tools: Vec<ToolsetTool>,
}

/// One part of an answer, as it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelEvent {
    /// More text.
    Text(String),
    /// More of what the model thinks aloud.
    Reasoning(String),
    /// The model asks for a tool; whole.
    ToolCall {
        /// The provider's id for the call.
        id: String,
        /// The tool, as [`tool_name`](crate::tool_name) made it.
        name: String,
        /// JSON text, as the model wrote it.
        arguments: String,
    },
    /// The answer is whole.
    Done {
        /// What it used, if the provider says.
        usage: Option<Usage>,
    },
}

/// Why a model didn't answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ModelError {
    /// What went wrong, for a person. It never holds a secret.
    pub message: String,
    /// Whether asking again may help.
    pub kind: ModelErrorKind,
}

/// Whether asking a model again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// Timeouts, 429, 5xx.
    Retryable {
        /// How long the provider asks to wait.
        after: Option<Duration>,
    },
    /// Everything else.
    Final,
}

impl ModelError {
    /// An error that may pass.
    pub fn retryable(message: impl Into<String>) -> ModelError {
        let kind = ModelErrorKind::Retryable { after: None };
        ModelError { message: message.into(), kind }
    }

    /// An error that asking again doesn't help against.
    pub fn permanent(message: impl Into<String>) -> ModelError {
        ModelError { message: message.into(), kind: ModelErrorKind::Final }
    }
}
