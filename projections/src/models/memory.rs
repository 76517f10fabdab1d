//! The read model of long-term memory.

use scripta_events::codec;
use scripta_events::domain::{MEMORY, MemoryCreated, MemoryEvent, MemoryId, ProjectId};
use scripta_events::log::Recorded;
use uuid::Uuid;

use super::keys::{Key, last_ids};
use super::{Model, inconsistent};
use crate::follower::ApplyError;
use crate::store::{Batch, Store};
use crate::{MemoryRow, QueryError};

/// `e` entry -> [`MemoryRow`], also of one that was deleted.
fn row_key(id: MemoryId) -> Vec<u8> {
    Key::of(b'e').id(id.0).done()
}

/// Stands for the workspace where a key has a project.
const WORKSPACE: Uuid = Uuid::nil();

fn owner(project: Option<ProjectId>) -> Uuid {
    project.map_or(WORKSPACE, |project| project.0)
}

/// The listings by creation: `a` of all, `s` of a project or the workspace.
fn listing_keys(row: &MemoryRow) -> [Vec<u8>; 2] {
    let (place, id) = (row.created_position.0, row.id.0);
    [
        Key::of(b'a').rising(place).id(id).done(),
        Key::of(b's').id(owner(row.project)).rising(place).id(id).done(),
    ]
}

/// `t` project or workspace, pinned or not, creation, entry -> nothing: what a turn is told.
fn told_key(row: &MemoryRow) -> Vec<u8> {
    let key = told_prefix(row.project, row.pinned);
    key.rising(row.created_position.0).id(row.id.0).done()
}

fn told_prefix(project: Option<ProjectId>, pinned: bool) -> Key {
    Key::of(b't').id(owner(project)).rising(u64::from(!pinned))
}

/// What events make of memory entries.
pub(crate) struct MemoryModel;

impl Model for MemoryModel {
    const NAME: &'static str = "memory";
    const VERSION: u32 = 1;

    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
        if event.stream.category != MEMORY {
            return Ok(());
        }
        let id = MemoryId(event.stream.id);
        let decoded = match codec::decode(event)? {
            MemoryEvent::MemoryCreated(created) => {
                create(batch, event, created);
                return Ok(());
            }
            other => other,
        };
        let Some(before) = batch.get::<MemoryRow>(&row_key(id))? else {
            return Err(inconsistent(event, format!("memory entry {id} was never made")));
        };
        let mut row = before.clone();
        row.revision = row.revision.saturating_add(1);
        row.updated_at = event.time;
        row.position = event.position;
        match decoded {
            // Handled before a row exists.
            MemoryEvent::MemoryCreated(_) => {}
            MemoryEvent::MemoryUpdated(updated) => {
                row.title = updated.title.unwrap_or(row.title);
                row.text = updated.text.unwrap_or(row.text);
                row.tags = updated.tags.unwrap_or(row.tags);
                row.pinned = updated.pinned.unwrap_or(row.pinned);
                if row.pinned != before.pinned {
                    batch.remove(told_key(&before));
                    batch.add(told_key(&row), ());
                }
            }
            MemoryEvent::MemoryDeleted(_) => {
                row.deleted = true;
                listing_keys(&before).into_iter().for_each(|key| batch.remove(key));
                batch.remove(told_key(&before));
                // What it said is in the log alone from here on.
                (row.title, row.text, row.tags) = (String::new(), String::new(), Vec::new());
            }
        }
        batch.put(row_key(id), row);
        Ok(())
    }
}

fn create(batch: &mut Batch<'_>, event: &Recorded, created: MemoryCreated) {
    let row = MemoryRow {
        id: created.memory,
        project: created.project,
        title: created.title,
        text: created.text,
        tags: created.tags,
        pinned: created.pinned,
        revision: 1,
        created_at: event.time,
        updated_at: event.time,
        deleted: false,
        created_position: event.position,
        position: event.position,
    };
    for key in listing_keys(&row) {
        batch.add(key, ());
    }
    batch.add(told_key(&row), ());
    batch.put(row_key(row.id), row);
}

/// Reads of the rows.
#[derive(Clone)]
pub(crate) struct Memory(pub(crate) Store);

impl Memory {
    pub(crate) fn get(&self, id: MemoryId) -> Result<Option<MemoryRow>, QueryError> {
        self.0.get(&row_key(id))
    }

    /// All entries, by creation.
    pub(crate) fn ids(&self) -> Result<Vec<MemoryId>, QueryError> {
        self.listed(&Key::of(b'a').done()).collect()
    }

    /// The entries of a project, or of the workspace, by creation.
    pub(crate) fn ids_of(&self, project: Option<ProjectId>) -> Result<Vec<MemoryId>, QueryError> {
        self.listed(&Key::of(b's').id(owner(project)).done()).collect()
    }

    /// The workspace's entries and those of a project, at most `limit`: the pinned first, then by
    /// creation, the workspace's before the project's.
    pub(crate) fn told(
        &self,
        project: ProjectId,
        limit: usize,
    ) -> Result<Vec<MemoryRow>, QueryError> {
        let mut rows = Vec::new();
        for pinned in [true, false] {
            for owner in [None, Some(project)] {
                let prefix = told_prefix(owner, pinned).done();
                for id in self.listed(&prefix).take(limit.saturating_sub(rows.len())) {
                    rows.extend(self.get(id?)?);
                }
            }
        }
        Ok(rows)
    }

    fn listed(&self, prefix: &[u8]) -> impl Iterator<Item = Result<MemoryId, QueryError>> {
        last_ids(&self.0, prefix, "an entry's").map(|id| id.map(MemoryId))
    }
}
