//! What deletions leave of chats and branches. Rows stay where an id must tell that it is gone, and
//! where other branches keep messages; listings and counts are as if they had never been.

use std::collections::HashMap;

use scripta_events::codec;
use scripta_events::domain::{BranchId, ChatId, ProjectEvent, ProjectId};
use scripta_events::log::Recorded;

use super::{
    branch_key, change_chat, chat_key, gone_key, listing, listing_key, opened, total_key,
    unswept_key,
};
use crate::follower::ApplyError;
use crate::models::inconsistent;
use crate::models::keys::{Key, last_id};
use crate::store::Batch;
use crate::{BranchRow, ChatRow};

/// A project was deleted: its chats are gone at once, before the sweep comes to them.
pub(super) fn project(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
    let ProjectEvent::ProjectDeleted(_) = codec::decode(event)? else { return Ok(()) };
    let project = ProjectId(event.stream.id);
    batch.put(gone_key(project), ());
    for key in batch.keys(&listing(project).done())? {
        let chat = last_id(&key).map(ChatId);
        let chat = chat.ok_or_else(|| inconsistent(event, "a chat's key is too short"))?;
        hide(batch, event, chat)?;
        batch.put(unswept_key(project, chat), ());
    }
    Ok(())
}

/// A chat was deleted.
pub(super) fn chat(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
    let chat = ChatId(event.stream.id);
    let project = hide(batch, event, chat)?;
    batch.remove(unswept_key(project, chat));
    Ok(())
}

/// Takes a chat out of the listings and counts, and tells its project.
fn hide(batch: &mut Batch<'_>, event: &Recorded, chat: ChatId) -> Result<ProjectId, ApplyError> {
    let row = batch.get::<ChatRow>(&chat_key(chat))?;
    let mut row = row.ok_or_else(|| inconsistent(event, format!("chat {chat} was never made")))?;
    let project = row.project;
    if !row.deleted {
        batch.remove(listing_key(&row));
        let total = batch.get::<u64>(&total_key(project))?.unwrap_or(0);
        batch.put(total_key(project), total.saturating_sub(1));
        row.deleted = true;
        row.position = event.position;
        batch.put(chat_key(chat), row);
    }
    Ok(project)
}

/// A branch was deleted. Its turn, if one was running, ends in the same commit.
pub(super) fn branch(
    batch: &mut Batch<'_>,
    event: &Recorded,
    branch: BranchId,
) -> Result<(), ApplyError> {
    let mut row = opened(batch, event, branch)?;
    row.deleted = Some(0);
    batch.put(branch_key(branch), row);
    let mut rows = vec![opened(batch, event, ChatId(event.stream.id).first_branch())?];
    for key in batch.keys(&Key::of(b'o').id(event.stream.id).done())? {
        if let Some(id) = batch.get::<BranchId>(&key)? {
            rows.push(opened(batch, event, id)?);
        }
    }
    let kept = kept(&rows);
    let mut messages = 0_u64;
    for row in &mut rows {
        messages = messages.saturating_add(shown(row, &kept));
        let left = row.deleted.map(|_| shown(row, &kept));
        if row.deleted != left {
            row.deleted = left;
            batch.put(branch_key(row.id), row.clone());
        }
    }
    change_chat(batch, event, event.stream.id, |chat| {
        chat.branches = chat.branches.saturating_sub(1);
        chat.messages = messages;
    })
}

/// How many of each branch's own messages, from the first, the branches that are there share.
pub(super) fn kept(rows: &[BranchRow]) -> HashMap<BranchId, u64> {
    let by_id: HashMap<BranchId, &BranchRow> = rows.iter().map(|row| (row.id, row)).collect();
    let mut kept = HashMap::new();
    for row in rows.iter().filter(|row| row.deleted.is_none()) {
        let mut fork = row.fork.filter(|fork| fork.after.is_some());
        while let Some(point) = fork {
            let known = kept.insert(point.parent, point.own_messages);
            if let Some(known) = known {
                // Whoever came here before went on upwards from here.
                kept.insert(point.parent, point.own_messages.max(known));
                break;
            }
            let parent = by_id.get(&point.parent);
            fork = parent.and_then(|row| row.fork).filter(|fork| fork.after.is_some());
        }
    }
    kept
}

/// How many of a branch's own messages are shown somewhere.
pub(super) fn shown(row: &BranchRow, kept: &HashMap<BranchId, u64>) -> u64 {
    match row.deleted {
        None => row.own,
        Some(_) => kept.get(&row.id).copied().unwrap_or(0).min(row.own),
    }
}
