//! Histories for the tests of this crate.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use futures::executor::block_on;
use scripta_events::codec::Event;
use scripta_events::domain::*;
use scripta_events::log::memory::MemoryLog;
use scripta_events::log::{Append, Commit, EventData, EventLog, Expectation};
use scripta_events::{EventType, Fingerprint, OperationId, Position, RootId, StreamId, Timestamp};
use uuid::Uuid;

use crate::{Options, Projections};

/// A log that is being written.
pub(crate) struct History {
    pub(crate) log: MemoryLog,
}

impl History {
    pub(crate) fn new() -> History {
        History { log: MemoryLog::new() }
    }

    pub(crate) fn shared(&self) -> Arc<dyn EventLog> {
        Arc::new(self.log.clone())
    }

    pub(crate) fn open(&self, dir: &std::path::Path) -> Projections {
        Projections::open(self.shared(), dir, Options::default()).unwrap()
    }

    pub(crate) fn head(&self) -> Position {
        *self.log.head().borrow()
    }

    pub(crate) fn commit(&self, root: RootId, appends: Vec<(StreamId, Vec<EventData>)>) {
        let appends = appends.into_iter().map(|(stream, events)| Append {
            stream,
            expected: Expectation::Any,
            events,
        });
        let commit = Commit {
            root,
            operation: OperationId::random(),
            fingerprint: Fingerprint::of(b"test"),
            appends: appends.collect(),
            checks: Vec::new(),
            meta: Bytes::new(),
        };
        block_on(self.log.append(commit)).unwrap();
    }

    pub(crate) fn one(&self, stream: StreamId, event: EventData) {
        self.commit(stream.root, vec![(stream, vec![event])]);
    }

    /// An event that no program knows.
    pub(crate) fn unknown(&self, stream: StreamId) {
        let event_type = EventType(0x7fff);
        self.one(stream, EventData { event_type, version: 1, codec: 1, payload: Bytes::new() });
    }

    /// A connection that is made, given a secret, made the default, and a server and policy beside.
    pub(crate) fn workspace(&self) {
        let connection = Connection {
            id: Uuid::now_v7(),
            name: "c".to_owned(),
            provider: Provider::OpenAi,
            base_url: None,
            model: "m".to_owned(),
            options: None,
            enabled: true,
            default: false,
            for_subtasks: false,
            rating: Some(3),
            good_for: None,
            prices: None,
        };
        let id = connection.id;
        let policy = ToolPolicy {
            server: ToolServerId::APP,
            tool: "app_chats".to_owned(),
            decision: PolicyDecision::Allow,
            rules: Vec::new(),
            silence_timeout_ms: None,
            max_calls_per_run: None,
        };
        let events: [WorkspaceEvent; 5] = [
            ConnectionSet { connection: connection.clone() }.into(),
            CredentialSet { owner: CredentialOwner::Connection { connection: id } }.into(),
            ConnectionSet { connection: Connection { default: true, ..connection } }.into(),
            ToolPolicySet { policy, binds: None }.into(),
            GlobalSettingsSet { settings: GlobalSettings::default() }.into(),
        ];
        for event in events {
            self.one(WorkspaceId::THE.stream(), event.encode().unwrap());
        }
    }

    pub(crate) fn project(&self, name: &str) -> ProjectId {
        let project = ProjectId::random();
        let created = ProjectCreated { project, name: name.to_owned(), directories: Vec::new() };
        self.one(project.stream(), ProjectEvent::from(created).encode().unwrap());
        project
    }

    pub(crate) fn chat(&self, project: ProjectId, title: &str) -> ChatId {
        let chat = ChatId::random();
        let created = ChatCreated {
            chat,
            project,
            title: title.to_owned(),
            connection: None,
            model: None,
            source: None,
        };
        let opened = self.opened(chat, project, chat.first_branch(), None);
        self.commit(
            chat.root(),
            vec![
                (chat.stream(), vec![ChatEvent::from(created).encode().unwrap()]),
                (chat.first_branch().stream(chat), vec![opened]),
            ],
        );
        chat
    }

    pub(crate) fn memory(&self, project: Option<ProjectId>, title: &str, pinned: bool) -> MemoryId {
        let (memory, text) = (MemoryId::random(), format!("About {title}."));
        let (title, tags) = (title.to_owned(), vec!["tag".to_owned()]);
        let created = MemoryCreated { memory, project, title, text, tags, pinned };
        self.one(memory.stream(project), MemoryEvent::from(created).encode().unwrap());
        memory
    }

    pub(crate) fn memory_event(
        &self,
        project: Option<ProjectId>,
        memory: MemoryId,
        event: impl Into<MemoryEvent>,
    ) {
        self.one(memory.stream(project), event.into().encode().unwrap());
    }

    pub(crate) fn review(&self, chat: ChatId, name: &str) -> ReviewId {
        let (review, files) = (ReviewId::random(), vec!["a".to_owned()]);
        let (message, name) = (MessageId::random(), name.to_owned());
        let made = ReviewCreated { review, chat, message, name, files, comments: vec![] };
        self.review_event(chat, review, made);
        review
    }

    pub(crate) fn review_event(
        &self,
        chat: ChatId,
        review: ReviewId,
        event: impl Into<ReviewEvent>,
    ) {
        self.one(review.stream(chat), event.into().encode().unwrap());
    }

    pub(crate) fn project_event(&self, project: ProjectId, event: impl Into<ProjectEvent>) {
        self.one(project.stream(), event.into().encode().unwrap());
    }

    fn opened(
        &self,
        chat: ChatId,
        project: ProjectId,
        branch: BranchId,
        fork: Option<ForkPoint>,
    ) -> EventData {
        let title = fork.map(|_| "fork".to_owned());
        let opened = BranchOpened { branch, chat, project, fork, title };
        BranchEvent::from(opened).encode().unwrap()
    }

    pub(crate) fn fork(
        &self,
        project: ProjectId,
        chat: ChatId,
        parent: BranchId,
        own_messages: u64,
        after: MessageId,
    ) -> BranchId {
        let branch = BranchId::random();
        let fork = ForkPoint { parent, own_messages, after: Some(after) };
        let forked = BranchForked { branch, parent, after: Some(after), title: None };
        self.commit(
            chat.root(),
            vec![
                (chat.stream(), vec![ChatEvent::from(forked).encode().unwrap()]),
                (branch.stream(chat), vec![self.opened(chat, project, branch, Some(fork))]),
            ],
        );
        branch
    }

    pub(crate) fn chat_event(&self, chat: ChatId, event: impl Into<ChatEvent>) {
        self.one(chat.stream(), event.into().encode().unwrap());
    }

    pub(crate) fn delete_project(&self, project: ProjectId) {
        self.one(project.stream(), ProjectEvent::from(ProjectDeleted {}).encode().unwrap());
    }

    pub(crate) fn branch_event(
        &self,
        chat: ChatId,
        branch: BranchId,
        event: impl Into<BranchEvent>,
    ) {
        self.one(branch.stream(chat), event.into().encode().unwrap());
    }

    pub(crate) fn run_event(&self, chat: ChatId, run: RunId, event: impl Into<RunEvent>) {
        self.one(run.stream(chat), event.into().encode().unwrap());
    }

    pub(crate) fn say(&self, chat: ChatId, branch: BranchId, role: Role, text: &str) -> MessageId {
        let message = message(role, text);
        let id = message.id;
        self.branch_event(chat, branch, MessageAppended { message });
        id
    }

    pub(crate) fn start_run(&self, project: ProjectId, chat: ChatId, message: MessageId) -> RunId {
        let run = RunId::random();
        let branch = chat.first_branch();
        let started = RunStarted {
            run,
            chat,
            branch,
            project,
            message,
            connection: ConnectionId("builtin:demo".to_owned()),
            model: None,
            submitter: Sender::User,
            interactive: true,
        };
        let turn = BranchEvent::from(TurnStarted { run, message }).encode().unwrap();
        self.commit(
            chat.root(),
            vec![
                (branch.stream(chat), vec![turn]),
                (run.stream(chat), vec![RunEvent::from(started).encode().unwrap()]),
            ],
        );
        run
    }
}

pub(crate) fn queued(message: &Message) -> MessageQueued {
    let message = message.clone();
    MessageQueued { message, only_if_head: None, interactive: true, first: false }
}

pub(crate) fn message(role: Role, text: &str) -> Message {
    let part = if role == Role::Tool {
        Part::ToolResult(ToolResult {
            call_id: "1".to_owned(),
            is_error: false,
            text: text.to_owned(),
            structured: None,
            meta: None,
        })
    } else {
        Part::Text { text: text.to_owned() }
    };
    Message::new(MessageId(Uuid::now_v7()), role, vec![part], Timestamp::now())
}
