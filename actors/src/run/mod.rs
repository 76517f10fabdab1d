//! Runs: one turn of one branch, from its message to the model's last answer.

mod abort;
mod answered;
mod call_finished;
mod call_started;
mod failed;
mod pick_up;
mod prepared;
mod resume;
mod state;

use std::fmt;
use std::sync::Arc;

use scripta_events::domain::{
    BranchEvent, ChatId, RUN, RunEvent, RunId, ToolCall, ToolsetTool, Usage,
};
use scripta_events::log::Expectation;
use scripta_events::{Category, StreamId, Timestamp};

pub(crate) use abort::abort;
pub(crate) use resume::resume;
pub(crate) use state::Next;
pub use state::{CallState, RunState, RunStatus};

use crate::engine::Engine;
use crate::{Aggregate, BranchKey, Decision, Ids, LoadError, Refusal, Run, ToolOutcome, Write};

/// Names a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// Its chat.
    pub chat: ChatId,
    /// The run.
    pub run: RunId,
}

/// What the world answers to a run. A run is started and stopped by its branch.
///
/// An answer that comes too late (the run is over, or the step is another) changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum RunCommand {
    /// Its tools are open: the first model step begins.
    Prepared {
        /// The tools, in the order that the model sees them.
        tools: Vec<ToolsetTool>,
    },
    /// The model answered.
    Answered {
        /// To which step.
        step: u32,
        /// What it said.
        text: String,
        /// What it thought aloud.
        reasoning: String,
        /// The tools it asks for, in order.
        calls: Vec<ToolCall>,
        /// What it used.
        usage: Option<Usage>,
    },
    /// A tool call goes out.
    CallStarted {
        /// The step whose answer asked for it.
        step: u32,
        /// Which of that answer's calls, from 0.
        index: u32,
    },
    /// A tool call has its result.
    CallFinished {
        /// The step whose answer asked for it.
        step: u32,
        /// Which of that answer's calls, from 0.
        index: u32,
        /// The result.
        outcome: ToolOutcome,
    },
    /// The process that carried it out has ended: it goes on where its stream says that it is.
    PickUp,
    /// It can't go on. Its open tool calls get results that say so.
    Failed {
        /// Why, for a person.
        reason: String,
        /// What there is of the answer.
        partial: Option<Partial>,
    },
}

/// An answer that is not whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partial {
    /// The step it answers.
    pub step: u32,
    /// The text so far.
    pub text: String,
    /// The thinking so far.
    pub reasoning: String,
}

/// What a run's decision needs.
#[derive(Debug)]
pub struct RunFacts {
    /// The time.
    pub now: Timestamp,
    /// Ids for the messages.
    pub ids: Ids,
}

impl Aggregate for Run {
    type Id = RunKey;
    type State = RunState;
    type Event = RunEvent;
    type Command = RunCommand;
    type Facts = RunFacts;

    const NAME: &'static str = "run";
    const CATEGORY: Category = RUN;

    fn stream(key: RunKey) -> StreamId {
        key.run.stream(key.chat)
    }

    fn id_of(stream: StreamId) -> Option<RunKey> {
        let key = RunKey { chat: ChatId(stream.root.0), run: RunId(stream.id) };
        (stream.category == RUN).then_some(key)
    }

    async fn gather(
        _engine: &Arc<Engine>,
        _key: RunKey,
        _state: Option<&RunState>,
        _command: &RunCommand,
    ) -> Result<RunFacts, LoadError> {
        Ok(RunFacts { now: Timestamp::now(), ids: Ids::random() })
    }

    fn decide(
        key: RunKey,
        state: Option<&RunState>,
        command: &RunCommand,
        facts: &mut RunFacts,
    ) -> Result<Decision<Run>, Refusal> {
        let state = state.ok_or(Refusal::NotFound { what: "run", id: key.run.0 })?;
        if state.is_over() {
            return Ok(Decision::nothing());
        }
        Ok(match command {
            RunCommand::Prepared { tools } => prepared::decide(state, tools),
            RunCommand::Answered { step, text, reasoning, calls, usage } => {
                let answer =
                    answered::Answer { step: *step, text, reasoning, calls, usage: *usage };
                answered::decide(state, answer, facts)
            }
            RunCommand::CallStarted { step, index } => call_started::decide(state, *step, *index),
            RunCommand::CallFinished { step, index, outcome } => {
                call_finished::decide(state, (*step, *index), outcome, facts)
            }
            RunCommand::PickUp => pick_up::decide(key, state, facts),
            RunCommand::Failed { reason, partial } => {
                failed::decide(state, reason, partial.as_ref(), facts)
            }
        })
    }

    fn evolve(state: Option<RunState>, event: &RunEvent, _at: Timestamp) -> Option<RunState> {
        state::evolve(state, event)
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.run.fmt(f)
    }
}

/// Events of a run with what they mean for its branch. The branch only has to exist: so a run
/// never conflicts with messages that are queued meanwhile.
fn with_branch(state: &RunState, events: Vec<RunEvent>, branch: Vec<BranchEvent>) -> Decision<Run> {
    let key = BranchKey { chat: state.chat, branch: state.branch };
    let write = Write::Branch { key, expected: Expectation::Exists, events: branch };
    Decision { others: vec![write], ..Decision::events(events) }
}
