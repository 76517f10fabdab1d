//! Reads of chats, branches and messages.

use std::ops::RangeInclusive;

use scripta_events::domain::{BranchId, ChatId, Message, MessageId, ProjectId};
use scripta_events::{Position, Timestamp};

use super::{
    Place, branch_key, chat_key, listing, message_key, place_key, queued_key, total_key, untouched,
};
use crate::models::keys::{Key, first_and_last_id, last_id, last_ids, time_from_newest};
use crate::store::Store;
use crate::{BranchRow, ChatRow, MessageRow, QueryError};

/// A project with less than this part of all chats has its listing read from the tree: a key takes
/// about this many times as long there as in memory.
const FEW: u64 = 10;

/// Reads of the rows.
#[derive(Clone)]
pub(crate) struct Chats(pub(crate) Store);

/// A piece of a chain: what one branch wrote of it.
pub(crate) struct Piece {
    pub(crate) branch: BranchId,
    /// The numbers among the branch's own messages, from 1.
    pub(crate) numbers: RangeInclusive<u64>,
}

impl Chats {
    pub(crate) fn chat(&self, id: ChatId) -> Result<Option<ChatRow>, QueryError> {
        Ok(self.chat_row(id)?.filter(|row| !row.deleted))
    }

    /// The same, also of a chat that was deleted.
    pub(super) fn chat_row(&self, id: ChatId) -> Result<Option<ChatRow>, QueryError> {
        self.0.get_again(&chat_key(id))
    }

    /// The chats of a project, or all: pinned first, then by last activity, newest first.
    pub(crate) fn chat_ids(&self, project: Option<ProjectId>) -> Result<Vec<ChatId>, QueryError> {
        if let Some(project) = project {
            let (its, all) = (self.totals(project)?.0, self.0.across(|keys| keys.len())?);
            if its.saturating_mul(FEW) < all as u64 {
                let prefix = listing(project).done();
                return last_ids(&self.0, &prefix, "a chat's").map(|id| id.map(ChatId)).collect();
            }
        }
        self.0.across(|keys| {
            let of = keys.iter().filter(|(_, of)| project.is_none_or(|project| project.0 == **of));
            of.filter_map(|(rest, _)| last_id(rest).map(ChatId)).collect()
        })
    }

    /// How many chats a project has, and their newest activity.
    pub(crate) fn totals(
        &self,
        project: ProjectId,
    ) -> Result<(u64, Option<Timestamp>), QueryError> {
        let count = self.0.get::<u64>(&total_key(project))?.unwrap_or(0);
        let mut newest = None;
        for pinned in [true, false] {
            let prefix = listing(project).pinned(pinned).done();
            let first = self.0.keys(&prefix).next().transpose()?;
            let time = first.as_ref().and_then(|key| key.get(prefix.len()..)?.first_chunk::<8>());
            newest = newest.max(time.copied().map(time_from_newest));
        }
        Ok((count, newest))
    }

    pub(crate) fn branch(&self, id: BranchId) -> Result<Option<BranchRow>, QueryError> {
        match self.row(id)?.filter(|row| row.deleted.is_none()) {
            Some(row) if self.chat(row.chat)?.is_some() => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// The same, also of a branch that was deleted.
    pub(crate) fn row(&self, id: BranchId) -> Result<Option<BranchRow>, QueryError> {
        if let Some(row) = self.0.get_again(&branch_key(id))? {
            return Ok(Some(row));
        }
        Ok(self.chat_row(ChatId(id.0))?.as_ref().map(untouched))
    }

    /// The branches of a chat in the order they were opened.
    pub(crate) fn branches(&self, chat: ChatId) -> Result<Vec<BranchRow>, QueryError> {
        self.chat(chat)?.map_or(Ok(Vec::new()), |row| self.branches_of(&row))
    }

    /// The same of a chat that was read.
    pub(crate) fn branches_of(&self, chat: &ChatRow) -> Result<Vec<BranchRow>, QueryError> {
        // Most chats have no other than their first, which can't be deleted.
        if chat.branches == 1 {
            return Ok(self.row(chat.id.first_branch())?.into_iter().collect());
        }
        let rows = self.rows(chat.id)?.into_iter();
        Ok(rows.filter(|row| row.deleted.is_none()).collect())
    }

    /// The same with those that were deleted.
    pub(super) fn rows(&self, chat: ChatId) -> Result<Vec<BranchRow>, QueryError> {
        let mut rows = Vec::from_iter(self.row(chat.first_branch())?);
        for id in self.0.rows::<BranchId>(&Key::of(b'o').id(chat.0).done()) {
            rows.extend(self.row(id?)?);
        }
        Ok(rows)
    }

    /// What waits in a branch, in the order of the turns.
    pub(crate) fn queue(&self, branch: BranchId) -> Result<Vec<Message>, QueryError> {
        let ids = self.branch(branch)?.map(|row| row.queue).unwrap_or_default();
        let mut messages = Vec::with_capacity(ids.len());
        for id in ids {
            // One that left the queue between the two reads is not waiting.
            messages.extend(self.0.get::<Message>(&queued_key(branch, id))?);
        }
        Ok(messages)
    }

    pub(crate) fn message(&self, id: MessageId) -> Result<Option<MessageRow>, QueryError> {
        match self.0.get::<Place>(&place_key(id))? {
            Some(place) if !self.is_hidden(place)? => {
                self.0.get(&message_key(place.branch, place.number))
            }
            _ => Ok(None),
        }
    }

    /// The messages at these places of a chain, from 1, in order.
    pub(crate) fn messages(
        &self,
        branch: BranchId,
        places: RangeInclusive<u64>,
    ) -> Result<Vec<MessageRow>, QueryError> {
        let mut rows = Vec::new();
        if self.branch(branch)?.is_none() {
            return Ok(rows);
        }
        for piece in self.pieces(branch, places)? {
            let (first, last) = piece.numbers.into_inner();
            let from = message_key(piece.branch, first);
            let to = message_key(piece.branch, last);
            for row in self.0.range(from, to) {
                rows.push(row?);
            }
        }
        Ok(rows)
    }

    /// Each branch that wrote a part of a chain, from the root, with the position of the last
    /// message it shares; no bound for the branch itself.
    pub(crate) fn writers(
        &self,
        branch: BranchId,
    ) -> Result<Vec<(BranchId, Option<Position>)>, QueryError> {
        let mut writers = vec![];
        for piece in self.pieces(branch, 1..=u64::MAX)? {
            if piece.branch == branch {
                continue;
            }
            let last = message_key(piece.branch, *piece.numbers.end());
            let row = self.0.get::<MessageRow>(&last)?;
            let row = row.ok_or_else(|| self.0.malformed("a message of a chain is missing"))?;
            writers.push((piece.branch, Some(row.position)));
        }
        writers.push((branch, None));
        Ok(writers)
    }

    /// The pieces of a chain at these places, from the root. It goes up from branch to parent,
    /// and no further than the first place asks for.
    fn pieces(
        &self,
        branch: BranchId,
        places: RangeInclusive<u64>,
    ) -> Result<Vec<Piece>, QueryError> {
        let (first, mut last) = places.into_inner();
        let first = first.max(1);
        let mut pieces = Vec::new();
        let mut next = self.row(branch)?;
        while let Some(row) = next {
            last = last.min(row.chain_length());
            let from = first.max(row.inherited.saturating_add(1));
            if from <= last {
                let numbers = (from - row.inherited)..=(last - row.inherited);
                pieces.push(Piece { branch: row.id, numbers });
            }
            last = last.min(row.inherited);
            next = match row.fork {
                Some(fork) if first <= last => {
                    let parent = self.row(fork.parent)?;
                    Some(parent.ok_or_else(|| self.0.malformed("a parent branch is missing"))?)
                }
                _ => None,
            };
        }
        pieces.reverse();
        Ok(pieces)
    }

    /// Idle branches with a queue.
    pub(crate) fn waiting(&self) -> Result<Vec<(ChatId, BranchId)>, QueryError> {
        self.marked(b'w')
    }

    /// Branches that wait for a person, by the creation of their chats.
    pub(crate) fn held(&self) -> Result<Vec<(ChatId, BranchId)>, QueryError> {
        self.marked(b'h')
    }

    /// The branches that have a key of this kind, without those that were deleted.
    fn marked(&self, kind: u8) -> Result<Vec<(ChatId, BranchId)>, QueryError> {
        let mut waiting = Vec::new();
        for key in self.0.keys(&[kind]) {
            let key = key?;
            let both = first_and_last_id(&key);
            let (chat, branch) =
                both.ok_or_else(|| self.0.malformed("a branch's key is too short"))?;
            // What was deleted waits for nothing.
            if self.branch(BranchId(branch))?.is_some() {
                waiting.push((ChatId(chat), BranchId(branch)));
            }
        }
        Ok(waiting)
    }
}
