//! What waits for a person, as callers see it.

use schemars::JsonSchema;
use scripta_projections::{BranchRow, BranchStatus, ChatRow, PauseReason};
use serde::Serialize;

use super::run::WaitingForView;
use super::{Id, Time};

/// A branch that doesn't go on without a person.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttentionView {
    /// The branch.
    id: Id,
    project_id: Id,
    chat_id: Id,
    branch_id: Id,
    /// The chat's title.
    title: String,
    /// The run that stopped or failed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<Id>,
    waiting_for: WaitingForView,
    /// How many messages wait in its queue.
    queued: u64,
    last_activity_at: Time,
}

impl AttentionView {
    /// `None` for a branch that needs nobody.
    pub(crate) fn of(chat: &ChatRow, branch: &BranchRow) -> Option<AttentionView> {
        let reason = branch.attention()?;
        let idle = branch.status() == BranchStatus::Idle;
        let waiting_for = match reason {
            PauseReason::Failed { reason } if idle => WaitingForView::failed_idle(&reason),
            reason => WaitingForView::from(&reason),
        };
        Some(AttentionView {
            id: Id(branch.id.0),
            project_id: Id(branch.project.0),
            chat_id: Id(branch.chat.0),
            branch_id: Id(branch.id.0),
            title: chat.title.clone(),
            run_id: branch.last.as_ref().map(|(run, _)| Id(run.0)),
            waiting_for,
            queued: branch.queue.len() as u64,
            last_activity_at: branch.last_activity.into(),
        })
    }
}
