//! An entry of long-term memory, as callers see it.

use schemars::JsonSchema;
use scripta_actors::MemoryState;
use scripta_projections::MemoryRow;
use serde::{Deserialize, Serialize};

use super::{Id, Time};

/// An entry of long-term memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoryView {
    id: Id,
    scope: ScopeView,
    /// The project it belongs to; absent for one of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<Id>,
    title: String,
    text: String,
    tags: Vec<String>,
    /// Whether it stands before those that are not.
    pinned: bool,
    revision: u64,
    created_at: Time,
    updated_at: Time,
    /// There, and true, where it was deleted just now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
}

// Whose an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum ScopeView {
    Workspace,
    Project,
}

impl ScopeView {
    fn of<T>(project: &Option<T>) -> ScopeView {
        if project.is_some() { ScopeView::Project } else { ScopeView::Workspace }
    }
}

impl From<&MemoryState> for MemoryView {
    fn from(state: &MemoryState) -> MemoryView {
        MemoryView {
            id: Id(state.id.0),
            scope: ScopeView::of(&state.project),
            project_id: state.project.map(|project| Id(project.0)),
            title: state.title.clone(),
            text: state.text.clone(),
            tags: state.tags.clone(),
            pinned: state.pinned,
            revision: state.revision,
            created_at: state.created_at.into(),
            updated_at: state.updated_at.into(),
            deleted: state.deleted,
        }
    }
}

impl From<MemoryRow> for MemoryView {
    fn from(row: MemoryRow) -> MemoryView {
        MemoryView {
            id: Id(row.id.0),
            scope: ScopeView::of(&row.project),
            project_id: row.project.map(|project| Id(project.0)),
            title: row.title,
            text: row.text,
            tags: row.tags,
            pinned: row.pinned,
            revision: row.revision,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
            deleted: row.deleted,
        }
    }
}
