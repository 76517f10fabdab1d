//! Why a command was not carried out.

use std::fmt;
use std::sync::Arc;

use scripta_events::OperationId;
use scripta_events::codec::{CodecError, DecodeError};
use scripta_events::log::{AppendError, ReadError};
use thiserror::Error;
use uuid::Uuid;

use crate::{Aggregate, ListError};

/// Why a decider refuses. Given from current state only, and never remembered: the same
/// operation may be tried again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no such thing.
    #[error("there is no {what} {id}; list what there is and use one of those ids")]
    NotFound {
        /// What it would be, such as `chat`.
        what: &'static str,
        /// The id asked for.
        id: Uuid,
    },
    /// It was there, and was deleted.
    #[error("the {what} {id} was deleted; list what there is and use one of those ids")]
    Gone {
        /// What it was, such as `chat`.
        what: &'static str,
        /// The id asked for.
        id: Uuid,
    },
    /// The id is taken by something else.
    #[error("there is already a {what} {id}; leave the id out and a new one is made")]
    AlreadyExists {
        /// What it is.
        what: &'static str,
        /// The id.
        id: Uuid,
    },
    /// An argument is not acceptable.
    #[error("{field} {problem}")]
    Invalid {
        /// The argument, as callers name it.
        field: &'static str,
        /// What is wrong and what would be right, without a capital or a full stop.
        problem: String,
    },
    /// A fork at this message would part a model's tool calls from their results.
    #[error(
        "message {message} stands between a model's tool calls and their results; fork from {}",
        Nearest(*nearest)
    )]
    SeparatesToolCalls {
        /// The message asked for.
        message: Uuid,
        /// The nearest message that would do; `None` where there is none.
        nearest: Option<Uuid>,
    },
    /// Something is full.
    #[error("{what} is full: {limit} {unit} are the most; {instead}")]
    Full {
        /// What is full.
        what: &'static str,
        /// The most it holds.
        limit: u64,
        /// Of what.
        unit: &'static str,
        /// What to do about it.
        instead: &'static str,
    },
    /// It can't be done in this state.
    #[error("{reason}")]
    Refused {
        /// Why, and what to do instead.
        reason: String,
    },
}

/// Why something could not be loaded from the log.
#[derive(Clone, Debug, Error)]
pub enum LoadError {
    /// The log could not be read.
    #[error("the log could not be read")]
    Read(#[from] ReadError),
    /// The log holds an event that is not known here.
    #[error("the log holds an event that can't be decoded")]
    Decode(#[from] DecodeError),
    /// The actors are shut down. A command whose answer was lost in it may have been carried out:
    /// a repeat under the same operation id tells.
    #[error("the server is shutting down; try again under the same operation id when it is back")]
    ShuttingDown,
    /// The actor ended each time before it answered: its code fails over this.
    #[error(
        "the actor of this {what} failed {attempts} times, which is a fault of this program; the server's log has more, and a repeat under the same operation id tells whether anything was written"
    )]
    Unanswered {
        /// What it is an actor of.
        what: &'static str,
        /// How often it was asked.
        attempts: u32,
    },
    /// The read models can't tell what the decision needs.
    #[error("what belongs to the project can't be listed: {0}")]
    Unlisted(#[from] ListError),
    /// More commands are under way than are allowed.
    #[error("{limit} commands are under way, which is the most at a time; try again in a moment")]
    Busy {
        /// The most at a time.
        limit: usize,
    },
}

/// Why a command was not carried out.
#[derive(Error)]
pub enum ExecuteError<A: Aggregate> {
    /// The decider refused it. Nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Somebody wrote first: the document is not at the revision that the command names.
    /// Nothing was written.
    #[error(
        "the {} {id} is at revision {revision}, not {expected}; look at it and repeat with {revision}",
        A::NAME
    )]
    Conflict {
        /// The instance.
        id: A::Id,
        /// The revision that the caller named.
        expected: u64,
        /// The document's revision now.
        revision: u64,
        /// The document now.
        state: Arc<A::State>,
    },
    /// The operation id was used before, for something else. Nothing was written.
    #[error("operation {operation} was already used with other arguments; use a new operation id")]
    OperationReused {
        /// The id.
        operation: OperationId,
    },
    /// Others kept moving the streams that the command needs. Nothing was written.
    #[error("others kept changing the same {} ({attempts} attempts); try again", A::NAME)]
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// The log didn't take the commit; its error says whether it may be there all the same.
    #[error("the change could not be written")]
    Log(#[source] AppendError),
    /// What the decision needs could not be loaded. Nothing was written, except where the
    /// server shuts down meanwhile ([`LoadError::ShuttingDown`]).
    #[error(transparent)]
    Load(#[from] LoadError),
    /// An event can't be encoded. Nothing was written.
    #[error("the change can't be encoded")]
    Encode(#[from] CodecError),
}

impl<A: Aggregate> ExecuteError<A> {
    /// Whether the change may be in the log all the same.
    pub fn may_be_written(&self) -> bool {
        matches!(
            self,
            ExecuteError::Log(AppendError::OutcomeUnknown { .. })
                | ExecuteError::Load(LoadError::ShuttingDown)
        )
    }
}

impl<A: Aggregate> From<ReadError> for ExecuteError<A> {
    fn from(error: ReadError) -> ExecuteError<A> {
        ExecuteError::Load(error.into())
    }
}

impl<A: Aggregate> fmt::Debug for ExecuteError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error: &dyn std::error::Error = self;
        write!(f, "{error}")?;
        while let Some(source) = error.source() {
            write!(f, ": {source}")?;
            error = source;
        }
        Ok(())
    }
}

struct Nearest(Option<Uuid>);

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(message) => write!(f, "{message}, which is the nearest that does not"),
            None => f.write_str("another branch, since no message here would do"),
        }
    }
}
