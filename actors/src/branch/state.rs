//! What a branch's events add up to.

use std::collections::{HashMap, VecDeque};

use scripta_events::domain::{
    BranchEvent, BranchId, ChatId, ForkPoint, Message, MessageId, Part, ProjectId, Role, RunId,
    TurnOutcome,
};

/// A branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchState {
    /// Its id.
    pub id: BranchId,
    /// Its chat.
    pub chat: ChatId,
    /// The chat's project.
    pub project: ProjectId,
    /// Where it was forked from; `None` for a chat's first branch.
    pub fork: Option<ForkPoint>,
    /// Its own messages, in order: what it shares with its parent is not among them.
    pub messages: Vec<MessageRef>,
    /// Messages that wait for their turn, in order.
    pub queue: VecDeque<Message>,
    /// The turn that is running.
    pub turn: Option<Turn>,
    /// How the last turn ended; `None` while one is running and before the first.
    pub last: Option<TurnOutcome>,
    /// The run of each message that started a turn.
    pub runs: HashMap<MessageId, RunId>,
}

/// What a branch remembers of one of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRef {
    /// Its id.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// How many of a model's tool calls have no result yet right after this message: a fork
    /// here is refused unless it is 0.
    pub open_calls: u32,
}

/// A turn that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The run that carries it out.
    pub run: RunId,
    /// The message that it answers.
    pub message: MessageId,
}

/// What a branch is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStatus {
    /// Nothing; the next message starts a turn at once.
    Idle,
    /// A turn.
    Running,
    /// It has queued messages, and a person decides whether they go on.
    Paused {
        /// Why.
        reason: PauseReason,
    },
}

/// Why a branch with queued messages starts none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// The turn before was stopped.
    Stopped,
    /// The turn before failed.
    Failed {
        /// Why it failed.
        reason: String,
    },
}

impl BranchState {
    /// What it is doing.
    pub fn status(&self) -> BranchStatus {
        if self.turn.is_some() {
            return BranchStatus::Running;
        }
        match &self.last {
            _ if self.queue.is_empty() => BranchStatus::Idle,
            None | Some(TurnOutcome::Completed) => BranchStatus::Idle,
            Some(TurnOutcome::Stopped) => BranchStatus::Paused { reason: PauseReason::Stopped },
            Some(TurnOutcome::Failed { reason }) => {
                BranchStatus::Paused { reason: PauseReason::Failed { reason: reason.clone() } }
            }
        }
    }

    /// The last message of its history, which is the parent's where it has none of its own.
    pub fn head(&self) -> Option<MessageId> {
        let own = self.messages.last().map(|message| message.id);
        own.or_else(|| self.fork.and_then(|fork| fork.after))
    }
}

pub(super) fn evolve(state: Option<BranchState>, event: &BranchEvent) -> Option<BranchState> {
    let mut state = match (state, event) {
        (None, BranchEvent::BranchOpened(opened)) => {
            return Some(BranchState {
                id: opened.branch,
                chat: opened.chat,
                project: opened.project,
                fork: opened.fork,
                messages: vec![],
                queue: VecDeque::new(),
                turn: None,
                last: None,
                runs: HashMap::new(),
            });
        }
        (state, _) => state?,
    };
    match event {
        BranchEvent::BranchOpened(_) => {}
        BranchEvent::MessageQueued(queued) => state.queue.push_back(queued.message.clone()),
        BranchEvent::MessageAppended(appended) => state.append(&appended.message),
        BranchEvent::TurnStarted(started) => {
            state.turn = Some(Turn { run: started.run, message: started.message });
            state.last = None;
            state.runs.insert(started.message, started.run);
        }
        BranchEvent::TurnEnded(ended) => {
            state.turn = None;
            state.last = Some(ended.outcome.clone());
        }
    }
    Some(state)
}

impl BranchState {
    fn append(&mut self, message: &Message) {
        self.queue.retain(|queued| queued.id != message.id);
        let before = self.messages.last().map_or(0, |last| last.open_calls);
        let count = |matches: fn(&Part) -> bool| {
            let parts = message.parts.iter().filter(|part| matches(part));
            u32::try_from(parts.count()).unwrap_or(u32::MAX)
        };
        let called = count(|part| matches!(part, Part::ToolCall(_)));
        let answered = count(|part| matches!(part, Part::ToolResult(_)));
        // A user's message begins anew: calls that an import left open don't reach beyond it.
        let before = if message.role == Role::User { 0 } else { before };
        let open_calls = before.saturating_add(called).saturating_sub(answered);
        self.messages.push(MessageRef { id: message.id, role: message.role, open_calls });
    }
}
