//! A reference to a file or a directory, as callers see it.

use schemars::JsonSchema;
use scripta_actors::ResourceState;
use scripta_events::domain::{ProjectId, ResourceKind};
use scripta_projections::ResourceRow;
use serde::{Deserialize, Serialize};

use super::{Id, Time};

/// A reference to a file or a directory; never its contents.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceView {
    id: Id,
    project_id: Id,
    /// Absolute, without links and detours.
    path: String,
    kind: ResourceKindView,
    /// Whether it was retired: it stays readable where it was attached, and is attached no more.
    retired: bool,
    revision: u64,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    retired_at: Option<Time>,
}

// What a resource refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum ResourceKindView {
    File,
    Directory,
}

impl ResourceView {
    /// A resource of this project.
    pub(crate) fn of(project: ProjectId, state: &ResourceState) -> ResourceView {
        ResourceView {
            id: Id(state.id.0),
            project_id: Id(project.0),
            path: state.path.clone(),
            kind: state.kind.into(),
            retired: state.is_retired(),
            revision: state.revision,
            created_at: state.created_at.into(),
            retired_at: state.retired_at.map(Time::from),
        }
    }
}

impl From<ResourceRow> for ResourceView {
    fn from(row: ResourceRow) -> ResourceView {
        ResourceView {
            id: Id(row.id.0),
            project_id: Id(row.project.0),
            path: row.path,
            kind: row.kind.into(),
            retired: row.retired_at.is_some(),
            revision: row.revision,
            created_at: row.created_at.into(),
            retired_at: row.retired_at.map(Time::from),
        }
    }
}

impl From<ResourceKind> for ResourceKindView {
    fn from(kind: ResourceKind) -> ResourceKindView {
        match kind {
            ResourceKind::File => ResourceKindView::File,
            ResourceKind::Directory => ResourceKindView::Directory,
        }
    }
}

impl From<ResourceKindView> for ResourceKind {
    fn from(kind: ResourceKindView) -> ResourceKind {
        match kind {
            ResourceKindView::File => ResourceKind::File,
            ResourceKindView::Directory => ResourceKind::Directory,
        }
    }
}
