//! What a chat's events add up to.

use std::collections::BTreeMap;

use scripta_events::Timestamp;
use scripta_events::domain::{
    BranchId, ChatEvent, ChatId, ConnectionId, ImportSource, MessageId, ProjectId, SecurityDocument,
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
    /// What it says of tools and servers beside its project.
    pub security: SecurityDocument,
    /// The document's revision: 1 when made, one more with each change of its title, pin,
    /// endpoint and security. Messages, forks and the titles of branches don't move it.
    pub revision: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its branches by id; the first branch has the chat's own id.
    pub branches: BTreeMap<BranchId, BranchInfo>,
    /// Where it was imported from.
    pub source: Option<ImportSource>,
    /// Whether it was deleted.
    pub deleted: bool,
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
    /// Whether it was deleted; others may still share its messages.
    pub deleted: bool,
}

impl ChatState {
    /// What it knows of one of its branches.
    ///
    /// # Errors
    ///
    /// [`Refusal::NotFound`], if it never had such a branch; [`Refusal::Gone`], if the branch or the
    /// chat was deleted.
    pub fn branch(&self, branch: BranchId) -> Result<&BranchInfo, Refusal> {
        let (what, id) = ("branch", branch.0);
        let info = self.branches.get(&branch).ok_or(Refusal::NotFound { what, id })?;
        if self.deleted || info.deleted {
            return Err(Refusal::Gone { what, id });
        }
        Ok(info)
    }

    /// The branches that are there.
    pub(crate) fn living(&self) -> impl Iterator<Item = (BranchId, &BranchInfo)> {
        self.branches.iter().filter(|(_, info)| !info.deleted).map(|(id, info)| (*id, info))
    }

    /// The branches that are there and fork from what this one wrote itself, also by way of
    /// branches that were deleted.
    pub(crate) fn forks_of(&self, branch: BranchId) -> Vec<(BranchId, &BranchInfo)> {
        self.living().filter(|(_, info)| self.rests_on(info, branch)).collect()
    }

    fn rests_on(&self, info: &BranchInfo, branch: BranchId) -> bool {
        let mut link = Some(info);
        // A parent is opened before its forks, so this ends.
        while let Some((parent, _)) = link.and_then(|link| link.parent.zip(link.after)) {
            if parent == branch {
                return true;
            }
            link = self.branches.get(&parent).filter(|info| info.deleted);
        }
        false
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
                security: SecurityDocument::default(),
                revision: 1,
                created_at: at,
                branches: BTreeMap::from([(made.chat.first_branch(), BranchInfo::default())]),
                source: made.source.clone(),
                deleted: false,
            });
        }
        (state, _) => state?,
    };
    if let Some(fact) = event.security() {
        state.security.apply(fact);
        state.revision += 1;
    }
    match event {
        // Folded above.
        ChatEvent::SecuritySet(_)
        | ChatEvent::ToolPolicySet(_)
        | ChatEvent::DirectoryGrantAdded(_)
        | ChatEvent::DirectoryGrantRemoved(_) => {}
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
                deleted: false,
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
        ChatEvent::BranchDeleted(deleted) => {
            if let Some(info) = state.branches.get_mut(&deleted.branch) {
                info.deleted = true;
            }
        }
        ChatEvent::ChatDeleted(_) => state.deleted = true,
    }
    Some(state)
}
