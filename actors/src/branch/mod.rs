//! Branches: the history of messages, the queue, one turn at a time.

mod append_imported;
mod aside;
mod clear_queue;
mod interrupt;
mod mark_read;
mod rebase;
mod remove_queued;
mod resume;
mod skip_failed;
mod start_next;
mod state;
mod stop;
mod submit;
mod update_queued;

use std::fmt;
use std::sync::Arc;

use scripta_events::domain::{
    BRANCH, BranchEvent, BranchId, ChatId, ConnectionId, Intent, Message, MessageAppended,
    MessageId, Part, Role, RunFailed, RunId, RunStarted, Sender, TurnEnded, TurnOutcome,
    TurnStarted,
};
use scripta_events::log::{Check, Expectation};
use scripta_events::{Category, Revision, StreamId, Timestamp};
use uuid::Uuid;

pub use append_imported::MAX_IMPORT_MESSAGES;
pub(crate) use append_imported::check as check_imported;
pub use scripta_events::domain::PauseReason;
pub use state::{BranchState, BranchStatus, MessageRef, Queued, Turn};
pub(crate) use submit::check_message;
pub use submit::{MAX_ATTACHED, MAX_MESSAGE_BYTES, MAX_QUEUE_BYTES, MAX_QUEUED, SubmitMode};

use self::submit::Submission;
use crate::attachments;
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
    /// Submit a message.
    Submit {
        /// The message.
        message: NewMessage,
        /// How it joins.
        mode: SubmitMode,
        /// The message that its author saw last: if the head is another when its turn comes, the
        /// branch pauses. `None` for any head; not for an aside, which has no turn.
        only_if_head: Option<MessageId>,
    },
    /// Give a queued message another text.
    UpdateQueued {
        /// Which.
        message: MessageId,
        /// The new text: 1 to [`MAX_MESSAGE_BYTES`] bytes.
        text: String,
    },
    /// Take a message out of the queue.
    RemoveQueued {
        /// Which.
        message: MessageId,
    },
    /// Take all messages out of the queue.
    ClearQueue,
    /// Go on with the turn that was stopped or failed, in the same run.
    Resume,
    /// Start the message that waits because it was meant for another head.
    Rebase,
    /// Say up to which message the history was read.
    MarkRead {
        /// The message; `None` for the head.
        message: Option<MessageId>,
    },
    /// Append the asides that came in: what the running turn does before it asks its model.
    AppendAsides,
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
    /// Whether somebody watches its turn.
    pub interactive: bool,
    /// Resources attached to it; at most [`MAX_ATTACHED`].
    pub refs: Vec<Uuid>,
    /// Reviews attached to it; at most [`MAX_ATTACHED`].
    pub reviews: Vec<Uuid>,
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
    /// The run of the running turn, or of the one that resumes, and its stream's revision.
    pub run: Option<(Arc<RunState>, Revision)>,
    /// What the running turn has of an answer that is not whole yet.
    pub partial: Option<Partial>,
    /// Why what is attached to a submitted message can't be; `None` where it can.
    pub unattachable: Option<Refusal>,
    /// For a mark on a message of another branch: this branch, its parent, and so on to the root.
    pub chain: Vec<Arc<BranchState>>,
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
            unattachable: None,
            chain: vec![],
        };
        let mut project = None;
        if let Some((chat, revision)) = engine.chat(key.chat).await? {
            project = engine.project(chat.project).await?;
            facts.project_deleted = project.as_ref().is_some_and(|project| project.deleted);
            facts.chat_revision = revision;
            facts.chat = Some(chat);
        }
        if let Some(run) = state.and_then(|state| needed_run(state, command)) {
            let run = RunKey { chat: key.chat, run };
            facts.run = engine.fold_run(run).await?;
            facts.partial = engine.partial(run);
        }
        if let BranchCommand::Submit { message, .. } = command {
            let project = project.as_deref();
            facts.unattachable = attachments::problem(engine, key.chat, project, message).await?;
        }
        match command {
            BranchCommand::Submit { .. }
            | BranchCommand::SkipFailed
            | BranchCommand::StartNext
            | BranchCommand::Resume
            | BranchCommand::Rebase => {
                let project = project.as_deref();
                facts.endpoint = facts.chat.as_deref().map(|chat| engine.endpoint(chat, project));
            }
            BranchCommand::MarkRead { message: Some(message) }
                if state.is_some_and(|state| !mark_read::is_own(state, *message)) =>
            {
                facts.chain = engine.chain(key).await?;
            }
            _ => {}
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
            BranchCommand::Submit { message, mode, only_if_head } => {
                let (mode, only_if_head) = (*mode, *only_if_head);
                submit::decide(state, Submission { message, mode, only_if_head }, facts)
            }
            BranchCommand::Stop => stop::decide(state, facts),
            BranchCommand::UpdateQueued { message, text } => {
                update_queued::decide(state, *message, text)
            }
            BranchCommand::RemoveQueued { message } => remove_queued::decide(state, *message),
            BranchCommand::ClearQueue => Ok(clear_queue::decide(state)),
            BranchCommand::Resume => resume::decide(state, facts),
            BranchCommand::SkipFailed => skip_failed::decide(state, facts),
            BranchCommand::Rebase => rebase::decide(state, facts),
            BranchCommand::MarkRead { message } => mark_read::decide(state, *message, facts),
            BranchCommand::StartNext => start_next::decide(state, facts),
            BranchCommand::AppendAsides => Ok(aside::append(state)),
            BranchCommand::AppendImported { messages } => append_imported::decide(state, messages),
        }?;
        if state.turn.is_none() {
            // What a turn that has ended did not read comes right after it.
            decision.events.splice(0..0, aside::appended(state));
        }
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

/// The run that a decision needs to know.
fn needed_run(state: &BranchState, command: &BranchCommand) -> Option<RunId> {
    let turn = match command {
        BranchCommand::Stop | BranchCommand::Submit { mode: SubmitMode::Interrupt, .. } => {
            state.turn
        }
        BranchCommand::Resume => state.resumable,
        _ => None,
    };
    turn.map(|turn| turn.run)
}

/// What a change of the queue leads to where no turn is running.
fn start_later(state: &BranchState) -> Vec<Effect> {
    let start = Effect::StartNext(BranchKey { chat: state.chat, branch: state.id });
    state.turn.is_none().then_some(start).into_iter().collect()
}

impl BranchCommand {
    /// Submits a message that waits for its turn, whatever the head is.
    pub fn enqueue(message: NewMessage) -> BranchCommand {
        BranchCommand::Submit { message, mode: SubmitMode::Enqueue, only_if_head: None }
    }
}

impl NewMessage {
    /// A message of a person who watches, with nothing attached.
    pub fn new(id: MessageId, text: impl Into<String>, sender: Sender) -> NewMessage {
        NewMessage {
            id,
            text: text.into(),
            sender,
            intent: None,
            interactive: true,
            refs: vec![],
            reviews: vec![],
        }
    }

    /// The message as it is recorded.
    pub(crate) fn at(&self, now: Timestamp) -> Message {
        let parts = vec![Part::Text { text: self.text.clone() }];
        Message {
            sender: Some(self.sender.clone()),
            intent: self.intent,
            refs: self.refs.clone(),
            reviews: self.reviews.clone(),
            ..Message::new(self.id, Role::User, parts, now)
        }
    }
}

/// A turn that starts with a message: the branch's events, and the run that carries it out.
pub(crate) struct NewTurn {
    pub(crate) branch: Vec<BranchEvent>,
    pub(crate) run: Write,
    pub(crate) effect: Option<Effect>,
}

/// Starting a turn is one commit with the message that starts it. Where the endpoint can't be
/// used, it fails in that commit, and is never carried out. With the message comes whether somebody
/// watches its turn.
pub(crate) fn new_turn(
    chat: &ChatState,
    branch: BranchId,
    (message, interactive): (Message, bool),
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
        interactive,
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
