//! What a run's events add up to, and what comes next.

use std::collections::BTreeMap;
use std::sync::Arc;

use scripta_events::domain::{
    BranchId, ChatId, ConnectionId, MessageId, ProjectId, RunEvent, RunId, Sender, ToolCall,
    ToolsetTool,
};

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// Its id.
    pub id: RunId,
    /// Its chat.
    pub chat: ChatId,
    /// The branch whose turn it is.
    pub branch: BranchId,
    /// The chat's project.
    pub project: ProjectId,
    /// The message that it answers.
    pub message: MessageId,
    /// The connection it uses.
    pub connection: ConnectionId,
    /// The model it uses; `None` for the connection's own.
    pub model: Option<String>,
    /// Whoever submitted the message.
    pub submitter: Sender,
    /// Whether somebody watches it.
    pub interactive: bool,
    /// How it stands.
    pub status: RunStatus,
    /// Its tools, once they are known; fixed from then on.
    pub tools: Option<Arc<Vec<ToolsetTool>>>,
    /// The last model step that began, from 1; 0 before the first.
    pub step: u32,
    /// Whether that step's answer is there.
    pub answered: bool,
    /// The tool calls of that answer, in order.
    pub calls: Vec<CallState>,
    /// How many tool calls of the run went out.
    pub calls_made: u32,
    /// How many of them were of which tool, by its server and name.
    pub calls_by_tool: BTreeMap<(String, String), u32>,
    /// How often it was picked up after a restart since it last came further.
    pub pick_ups: u32,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Its message waits for its turn: there is no run yet.
    Queued,
    /// It is under way.
    Running,
    /// It was stopped.
    Stopped,
    /// It failed.
    Failed {
        /// Why, for a person.
        reason: String,
    },
    /// The model asked for nothing more.
    Completed,
}

/// A tool call of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallState {
    /// What the model asked for.
    pub call: ToolCall,
    /// Whether it went out.
    pub started: bool,
    /// Whether its result is there.
    pub finished: bool,
}

/// What a run does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing: it is over.
    Rest,
    /// Open its tools.
    Prepare,
    /// Ask the model.
    AskModel {
        /// Which step.
        step: u32,
    },
    /// Make the next tool call.
    Call {
        /// The step whose answer asked for it.
        step: u32,
        /// Which of that answer's calls.
        index: u32,
        /// What the model asked for.
        call: ToolCall,
        /// Whether it went out before, from a process that ended before its result was there.
        again: bool,
    },
}

impl RunState {
    /// Whether it has ended.
    pub fn is_over(&self) -> bool {
        !matches!(self.status, RunStatus::Queued | RunStatus::Running)
    }

    /// Its tools; none before they are known.
    pub(crate) fn toolset(&self) -> &[ToolsetTool] {
        self.tools.as_deref().map_or(&[], Vec::as_slice)
    }

    /// Whether it waits for the model's answer to this step.
    pub(crate) fn awaits_answer(&self, step: u32) -> bool {
        !self.is_over() && self.step == step && step > 0 && !self.answered
    }

    /// The call of this place, if it has no result yet.
    pub(crate) fn open_call(&self, step: u32, index: u32) -> Option<&CallState> {
        let call = self.call_at(index)?;
        (self.step == step && !call.finished).then_some(call)
    }

    fn call_at(&self, index: u32) -> Option<&CallState> {
        self.calls.get(usize::try_from(index).ok()?)
    }

    /// How many calls of a tool went out.
    pub(crate) fn calls_of(&self, call: &ToolCall) -> u32 {
        let tool = (call.server.clone(), call.tool.clone());
        self.calls_by_tool.get(&tool).copied().unwrap_or(0)
    }

    /// The calls without a result, each with its place.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = (u32, &CallState)> {
        (0u32..).zip(&self.calls).filter(|(_, call)| !call.finished)
    }

    /// What it does next.
    pub(crate) fn next(&self) -> Next {
        if self.is_over() {
            return Next::Rest;
        }
        if self.tools.is_none() {
            return Next::Prepare;
        }
        match self.open_calls().next() {
            Some((index, open)) => {
                Next::Call { step: self.step, index, call: open.call.clone(), again: open.started }
            }
            None => Next::AskModel { step: self.step },
        }
    }
}

pub(super) fn evolve(state: Option<RunState>, event: &RunEvent) -> Option<RunState> {
    let mut state = match (state, event) {
        (None, RunEvent::RunStarted(started)) => {
            return Some(RunState {
                id: started.run,
                chat: started.chat,
                branch: started.branch,
                project: started.project,
                message: started.message,
                connection: started.connection.clone(),
                model: started.model.clone(),
                submitter: started.submitter.clone(),
                interactive: started.interactive,
                status: RunStatus::Running,
                tools: None,
                step: 0,
                answered: false,
                calls: vec![],
                calls_made: 0,
                calls_by_tool: BTreeMap::new(),
                pick_ups: 0,
            });
        }
        (state, _) => state?,
    };
    match event {
        RunEvent::RunStarted(_) => {}
        RunEvent::ToolsetRecorded(set) => state.tools = Some(Arc::new(set.tools.clone())),
        RunEvent::ModelStepStarted(started) => {
            state.pick_ups = 0;
            state.step = started.step;
            state.answered = false;
            state.calls.clear();
        }
        RunEvent::ModelAnswered(answered) => {
            state.pick_ups = 0;
            state.answered = true;
            let calls = answered.calls.iter().cloned();
            let open = |call| CallState { call, started: false, finished: false };
            state.calls = calls.map(open).collect();
        }
        RunEvent::ToolCallStarted(started) => {
            state.calls_made = state.calls_made.saturating_add(1);
            if let Some(CallState { call, .. }) = state.call_at(started.index) {
                let tool = (call.server.clone(), call.tool.clone());
                let made = state.calls_by_tool.entry(tool).or_default();
                *made = made.saturating_add(1);
            }
            state.mark(started.index, |call| call.started = true);
        }
        RunEvent::ToolCallFinished(finished) => {
            state.pick_ups = 0;
            state.mark(finished.index, |call| call.finished = true);
        }
        RunEvent::RunCompleted(_) => state.status = RunStatus::Completed,
        RunEvent::RunStopped(_) => state.status = RunStatus::Stopped,
        RunEvent::RunFailed(failed) => {
            state.status = RunStatus::Failed { reason: failed.reason.clone() };
        }
        RunEvent::RunPickedUp(_) => state.pick_ups = state.pick_ups.saturating_add(1),
        RunEvent::RunResumed(resumed) => {
            state.pick_ups = 0;
            state.status = RunStatus::Running;
            state.connection = resumed.connection.clone();
            state.model = resumed.model.clone();
        }
    }
    Some(state)
}

impl RunState {
    fn mark(&mut self, index: u32, change: impl FnOnce(&mut CallState)) {
        let place = usize::try_from(index).ok();
        if let Some(call) = place.and_then(|place| self.calls.get_mut(place)) {
            change(call);
        }
    }
}
