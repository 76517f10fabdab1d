//! Reads of what was deleted, and of what a deletion would take.

use scripta_events::domain::{BranchId, ChatId, MessageId, ProjectId};

use super::delete::{kept, shown};
use super::{Chats, Place, place_key};
use crate::models::keys::{Key, last_ids};
use crate::{BranchRow, Losses, QueryError};

impl Chats {
    /// Whether the chat was there and was deleted.
    pub(crate) fn chat_is_gone(&self, id: ChatId) -> Result<bool, QueryError> {
        Ok(self.chat_row(id)?.is_some_and(|row| row.deleted))
    }

    /// Whether the branch was there and was deleted, by itself or with its chat.
    pub(crate) fn branch_is_gone(&self, id: BranchId) -> Result<bool, QueryError> {
        match self.row(id)? {
            Some(row) => Ok(row.deleted.is_some() || self.chat_is_gone(row.chat)?),
            None => Ok(false),
        }
    }

    /// Whether the message joined a branch, and nobody has it any more.
    pub(crate) fn message_is_gone(&self, id: MessageId) -> Result<bool, QueryError> {
        match self.place(id)? {
            Some(place) => self.is_hidden(place),
            None => Ok(false),
        }
    }

    /// Whether nothing shows the message that is kept there.
    pub(super) fn is_hidden(&self, place: Place) -> Result<bool, QueryError> {
        let Some(row) = self.row(place.branch)? else { return Ok(false) };
        if self.chat_is_gone(row.chat)? {
            return Ok(true);
        }
        Ok(row.deleted.is_some_and(|kept| place.number > kept))
    }

    /// A branch that is there and has the message: the one that wrote it or, where that was
    /// deleted, `wanted` or the first that keeps it.
    pub(crate) fn keeper(
        &self,
        writer: BranchId,
        message: MessageId,
        wanted: Option<BranchId>,
    ) -> Result<Option<BranchRow>, QueryError> {
        let Some(row) = self.row(writer)? else { return Ok(None) };
        let (Some(_), Some(place)) = (row.deleted, self.place(message)?) else {
            return Ok(Some(row));
        };
        if let Some(wanted) = wanted {
            return self.branch(wanted);
        }
        for branch in self.branches(row.chat)? {
            let mut fork = branch.fork;
            while let Some(point) = fork.filter(|point| point.after.is_some()) {
                if point.parent == writer && point.own_messages >= place.number {
                    return Ok(Some(branch));
                }
                fork = self.row(point.parent)?.and_then(|row| row.fork);
            }
        }
        Ok(None)
    }

    /// What goes with the chat.
    pub(crate) fn losses_of_chat(&self, id: ChatId) -> Result<Losses, QueryError> {
        let Some(row) = self.chat(id)? else { return Ok(Losses::default()) };
        let queued = self.branches(id)?.iter().map(|row| row.queue.len() as u64).sum();
        let (branches, messages, running) = (row.branches, row.messages, row.running);
        Ok(Losses { chats: 1, branches, messages, queued, running })
    }

    /// What goes with the project.
    pub(crate) fn losses_of_project(&self, id: ProjectId) -> Result<Losses, QueryError> {
        let mut all = Losses::default();
        for chat in self.chat_ids(Some(id))? {
            let one = self.losses_of_chat(chat)?;
            all.chats += one.chats;
            all.branches += one.branches;
            all.messages += one.messages;
            all.queued += one.queued;
            all.running += one.running;
        }
        Ok(all)
    }

    /// What goes with the branch; what other branches keep does not.
    pub(crate) fn losses_of_branch(&self, id: BranchId) -> Result<Losses, QueryError> {
        let Some(row) = self.branch(id)? else { return Ok(Losses::default()) };
        let mut rows = self.rows(row.chat)?;
        let total = |rows: &[BranchRow]| {
            let kept = kept(rows);
            rows.iter().map(|row| shown(row, &kept)).sum::<u64>()
        };
        let before = total(&rows);
        rows.iter_mut().filter(|row| row.id == id).for_each(|row| row.deleted = Some(0));
        let messages = before.saturating_sub(total(&rows));
        let running = u64::from(row.turn.is_some());
        Ok(Losses { chats: 0, branches: 1, messages, queued: row.queue.len() as u64, running })
    }

    /// The chats of deleted projects, or of one, that have no event yet that deletes them.
    pub(crate) fn unswept(&self, project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        let prefix = project.map_or(Key::of(b's'), |project| Key::of(b's').id(project.0)).done();
        last_ids(&self.0, &prefix, "a chat's").map(|id| id.map(ChatId)).collect()
    }

    fn place(&self, id: MessageId) -> Result<Option<Place>, QueryError> {
        self.0.get(&place_key(id))
    }
}
