//! The read model of resources: in the tree of projects, whose events they are.

use scripta_events::domain::{ProjectId, ResourceCreated, ResourceId, ResourceRetired};
use scripta_events::log::Recorded;

use super::inconsistent;
use super::keys::{Key, last_ids};
use super::projects::Projects;
use crate::follower::ApplyError;
use crate::store::Batch;
use crate::{QueryError, ResourceRow};

/// `r` resource -> [`ResourceRow`].
fn row_key(id: ResourceId) -> Vec<u8> {
    Key::of(b'r').id(id.0).done()
}

/// The listings by creation: `e` of all, `o` of a project.
fn listing_keys(project: ProjectId, event: &Recorded, id: ResourceId) -> [Vec<u8>; 2] {
    let place = event.position.0;
    [
        Key::of(b'e').rising(place).id(id.0).done(),
        Key::of(b'o').id(project.0).rising(place).id(id.0).done(),
    ]
}

pub(super) fn create(batch: &mut Batch<'_>, event: &Recorded, created: ResourceCreated) {
    let (id, project) = (created.resource, ProjectId(event.stream.id));
    let row = ResourceRow {
        id,
        project,
        path: created.path,
        kind: created.kind,
        revision: 1,
        created_at: event.time,
        retired_at: None,
        position: event.position,
    };
    for key in listing_keys(project, event, id) {
        batch.add(key, ());
    }
    batch.put(row_key(id), row);
}

pub(super) fn retire(
    batch: &mut Batch<'_>,
    event: &Recorded,
    retired: ResourceRetired,
) -> Result<(), ApplyError> {
    let id = retired.resource;
    let Some(mut row) = batch.get::<ResourceRow>(&row_key(id))? else {
        return Err(inconsistent(event, format!("resource {id} was never made")));
    };
    row.revision = row.revision.saturating_add(1);
    row.retired_at = Some(event.time);
    row.position = event.position;
    batch.put(row_key(id), row);
    Ok(())
}

impl Projects {
    pub(crate) fn resource(&self, id: ResourceId) -> Result<Option<ResourceRow>, QueryError> {
        self.0.get(&row_key(id))
    }

    /// The resources of a project, or all, by creation, retired ones too.
    pub(crate) fn resource_ids(
        &self,
        project: Option<ProjectId>,
    ) -> Result<Vec<ResourceId>, QueryError> {
        let prefix = match project {
            Some(project) => Key::of(b'o').id(project.0).done(),
            None => Key::of(b'e').done(),
        };
        last_ids(&self.0, &prefix, "a resource's").map(|id| id.map(ResourceId)).collect()
    }
}
