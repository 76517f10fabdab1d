//! The read model of projects.

use scripta_events::codec;
use scripta_events::domain::{
    InstructionsReplaced, PROJECT, ProjectCreated, ProjectEvent, ProjectId, ProjectUpdated,
    SecurityDocument,
};
use scripta_events::log::Recorded;

use super::keys::{Key, last_ids};
use super::{Model, inconsistent, resources};
use crate::follower::ApplyError;
use crate::store::{Batch, Store};
use crate::{InstructionsRow, ProjectRow, QueryError};

/// `p` project -> [`ProjectRow`], without what its chats tell.
fn row_key(id: ProjectId) -> Vec<u8> {
    Key::of(b'p').id(id.0).done()
}

/// `n` name, project -> nothing: the listing.
fn name_key(name: &str, id: ProjectId) -> Vec<u8> {
    Key::of(b'n').text(name).id(id.0).done()
}

/// `i` project -> [`InstructionsRow`].
fn instructions_key(id: ProjectId) -> Vec<u8> {
    Key::of(b'i').id(id.0).done()
}

/// `x` project -> nothing: it was deleted.
fn gone_key(id: ProjectId) -> Vec<u8> {
    Key::of(b'x').id(id.0).done()
}

/// What events make of projects.
pub(crate) struct ProjectModel;

impl Model for ProjectModel {
    const NAME: &'static str = "projects";
    const VERSION: u32 = 5;

    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
        if event.stream.category != PROJECT {
            return Ok(());
        }
        let decoded: ProjectEvent = codec::decode(event)?;
        if let Some(fact) = decoded.security() {
            let mut row = row_of(batch, event)?;
            row.security.apply(fact);
            row.position = event.position;
            batch.put(row_key(row.id), row);
            return Ok(());
        }
        match decoded {
            // Folded above.
            ProjectEvent::SecuritySet(_)
            | ProjectEvent::ToolPolicySet(_)
            | ProjectEvent::DirectoryGrantAdded(_)
            | ProjectEvent::DirectoryGrantRemoved(_) => Ok(()),
            ProjectEvent::ProjectCreated(created) => {
                create(batch, event, created);
                Ok(())
            }
            ProjectEvent::ProjectUpdated(updated) => update(batch, event, updated),
            ProjectEvent::ResourceCreated(created) => {
                resources::create(batch, event, created);
                Ok(())
            }
            ProjectEvent::ResourceRetired(retired) => resources::retire(batch, event, retired),
            ProjectEvent::InstructionsReplaced(replaced) => {
                replace_instructions(batch, event, replaced)
            }
            ProjectEvent::ProjectDeleted(_) => delete(batch, event),
        }
    }
}

fn create(batch: &mut Batch<'_>, event: &Recorded, created: ProjectCreated) {
    let id = created.project;
    let row = ProjectRow {
        id,
        name: created.name,
        directories: created.directories,
        default_connection: None,
        security: SecurityDocument::default(),
        revision: 1,
        created_at: event.time,
        chats: 0,
        last_activity: event.time,
        position: event.position,
    };
    batch.add(name_key(&row.name, id), ());
    batch.put(row_key(id), row);
}

fn update(
    batch: &mut Batch<'_>,
    event: &Recorded,
    updated: ProjectUpdated,
) -> Result<(), ApplyError> {
    let mut row = row_of(batch, event)?;
    let name = updated.name.unwrap_or_else(|| row.name.clone());
    if name != row.name {
        batch.remove(name_key(&row.name, row.id));
        batch.add(name_key(&name, row.id), ());
        row.name = name;
    }
    row.directories = updated.directories.unwrap_or(row.directories);
    row.default_connection = updated.default_connection.unwrap_or(row.default_connection);
    row.revision = row.revision.saturating_add(1);
    row.position = event.position;
    batch.put(row_key(row.id), row);
    Ok(())
}

fn row_of(batch: &Batch<'_>, event: &Recorded) -> Result<ProjectRow, ApplyError> {
    let id = ProjectId(event.stream.id);
    let row = batch.get::<ProjectRow>(&row_key(id))?;
    row.ok_or_else(|| inconsistent(event, format!("project {id} was never made")))
}

/// Leaves nothing of it but that it was there; what belongs to it is found by it alone.
fn delete(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
    let row = row_of(batch, event)?;
    let id = row.id;
    batch.remove(name_key(&row.name, id));
    batch.remove(row_key(id));
    batch.remove(instructions_key(id));
    batch.put(gone_key(id), ());
    Ok(())
}

fn replace_instructions(
    batch: &mut Batch<'_>,
    event: &Recorded,
    replaced: InstructionsReplaced,
) -> Result<(), ApplyError> {
    let project = ProjectId(event.stream.id);
    let key = instructions_key(project);
    let before = batch.get::<InstructionsRow>(&key)?.map_or(0, |row| row.revision);
    let row = InstructionsRow {
        project,
        text: replaced.text,
        revision: before.saturating_add(1),
        updated_at: event.time,
        position: event.position,
    };
    batch.put(key, row);
    Ok(())
}

/// Reads of the rows.
#[derive(Clone)]
pub(crate) struct Projects(pub(crate) Store);

impl Projects {
    /// The row, without what its chats tell.
    pub(crate) fn get(&self, id: ProjectId) -> Result<Option<ProjectRow>, QueryError> {
        self.0.get_again(&row_key(id))
    }

    /// Whether it was there and was deleted.
    pub(crate) fn is_gone(&self, id: ProjectId) -> Result<bool, QueryError> {
        Ok(self.0.get::<()>(&gone_key(id))?.is_some())
    }

    pub(crate) fn instructions(
        &self,
        id: ProjectId,
    ) -> Result<Option<InstructionsRow>, QueryError> {
        self.0.get(&instructions_key(id))
    }

    pub(crate) fn ids(&self) -> Result<Vec<ProjectId>, QueryError> {
        last_ids(&self.0, b"n", "a name's").map(|id| id.map(ProjectId)).collect()
    }
}
