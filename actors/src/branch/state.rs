//! What a branch's events add up to.

use std::collections::{HashMap, VecDeque};

use scripta_events::domain::{
    BranchEvent, BranchId, BranchOpened, ChatId, ForkPoint, Message, MessageId, MessageQueued,
    Part, PauseReason, ProjectId, Role, RunId, TurnEnded, TurnOutcome,
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
    pub queue: VecDeque<Queued>,
    /// Asides that are not appended yet: the running turn takes them before its next model step,
    /// and where it ends before, they come after it.
    pub asides: Vec<Message>,
    /// The turn that is running.
    pub turn: Option<Turn>,
    /// How the last turn ended; `None` while one is running and before the first.
    pub last: Option<TurnOutcome>,
    /// The stopped or failed turn that can go on: nothing but asides came after it.
    pub resumable: Option<Turn>,
    /// Whether somebody went on past the last turn, so that it no longer pauses the branch.
    pub skipped: bool,
    /// The queued message whose turn came when the head was another than it was meant for.
    pub needs_rebase: Option<MessageId>,
    /// The message up to which it was read; `None` if nobody said so yet.
    pub read: Option<MessageId>,
    /// The run of each message that started a turn.
    pub runs: HashMap<MessageId, RunId>,
}

/// A message that waits for its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// The message, as it will be appended.
    pub message: Message,
    /// The message that its author saw last; `None` for any.
    pub only_if_head: Option<MessageId>,
    /// Whether somebody watches its turn.
    pub interactive: bool,
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
    /// Whether it is an aside, which nobody has to have seen to speak after it.
    pub aside: bool,
}

/// A turn.
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

impl BranchState {
    /// What it is doing.
    pub fn status(&self) -> BranchStatus {
        if self.turn.is_some() {
            return BranchStatus::Running;
        }
        let Some(next) = self.queue.front() else { return BranchStatus::Idle };
        if self.needs_rebase == Some(next.message.id) {
            return BranchStatus::Paused { reason: PauseReason::NeedsRebase };
        }
        let last = self.last.as_ref().filter(|_| !self.skipped);
        match last.and_then(TurnOutcome::pauses) {
            Some(reason) => BranchStatus::Paused { reason },
            None => BranchStatus::Idle,
        }
    }

    /// The last message of its history, which is the parent's where it has none of its own.
    pub fn head(&self) -> Option<MessageId> {
        let own = self.messages.last().map(|message| message.id);
        own.or_else(|| self.fork.and_then(|fork| fork.after))
    }

    /// Whether a message that is meant for this head may come next: nothing but asides came after
    /// it.
    pub(super) fn accepts(&self, only_if_head: Option<MessageId>) -> bool {
        let Some(wanted) = only_if_head else { return true };
        for message in self.messages.iter().rev() {
            if message.id == wanted {
                return true;
            }
            if !message.aside {
                return false;
            }
        }
        self.fork.and_then(|fork| fork.after) == Some(wanted)
    }

    /// Whether a message may be appended without parting a tool call from its result.
    pub(crate) fn is_whole(&self) -> bool {
        self.messages.last().is_none_or(|last| last.open_calls == 0)
    }
}

pub(super) fn evolve(state: Option<BranchState>, event: &BranchEvent) -> Option<BranchState> {
    let mut state = match (state, event) {
        (None, BranchEvent::BranchOpened(opened)) => return Some(open(opened)),
        (state, _) => state?,
    };
    match event {
        BranchEvent::BranchOpened(_) => {}
        BranchEvent::MessageQueued(queued) => state.enqueue(queued),
        BranchEvent::MessageAppended(appended) => state.append(&appended.message),
        BranchEvent::TurnStarted(started) => state.begin(started.run, started.message),
        BranchEvent::TurnResumed(resumed) => state.begin(resumed.run, resumed.message),
        BranchEvent::TurnEnded(ended) => state.end(ended),
        BranchEvent::QueuedMessageChanged(changed) => state.change(changed.message, &changed.text),
        BranchEvent::QueuedMessageRemoved(removed) => {
            state.queue.retain(|queued| queued.message.id != removed.message);
        }
        BranchEvent::QueueCleared(_) => state.queue.clear(),
        BranchEvent::RebaseNeeded(needed) => {
            state.needs_rebase = Some(needed.message);
            state.skipped = true;
        }
        BranchEvent::MessageRebased(rebased) => {
            state.needs_rebase = None;
            let mut waiting = state.queue.iter_mut();
            if let Some(queued) = waiting.find(|queued| queued.message.id == rebased.message) {
                queued.only_if_head = rebased.head;
            }
        }
        BranchEvent::AsideReceived(received) => state.asides.push(received.message.clone()),
        BranchEvent::MessagesRead(read) => state.read = Some(read.message),
    }
    Some(state)
}

fn open(opened: &BranchOpened) -> BranchState {
    BranchState {
        id: opened.branch,
        chat: opened.chat,
        project: opened.project,
        fork: opened.fork,
        messages: vec![],
        queue: VecDeque::new(),
        asides: vec![],
        turn: None,
        last: None,
        resumable: None,
        skipped: false,
        needs_rebase: None,
        read: None,
        runs: HashMap::new(),
    }
}

impl BranchState {
    fn enqueue(&mut self, queued: &MessageQueued) {
        let MessageQueued { message, only_if_head, interactive, first } = queued.clone();
        let queued = Queued { message, only_if_head, interactive };
        if first {
            self.queue.push_front(queued);
        } else {
            self.queue.push_back(queued);
        }
    }

    fn change(&mut self, id: MessageId, text: &str) {
        let mut waiting = self.queue.iter_mut();
        if let Some(queued) = waiting.find(|queued| queued.message.id == id) {
            queued.message.parts = vec![Part::Text { text: text.to_owned() }];
        }
    }

    fn begin(&mut self, run: RunId, message: MessageId) {
        self.turn = Some(Turn { run, message });
        self.last = None;
        self.resumable = None;
        self.skipped = false;
        self.runs.insert(message, run);
    }

    fn end(&mut self, ended: &TurnEnded) {
        let over = self.turn.take();
        self.resumable = over.filter(|_| ended.outcome != TurnOutcome::Completed);
        self.last = Some(ended.outcome.clone());
    }

    fn append(&mut self, message: &Message) {
        self.queue.retain(|queued| queued.message.id != message.id);
        let aside = self.asides.iter().position(|aside| aside.id == message.id);
        if let Some(at) = aside {
            self.asides.remove(at);
        } else if self.turn.is_none() {
            self.resumable = None;
        }
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
        let (id, role, aside) = (message.id, message.role, aside.is_some());
        self.messages.push(MessageRef { id, role, open_calls, aside });
    }
}
