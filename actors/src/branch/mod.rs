//! Branches: the history of messages, the queue, one turn at a time.

mod append_imported;
mod skip_failed;
mod start_next;
mod state;
mod stop;
mod submit;

use std::fmt;
use std::sync::Arc;

use scripta_events::domain::{
    BRANCH, BranchEvent, BranchId, ChatId, ConnectionId, Intent, Message, MessageAppended,
    MessageId, MessageStatus, Part, Role, RunFailed, RunId, RunStarted, Sender, TurnEnded,
    TurnOutcome, TurnStarted,
};
use scripta_events::log::{Check, Expectation};
use scripta_events::{Category, Revision, StreamId, Timestamp};

pub use append_imported::MAX_IMPORT_MESSAGES;
pub(crate) use append_imported::check as check_imported;
pub use state::{BranchState, BranchStatus, MessageRef, PauseReason, Turn};
pub(crate) use submit::check_text;
pub use submit::{MAX_MESSAGE_BYTES, MAX_QUEUE_BYTES, MAX_QUEUED};

use crate::engine::Engine;
use crate::{
    Aggregate, Branch, ChatState, Decision, Effect, Ids, LoadError, Partial, Refusal, RunKey,
    RunState, Write,
};

/// Names a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BranchKey {
    /// Its chat.
    pub chat: ChatId,
    /// The branch.
    pub branch: BranchId,
}

/// What a branch can be asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum BranchCommand {
    /// Enqueue a message: an idle branch starts a turn with it at once.
    Submit {
        /// The message.
        message: NewMessage,
    },
    /// Stop the running turn, keeping what it produced. Without one there is nothing to change.
    Stop,
    /// Leave the stopped or failed turn as it is and start the next queued message.
    SkipFailed,
    /// Start the next queued message, if the branch is idle: what an ended turn leads to.
    StartNext,
    /// Append imported messages that the branch doesn't have yet.
    AppendImported {
        /// The messages, in order; at most [`MAX_IMPORT_MESSAGES`].
        messages: Vec<Message>,
    },
}

/// A message to submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Its id: the operation id of the submit.
    pub id: MessageId,
    /// Its text: 1 to [`MAX_MESSAGE_BYTES`] bytes.
    pub text: String,
    /// Who sends it; set by the server.
    pub sender: Sender,
    /// What it is meant as.
    pub intent: Option<Intent>,
}

/// What a turn uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The connection.
    pub connection: ConnectionId,
    /// The model; `None` for the connection's own.
    pub model: Option<String>,
    /// Why it can't be used, if it can't.
    pub problem: Option<String>,
}

/// What a branch's decision needs.
#[derive(Debug)]
pub struct BranchFacts {
    /// The time.
    pub now: Timestamp,
    /// Ids for what is made.
    pub ids: Ids,
    /// The chat; `None` if there is none.
    pub chat: Option<Arc<ChatState>>,
    /// The revision of the chat's stream.
    pub chat_revision: Revision,
    /// Whether the chat's project was deleted.
    pub project_deleted: bool,
    /// What a turn that starts now uses.
    pub endpoint: Option<Endpoint>,
    /// The running turn's run and its stream's revision, for a stop.
    pub run: Option<(Arc<RunState>, Revision)>,
    /// What the running turn has of an answer that is not whole yet.
    pub partial: Option<Partial>,
}

impl Aggregate for Branch {
    type Id = BranchKey;
    type State = BranchState;
    type Event = BranchEvent;
    type Command = BranchCommand;
    type Facts = BranchFacts;

    const NAME: &'static str = "branch";
    const CATEGORY: Category = BRANCH;

    fn stream(key: BranchKey) -> StreamId {
        key.branch.stream(key.chat)
    }

    fn id_of(stream: StreamId) -> Option<BranchKey> {
        let key = BranchKey { chat: ChatId(stream.root.0), branch: BranchId(stream.id) };
        (stream.category == BRANCH).then_some(key)
    }

    async fn gather(
        engine: &Arc<Engine>,
        key: BranchKey,
        state: Option<&BranchState>,
        command: &BranchCommand,
    ) -> Result<BranchFacts, LoadError> {
        let mut facts = BranchFacts {
            now: Timestamp::now(),
            ids: Ids::random(),
            chat: None,
            chat_revision: Revision::NONE,
            project_deleted: false,
            endpoint: None,
            run: None,
            partial: None,
        };
        if let Some((chat, revision)) = engine.chat(key.chat).await? {
            let project = engine.project(chat.project).await?;
            facts.project_deleted = project.is_some_and(|project| project.deleted);
            facts.chat_revision = revision;
            facts.chat = Some(chat);
        }
        match (command, state.and_then(|state| state.turn)) {
            (BranchCommand::AppendImported { .. }, _) => {}
            (BranchCommand::Stop, None) => {}
            (BranchCommand::Stop, Some(turn)) => {
                let run = RunKey { chat: key.chat, run: turn.run };
                facts.run = engine.fold_run(run).await?;
                facts.partial = engine.partial(run);
            }
            _ => facts.endpoint = facts.chat.as_deref().map(|chat| engine.endpoint(chat)),
        }
        Ok(facts)
    }

    fn decide(
        key: BranchKey,
        state: Option<&BranchState>,
        command: &BranchCommand,
        facts: &mut BranchFacts,
    ) -> Result<Decision<Branch>, Refusal> {
        let not_found = Refusal::NotFound { what: "branch", id: key.branch.0 };
        let state = state.ok_or(not_found)?;
        match facts.standing(key) {
            Ok(()) => {}
            // An ended turn leads to nothing in a branch that was deleted meanwhile.
            Err(_) if *command == BranchCommand::StartNext => return Ok(Decision::nothing()),
            Err(gone) => return Err(gone),
        }
        let mut decision = match command {
            BranchCommand::Submit { message } => submit::decide(state, message, facts),
            BranchCommand::Stop => stop::decide(state, facts),
            BranchCommand::SkipFailed => skip_failed::decide(state, facts),
            BranchCommand::StartNext => start_next::decide(state, facts),
            BranchCommand::AppendImported { messages } => append_imported::decide(state, messages),
        }?;
        // Neither the branch nor its chat may be deleted before this is written.
        if !decision.is_empty() {
            let expected = Expectation::Exactly(facts.chat_revision);
            decision.checks.push(Check { stream: key.chat.stream(), expected });
        }
        Ok(decision)
    }

    fn evolve(
        state: Option<BranchState>,
        event: &BranchEvent,
        _at: Timestamp,
    ) -> Option<BranchState> {
        state::evolve(state, event)
    }
}

impl BranchFacts {
    /// Whether the branch is there, and its chat and project are.
    fn standing(&self, key: BranchKey) -> Result<(), Refusal> {
        let (what, id) = ("branch", key.branch.0);
        match &self.chat {
            None => Err(Refusal::NotFound { what: "chat", id: key.chat.0 }),
            Some(_) if self.project_deleted => Err(Refusal::Gone { what, id }),
            Some(chat) => chat.branch(key.branch).map(drop),
        }
    }
}

impl fmt::Display for BranchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.branch.fmt(f)
    }
}

impl NewMessage {
    /// The message as it is recorded.
    pub(crate) fn at(&self, now: Timestamp) -> Message {
        let parts = vec![Part::Text { text: self.text.clone() }];
        Message {
            sender: Some(self.sender.clone()),
            intent: self.intent,
            ..said(self.id, Role::User, parts, now)
        }
    }
}

/// A whole message that says no more than who speaks and what.
pub(crate) fn said(id: MessageId, role: Role, parts: Vec<Part>, now: Timestamp) -> Message {
    Message {
        id,
        role,
        parts,
        created_at: now,
        sender: None,
        intent: None,
        run: None,
        connection: None,
        model: None,
        usage: None,
        refs: vec![],
        reviews: vec![],
        status: MessageStatus::Complete,
    }
}

/// A turn that starts with a message: the branch's events, and the run that carries it out.
pub(crate) struct NewTurn {
    pub(crate) branch: Vec<BranchEvent>,
    pub(crate) run: Write,
    pub(crate) effect: Option<Effect>,
}

/// Starting a turn is one commit with the message that starts it. Where the endpoint can't be
/// used, it fails in that commit, and is never carried out.
pub(crate) fn new_turn(
    chat: &ChatState,
    branch: BranchId,
    message: Message,
    endpoint: &Endpoint,
    ids: &mut Ids,
) -> NewTurn {
    let run = RunKey { chat: chat.id, run: RunId(ids.take()) };
    let started = RunStarted {
        run: run.run,
        chat: chat.id,
        branch,
        project: chat.project,
        message: message.id,
        connection: endpoint.connection.clone(),
        model: endpoint.model.clone(),
        submitter: message.sender.clone().unwrap_or(Sender::User),
    };
    let turn = TurnStarted { run: run.run, message: message.id };
    let mut branch = vec![MessageAppended { message }.into(), turn.into()];
    let mut events = vec![started.into()];
    if let Some(reason) = &endpoint.problem {
        let outcome = TurnOutcome::Failed { reason: reason.clone() };
        branch.push(TurnEnded { run: run.run, outcome }.into());
        events.push(RunFailed { reason: reason.clone() }.into());
    }
    NewTurn {
        branch,
        run: Write::Run { key: run, expected: Expectation::NoStream, events },
        effect: endpoint.problem.is_none().then_some(Effect::Drive(run)),
    }
}

impl NewTurn {
    /// Begins it in a branch that is there.
    fn begin(self) -> Decision<Branch> {
        Decision {
            events: self.branch,
            others: vec![self.run],
            checks: vec![],
            effects: self.effect.into_iter().collect(),
        }
    }
}
