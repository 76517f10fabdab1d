//! A project, as callers see it.

use schemars::JsonSchema;
use scripta_actors::{Policies, ProjectState};
use scripta_events::domain::WorkspaceDocuments;
use scripta_projections::ProjectRow;
use serde::Serialize;

use super::{EffectivePolicyView, Id, SecurityView, Time};

/// A project.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectView {
    id: Id,
    name: String,
    /// Absolute paths.
    directories: Vec<String>,
    /// The connection of its chats that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_connection_id: Option<String>,
    revision: u64,
    created_at: Time,
    /// How many chats it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    chats: Option<u64>,
    /// The newest activity of its chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_activity_at: Option<Time>,
    /// Who may do what in it; only where one project is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<SecurityView>,
    /// What holds for tools in it, the project's word before what holds for all; only where one
    /// project is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_policies: Option<Vec<EffectivePolicyView>>,
    /// True once it was deleted; only in the answer to that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
}

impl ProjectView {
    /// One project, with who may do what in it.
    pub(crate) fn whole(row: ProjectRow, workspace: &WorkspaceDocuments) -> ProjectView {
        let policies = Policies { workspace, project: Some(&row.security), chat: None };
        let effective_policies = Some(EffectivePolicyView::all(&policies));
        let security = Some(SecurityView::of(row.id.0, &row.security, workspace));
        ProjectView { security, effective_policies, ..ProjectView::from(row) }
    }
}

impl From<&ProjectState> for ProjectView {
    fn from(state: &ProjectState) -> ProjectView {
        ProjectView {
            id: Id(state.id.0),
            name: state.name.clone(),
            directories: state.directories.clone(),
            default_connection_id: state.default_connection.as_ref().map(|it| it.0.clone()),
            revision: state.revision,
            created_at: state.created_at.into(),
            chats: None,
            last_activity_at: None,
            security: None,
            effective_policies: None,
            deleted: state.deleted,
        }
    }
}

impl From<ProjectRow> for ProjectView {
    fn from(row: ProjectRow) -> ProjectView {
        ProjectView {
            id: Id(row.id.0),
            name: row.name,
            directories: row.directories,
            default_connection_id: row.default_connection.map(|it| it.0),
            revision: row.revision,
            created_at: row.created_at.into(),
            chats: Some(row.chats),
            last_activity_at: Some(row.last_activity.into()),
            security: None,
            effective_policies: None,
            deleted: false,
        }
    }
}
