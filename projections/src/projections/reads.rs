//! What can be asked of the read models.

use std::ops::RangeInclusive;

use scripta_events::domain::{
    BranchId, ChatId, MemoryId, Message, MessageId, ProjectId, ResourceId, ReviewId, RunId,
    SecurityDocument, WorkspaceDocuments,
};

use super::Projections;
use crate::search::Limits;
use crate::{
    BranchRow, ChatRow, InstructionsRow, Losses, MemoryRow, MessageRow, ProjectRow, QueryError,
    ResourceRow, ReviewRow, RunRow, SearchError, SearchKey, SearchPage, SearchQuery, Thing,
};

/// Idle branches with a queue, and runs that are not at rest.
pub type Unfinished = (Vec<(ChatId, BranchId)>, Vec<(ChatId, RunId)>);

impl Projections {
    /// The documents of the workspace, which are there from the start.
    ///
    /// # Errors
    ///
    /// [`QueryError`], as for every read below.
    pub fn workspace(&self) -> Result<WorkspaceDocuments, QueryError> {
        self.workspace.get()
    }

    /// A project.
    ///
    /// # Errors
    ///
    /// [`QueryError`], as for every read below.
    pub fn project(&self, id: ProjectId) -> Result<Option<ProjectRow>, QueryError> {
        let Some(mut row) = self.projects.get(id)? else {
            return Ok(None);
        };
        let (chats, newest) = self.chats.totals(id)?;
        row.chats = chats;
        row.last_activity = newest.unwrap_or(row.last_activity);
        Ok(Some(row))
    }

    /// What a project says of tools and servers; `None` if there is no such project.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn project_security(&self, id: ProjectId) -> Result<Option<SecurityDocument>, QueryError> {
        Ok(self.projects.get(id)?.map(|row| row.security))
    }

    /// The instructions of a project; `None` where nobody ever wrote any.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn instructions(&self, id: ProjectId) -> Result<Option<InstructionsRow>, QueryError> {
        self.projects.instructions(id)
    }

    /// All projects, by name without regard to case, then by id.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn project_ids(&self) -> Result<Vec<ProjectId>, QueryError> {
        self.projects.ids()
    }

    /// A chat.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat(&self, id: ChatId) -> Result<Option<ChatRow>, QueryError> {
        self.chats.chat(id)
    }

    /// The chats of a project, or all: pinned first, then by last activity, newest first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat_ids(&self, project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        self.chats.chat_ids(project)
    }

    /// A branch.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branch(&self, id: BranchId) -> Result<Option<BranchRow>, QueryError> {
        self.chats.branch(id)
    }

    /// The branches that wait for a person, by the creation of their chats.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn held_branches(&self) -> Result<Vec<BranchId>, QueryError> {
        Ok(self.chats.held()?.into_iter().map(|(_, branch)| branch).collect())
    }

    /// The branches of a chat, in the order they were opened: the first branch first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branches(&self, chat: ChatId) -> Result<Vec<BranchRow>, QueryError> {
        self.chats.branches(chat)
    }

    /// The branches of a chat that was read, in the order of their opening.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn branches_of(&self, chat: &ChatRow) -> Result<Vec<BranchRow>, QueryError> {
        self.chats.branches_of(chat)
    }

    /// The messages that wait in a branch, in the order of their turns.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn queue(&self, branch: BranchId) -> Result<Vec<Message>, QueryError> {
        self.chats.queue(branch)
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn run(&self, id: RunId) -> Result<Option<RunRow>, QueryError> {
        self.runs.get(id)
    }

    /// The runs that belong to all that is named, or all, newest first.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn run_ids(
        &self,
        project: Option<ProjectId>,
        chat: Option<ChatId>,
        branch: Option<BranchId>,
    ) -> Result<Vec<RunId>, QueryError> {
        self.runs.ids(project, chat, branch)
    }

    /// An entry of long-term memory, also one that was deleted.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory(&self, id: MemoryId) -> Result<Option<MemoryRow>, QueryError> {
        self.memory.get(id)
    }

    /// All entries of long-term memory, in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory_ids(&self) -> Result<Vec<MemoryId>, QueryError> {
        self.memory.ids()
    }

    /// The entries of a project, or with `None` of the workspace, in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory_ids_of(&self, project: Option<ProjectId>) -> Result<Vec<MemoryId>, QueryError> {
        self.memory.ids_of(project)
    }

    /// What a turn in a project is told of long-term memory, at most `limit` entries: the pinned
    /// first, of those the workspace's before the project's, then in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn memory_told(
        &self,
        project: ProjectId,
        limit: usize,
    ) -> Result<Vec<MemoryRow>, QueryError> {
        self.memory.told(project, limit)
    }

    /// A resource of a project, also one that is retired or whose project was deleted.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn resource(&self, id: ResourceId) -> Result<Option<ResourceRow>, QueryError> {
        self.projects.resource(id)
    }

    /// The resources of a project, or all, in the order they were made; retired ones too.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn resource_ids(&self, project: Option<ProjectId>) -> Result<Vec<ResourceId>, QueryError> {
        self.projects.resource_ids(project)
    }

    /// A review, also one whose chat was deleted.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn review(&self, id: ReviewId) -> Result<Option<ReviewRow>, QueryError> {
        self.reviews.get(id)
    }

    /// The reviews of a chat, in the order they were made.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn review_ids(&self, chat: ChatId) -> Result<Vec<ReviewId>, QueryError> {
        self.reviews.ids(chat)
    }

    /// How many messages the chain of a branch has, from the root to its head; 0 for a branch that
    /// is not known.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chain_length(&self, branch: BranchId) -> Result<u64, QueryError> {
        Ok(self.chats.branch(branch)?.map_or(0, |row| row.chain_length()))
    }

    /// The messages at these places of a branch's chain, in order; the first place is 1. Places that
    /// the chain doesn't have are left out.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn messages(
        &self,
        branch: BranchId,
        places: RangeInclusive<u64>,
    ) -> Result<Vec<MessageRow>, QueryError> {
        self.chats.messages(branch, places)
    }

    /// A message that joined a branch; not one that is queued.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn message(&self, id: MessageId) -> Result<Option<MessageRow>, QueryError> {
        self.chats.message(id)
    }

    /// Whether something was there and was deleted: then the reads of it find nothing.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn is_gone(&self, thing: Thing) -> Result<bool, QueryError> {
        match thing {
            Thing::Project(id) => self.projects.is_gone(id),
            Thing::Chat(id) => self.chats.chat_is_gone(id),
            Thing::Branch(id) => self.chats.branch_is_gone(id),
            Thing::Message(id) => self.chats.message_is_gone(id),
            Thing::Run(id) => self.runs.is_gone(id),
        }
    }

    /// The chat of a branch, also where one of them was deleted.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn chat_of(&self, branch: BranchId) -> Result<Option<ChatId>, QueryError> {
        Ok(self.chats.row(branch)?.map(|row| row.chat))
    }

    /// What deleting a project, a chat or a branch takes with it; nothing for anything else.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn losses(&self, thing: Thing) -> Result<Losses, QueryError> {
        match thing {
            Thing::Project(id) => self.chats.losses_of_project(id),
            Thing::Chat(id) => self.chats.losses_of_chat(id),
            Thing::Branch(id) => self.chats.losses_of_branch(id),
            Thing::Message(_) | Thing::Run(_) => Ok(Losses::default()),
        }
    }

    /// The chats of deleted projects, or of one, that are not deleted themselves yet: what a
    /// restart goes on with.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn unswept(&self, project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        self.chats.unswept(project)
    }

    /// Searches the messages. The page begins after `after` and has at most `limit` hits; it
    /// ends early after [`MAX_EXAMINED`](crate::MAX_EXAMINED) messages or
    /// [`page_time`](crate::Options::page_time).
    ///
    /// # Errors
    ///
    /// [`SearchError`], for a pattern that is refused, an unknown branch, or an index that can't be
    /// read.
    pub fn search(
        &self,
        query: &SearchQuery,
        after: Option<SearchKey>,
        limit: usize,
    ) -> Result<SearchPage, SearchError> {
        let limits = Limits { hits: limit.max(1), time: self.options.page_time };
        let search = self.search.as_ref().ok_or(SearchError::NotAsOf)?;
        search.page(query, after, limits, &self.projects, &self.chats)
    }

    /// What a restart must wake: idle branches with a queue, and runs that are not at rest.
    ///
    /// # Errors
    ///
    /// [`QueryError`].
    pub fn unfinished(&self) -> Result<Unfinished, QueryError> {
        Ok((self.chats.waiting()?, self.runs.unfinished()?))
    }
}
