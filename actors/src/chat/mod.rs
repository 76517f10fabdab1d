//! Chats: a title, an endpoint, and the branches.

mod create;
mod delete;
mod delete_branch;
mod fork;
mod fork_imported;
mod import;
mod pin;
mod rename;
mod rename_branch;
mod set_endpoint;
mod state;

use std::sync::Arc;

use scripta_events::domain::{
    BranchId, CHAT, ChatEvent, ChatId, ConnectionId, ImportSource, Message, MessageId, ProjectId,
    WorkspaceDocuments,
};
use scripta_events::{Category, Revision, StreamId, Timestamp};

pub use fork::MAX_BRANCHES;
pub(crate) use fork::point as fork_point;
pub use state::{BranchInfo, ChatState};

use crate::attachments;
use crate::engine::Engine;
use crate::security::{self, Scope};
use crate::{
    Aggregate, BranchKey, BranchState, Chat, Decision, Endpoint, Ids, LoadError, NewMessage,
    ProjectState, Refusal, RunState, SecurityCommand,
};

/// What a chat can be asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatCommand {
    /// Make it, with its first branch.
    Create {
        /// The project it belongs to.
        project: ProjectId,
        /// Its title: 1 to [`MAX_TITLE_CHARS`](crate::MAX_TITLE_CHARS) characters.
        title: String,
        /// The connection its turns use; `None` for the default of the moment.
        connection: Option<ConnectionId>,
        /// The model its turns use; `None` for the connection's own.
        model: Option<String>,
    },
    /// Give it another title.
    Rename {
        /// The new title.
        title: String,
        /// The chat's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Put it before the others, or back among them.
    Pin {
        /// Whether it is to be pinned.
        pinned: bool,
        /// The chat's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Let its turns use another connection or model from the next one on.
    SetEndpoint {
        /// The connection.
        connection: ConnectionId,
        /// The model; `None` for the connection's own.
        model: Option<String>,
        /// The chat's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Give a branch another title. It conflicts with nothing, so it names no revision.
    RenameBranch {
        /// The branch.
        branch: BranchId,
        /// The new title: 1 to [`MAX_TITLE_CHARS`](crate::MAX_TITLE_CHARS) characters.
        title: String,
    },
    /// Delete it with all its branches. Turns that are running are stopped.
    Delete {
        /// The chat's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Delete one of its branches; never the first. A turn that is running is stopped.
    DeleteBranch {
        /// The branch.
        branch: BranchId,
        /// Whether branches that fork from it keep what they share; without it they are in the way.
        keep_forks: bool,
        /// The chat's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Change its security document.
    Security(SecurityCommand),
    /// Delete it because its project was deleted.
    Sweep,
    /// Open a branch from a message, with a message that starts its first turn.
    Fork {
        /// The branch whose history is shared.
        branch: BranchId,
        /// The last message to share, anywhere in that branch's history; `None` for its head.
        from: Option<MessageId>,
        /// The new branch's title.
        title: Option<String>,
        /// The new branch's first own message.
        message: NewMessage,
    },
    /// Make it from an imported conversation; one that is here from the same source stays.
    Import {
        /// The project it belongs to.
        project: ProjectId,
        /// Its title.
        title: String,
        /// Where it comes from.
        source: ImportSource,
        /// The first messages of its first branch; at most
        /// [`MAX_IMPORT_MESSAGES`](crate::MAX_IMPORT_MESSAGES).
        messages: Vec<Message>,
    },
    /// Open a branch of an imported conversation; one that is here already stays.
    ForkImported {
        /// The new branch's id.
        branch: BranchId,
        /// The branch whose history is shared.
        parent: BranchId,
        /// The last message to share; `None` to share nothing (a second root).
        after: Option<MessageId>,
        /// The new branch's title.
        title: Option<String>,
        /// Its first own messages; at most [`MAX_IMPORT_MESSAGES`](crate::MAX_IMPORT_MESSAGES).
        messages: Vec<Message>,
    },
}

/// What a chat's decision needs.
#[derive(Debug)]
pub struct ChatFacts {
    /// The time.
    pub now: Timestamp,
    /// Ids for what is made.
    pub ids: Ids,
    /// The project that the command names, or the chat's own; `None` if there is none.
    pub project: Option<Arc<ProjectState>>,
    /// For a deletion: the branches that go.
    pub open: Vec<OpenBranch>,
    /// For a fork: the branch to fork from, its parent, and so on to the root.
    pub chain: Vec<Arc<BranchState>>,
    /// What a turn that starts now uses.
    pub endpoint: Option<Endpoint>,
    /// Why what is attached to a submitted message can't be; `None` where it can.
    pub unattachable: Option<Refusal>,
    /// For a change of its security: the workspace, which has the tool servers.
    pub workspace: Arc<WorkspaceDocuments>,
}

/// A branch as it is now, with its turn's run.
#[derive(Clone, Debug)]
pub struct OpenBranch {
    /// The branch.
    pub state: Arc<BranchState>,
    /// Its stream's revision.
    pub revision: Revision,
    /// The running turn's run, and its stream's revision.
    pub run: Option<(Arc<RunState>, Revision)>,
}

impl Aggregate for Chat {
    type Id = ChatId;
    type State = ChatState;
    type Event = ChatEvent;
    type Command = ChatCommand;
    type Facts = ChatFacts;

    const NAME: &'static str = "chat";
    const CATEGORY: Category = CHAT;

    fn stream(id: ChatId) -> StreamId {
        id.stream()
    }

    fn id_of(stream: StreamId) -> Option<ChatId> {
        (stream.category == CHAT).then_some(ChatId(stream.id))
    }

    fn creates(command: &ChatCommand) -> bool {
        matches!(command, ChatCommand::Create { .. })
    }

    fn expected(command: &ChatCommand) -> Option<u64> {
        match command {
            ChatCommand::Rename { expected_revision, .. }
            | ChatCommand::Pin { expected_revision, .. }
            | ChatCommand::SetEndpoint { expected_revision, .. }
            | ChatCommand::Delete { expected_revision }
            | ChatCommand::DeleteBranch { expected_revision, .. } => Some(*expected_revision),
            ChatCommand::Security(command) => command.expected(),
            _ => None,
        }
    }

    fn document_revision(state: &ChatState, _command: &ChatCommand) -> Option<u64> {
        (!state.deleted).then_some(state.revision)
    }

    async fn gather(
        engine: &Arc<Engine>,
        id: ChatId,
        state: Option<&ChatState>,
        command: &ChatCommand,
    ) -> Result<ChatFacts, LoadError> {
        let mut facts = ChatFacts {
            now: Timestamp::now(),
            ids: Ids::random(),
            project: None,
            open: vec![],
            chain: vec![],
            endpoint: None,
            unattachable: None,
            workspace: Arc::default(),
        };
        let project = match command {
            ChatCommand::Create { project, .. } | ChatCommand::Import { project, .. } => {
                Some(*project)
            }
            _ => state.map(|state| state.project),
        };
        if let Some(project) = project {
            facts.project = engine.project(project).await?;
        }
        let project = facts.project.as_deref();
        facts.endpoint = state.map(|state| engine.endpoint(state, project));
        match command {
            ChatCommand::Create { connection, model, .. } => {
                facts.endpoint = Some(engine.endpoint_of(connection.as_ref(), model.as_deref()));
            }
            ChatCommand::SetEndpoint { connection, model, .. } => {
                facts.endpoint = Some(engine.endpoint_of(Some(connection), model.as_deref()));
            }
            ChatCommand::Import { .. }
            | ChatCommand::Rename { .. }
            | ChatCommand::Pin { .. }
            | ChatCommand::RenameBranch { .. } => {}
            ChatCommand::Security(_) => facts.workspace = engine.workspace().await?,
            ChatCommand::Delete { .. } | ChatCommand::Sweep => {
                for (branch, _) in state.iter().flat_map(|state| state.living()) {
                    facts.open.extend(engine.fold_branch(BranchKey { chat: id, branch }).await?);
                }
            }
            ChatCommand::DeleteBranch { branch, .. } => {
                let key = BranchKey { chat: id, branch: *branch };
                facts.open.extend(engine.fold_branch(key).await?);
            }
            ChatCommand::Fork { branch, message, .. } => {
                let project = facts.project.as_deref();
                facts.unattachable = attachments::problem(engine, id, project, message).await?;
                facts.chain = engine.chain(BranchKey { chat: id, branch: *branch }).await?;
            }
            ChatCommand::ForkImported { parent: branch, .. } => {
                facts.chain = engine.chain(BranchKey { chat: id, branch: *branch }).await?;
            }
        }
        Ok(facts)
    }

    fn decide(
        id: ChatId,
        state: Option<&ChatState>,
        command: &ChatCommand,
        facts: &mut ChatFacts,
    ) -> Result<Decision<Chat>, Refusal> {
        let project_is_deleted = facts.project.as_ref().is_some_and(|project| project.deleted);
        let existing = || match state {
            None => Err(Refusal::NotFound { what: "chat", id: id.0 }),
            Some(state) if state.deleted || project_is_deleted => {
                Err(Refusal::Gone { what: "chat", id: id.0 })
            }
            Some(state) => Ok(state),
        };
        match command {
            ChatCommand::Create { project, title, connection, model } => {
                let wanted = create::Wanted { project: *project, title, connection, model };
                create::decide(id, state, wanted, facts)
            }
            ChatCommand::Rename { title, .. } => rename::decide(existing()?, title),
            ChatCommand::Pin { pinned, .. } => Ok(pin::decide(existing()?, *pinned)),
            ChatCommand::SetEndpoint { connection, model, .. } => {
                set_endpoint::decide(existing()?, connection, model, facts)
            }
            ChatCommand::RenameBranch { branch, title } => {
                rename_branch::decide(existing()?, *branch, title)
            }
            ChatCommand::Security(command) => {
                let document = &existing()?.security;
                let workspace = &facts.workspace;
                let scope = Scope { document, workspace, binds: false };
                let decided = security::decide(&scope, command, &mut facts.ids)?;
                let events = decided.map(security::SecurityEvent::into_event);
                Ok(Decision::events(events.into_iter().collect()))
            }
            ChatCommand::Delete { .. } => delete::decide(existing()?, facts),
            ChatCommand::DeleteBranch { branch, keep_forks, .. } => {
                delete_branch::decide(existing()?, *branch, *keep_forks, facts)
            }
            ChatCommand::Sweep => match state {
                Some(state) if !state.deleted => delete::decide(state, facts),
                _ => Ok(Decision::nothing()),
            },
            ChatCommand::Fork { branch, from, title, message } => {
                let place = fork::Place { branch: *branch, from: *from, title };
                fork::decide(existing()?, place, message, facts)
            }
            ChatCommand::Import { project, title, source, messages } => {
                let wanted = import::Wanted { project: *project, title, source, messages };
                import::decide(id, state, wanted, facts)
            }
            ChatCommand::ForkImported { branch, parent, after, title, messages } => {
                let place = fork::Place { branch: *parent, from: *after, title };
                fork_imported::decide(existing()?, *branch, place, messages, facts)
            }
        }
    }

    fn evolve(state: Option<ChatState>, event: &ChatEvent, at: Timestamp) -> Option<ChatState> {
        state::evolve(state, event, at)
    }
}
