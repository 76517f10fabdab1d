//! What a chat's events add up to.

use std::collections::BTreeMap;

use scripta_events::Timestamp;
use scripta_events::domain::{
    BranchId, ChatEvent, ChatId, ConnectionId, ImportSource, MessageId, ProjectId,
};

use crate::Refusal;

/// A chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatState {
    /// Its id.
    pub id: ChatId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its title.
    pub title: String,
    /// The connection its turns use; `None` for the default of the moment.
    pub connection: Option<ConnectionId>,
    /// The model its turns use; `None` for the connection's own.
    pub model: Option<String>,
    /// Whether it stands before the others.
    pub pinned: bool,
    /// The document's revision: 1 when made, one more with each change of its title, pin and
    /// endpoint. Messages, forks and the titles of branches don't move it.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its branches by id; the first branch has the chat's own id.
    pub branches: BTreeMap<BranchId, BranchInfo>,
    /// Where it was imported from.
    pub source: Option<ImportSource>,
}

/// What a chat knows of one of its branches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchInfo {
    /// The branch that wrote the last message they share; `None` for the first branch.
    pub parent: Option<BranchId>,
    /// The last message they share; `None` where none is.
    pub after: Option<MessageId>,
    /// Its title.
    pub title: Option<String>,
}

impl ChatState {
    /// What it knows of one of its branches.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotFound`], if it has no such branch.
    pub(crate) fn branch(&self, branch: BranchId) -> Result<&BranchInfo, Refusal> {
        self.branches.get(&branch).ok_or(Refusal::NotFound { what: "branch", id: branch.0 })
    }
}

pub(super) fn evolve(
    state: Option<ChatState>,
    event: &ChatEvent,
    at: Timestamp,
) -> Option<ChatState> {
    let mut state = match (state, event) {
        (None, ChatEvent::ChatCreated(made)) => {
            return Some(ChatState {
                id: made.chat,
                project: made.project,
                title: made.title.clone(),
                connection: made.connection.clone(),
                model: made.model.clone(),
                pinned: false,
                revision: 1,
                created_at: at,
                branches: BTreeMap::from([(made.chat.first_branch(), BranchInfo::default())]),
                source: made.source.clone(),
            });
        }
        (state, _) => state?,
    };
    match event {
        ChatEvent::ChatCreated(_) => {}
        ChatEvent::ChatRenamed(renamed) => {
            state.title = renamed.title.clone();
            state.revision += 1;
        }
        ChatEvent::BranchForked(forked) => {
            let info = BranchInfo {
                parent: Some(forked.parent),
                after: forked.after,
                title: forked.title.clone(),
            };
            state.branches.insert(forked.branch, info);
        }
        ChatEvent::ChatPinned(pin) => {
            state.pinned = pin.pinned;
            state.revision += 1;
        }
        ChatEvent::ChatEndpointSet(set) => {
            state.connection = Some(set.connection.clone());
            state.model = set.model.clone();
            state.revision += 1;
        }
        ChatEvent::BranchRenamed(renamed) => {
            if let Some(info) = state.branches.get_mut(&renamed.branch) {
                info.title = Some(renamed.title.clone());
            }
        }
    }
    Some(state)
}
