//! A chat and its branches, as callers see them.

use schemars::JsonSchema;
use scripta_actors::{ChatState, Policies};
use scripta_events::domain::{BranchId, SecurityDocument, TurnOutcome, WorkspaceDocuments};
use scripta_projections::{BranchRow, BranchStatus, ChatRow, PauseReason};
use serde::Serialize;

use super::{EffectivePolicyView, Id, SecurityView, Time};

/// A chat, without its messages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatView {
    /// Its first branch has the same id.
    id: Id,
    project_id: Id,
    title: String,
    /// Absent: the default connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_id: Option<String>,
    /// Absent: the connection's own model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Pinned chats stand before the others.
    pinned: bool,
    /// Moves with the title, the pin, the connection and model, and the security; not with messages
    /// or forks.
    revision: u64,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_activity_at: Option<Time>,
    /// How many messages its branches wrote; a shared one counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<u64>,
    /// How many of its branches have a turn going.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_count: Option<u64>,
    /// Its branches, the first one first; only where one chat is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Vec<BranchView>>,
    /// What it says of tools and servers; only where one chat is read. Its revision is the chat's.
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<SecurityView>,
    /// What holds for tools in it: its own word, else its project's, else what holds for all; only
    /// where one chat is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_policies: Option<Vec<EffectivePolicyView>>,
    /// The branch that an operation was about; only in its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<BranchNameView>,
    /// True once it was deleted; only in the answer to that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
    /// Where it was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    imported_from: Option<SourceView>,
}

/// Where a conversation was imported from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct SourceView {
    /// The product's format.
    format: String,
    /// The conversation's id there.
    id: String,
}

/// A branch, as its chat knows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BranchNameView {
    id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The branch that wrote the last message it shares; absent for the first branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_branch_id: Option<Id>,
    /// The last message it shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_message_id: Option<Id>,
    /// True once it was deleted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deleted: bool,
}

/// A branch of a chat.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BranchView {
    id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The branch that wrote the last message it shares; absent for the first branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_branch_id: Option<Id>,
    /// The last message it shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    after_message_id: Option<Id>,
    /// How long its history is, shared messages included.
    messages: u64,
    /// The last message of its history.
    #[serde(skip_serializing_if = "Option::is_none")]
    head_message_id: Option<Id>,
    status: BranchStatusView,
    /// Why it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused_because: Option<String>,
    /// The run that is going.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<Id>,
    /// How many messages wait for their turn.
    queued: usize,
    /// What waits, in the order of the turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queue: Vec<Id>,
    /// How many messages of its history come after the last that was read; what was imported and
    /// what the person sends count as read.
    unread: u64,
    /// Why its last turn failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    created_at: Time,
    last_activity_at: Time,
}

// What a branch is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum BranchStatusView {
    Idle,
    Running,
    Paused,
}

impl From<&ChatState> for ChatView {
    fn from(state: &ChatState) -> ChatView {
        ChatView {
            id: Id(state.id.0),
            project_id: Id(state.project.0),
            title: state.title.clone(),
            connection_id: state.connection.as_ref().map(|connection| connection.0.clone()),
            model: state.model.clone(),
            pinned: state.pinned,
            revision: state.revision,
            created_at: state.created_at.into(),
            last_activity_at: None,
            messages: None,
            running: None,
            branch_count: None,
            branches: None,
            security: None,
            effective_policies: None,
            branch: None,
            deleted: state.deleted,
            imported_from: None,
        }
    }
}

impl From<ChatRow> for ChatView {
    fn from(row: ChatRow) -> ChatView {
        let source = row.source.map(|source| SourceView { format: source.format, id: source.id });
        ChatView {
            id: Id(row.id.0),
            project_id: Id(row.project.0),
            title: row.title,
            connection_id: row.connection.map(|connection| connection.0),
            model: row.model,
            pinned: row.pinned,
            revision: row.revision,
            created_at: row.created_at.into(),
            last_activity_at: Some(row.last_activity.into()),
            messages: Some(row.messages),
            running: Some(row.running),
            branch_count: Some(row.branches),
            branches: None,
            security: None,
            effective_policies: None,
            branch: None,
            deleted: false,
            imported_from: source,
        }
    }
}

impl ChatView {
    /// One chat, with its branches and what holds for tools in it.
    pub(crate) fn whole(
        row: ChatRow,
        branches: Vec<BranchRow>,
        project: Option<&SecurityDocument>,
        workspace: &WorkspaceDocuments,
    ) -> ChatView {
        let branches = branches.into_iter().map(BranchView::from).collect();
        let own = SecurityDocument { revision: row.revision, ..row.security.clone() };
        let chat = Some((&own, row.revision));
        let policies = Policies { workspace, project, chat };
        ChatView {
            branches: Some(branches),
            security: Some(SecurityView::of(row.id.0, &own, workspace)),
            effective_policies: Some(EffectivePolicyView::all(&policies)),
            ..ChatView::from(row)
        }
    }

    /// The chat with the one of its branches that an operation was about, if it was about one.
    pub(crate) fn about(self, state: &ChatState, branch: Option<BranchId>) -> ChatView {
        let known = branch.and_then(|id| Some((id, state.branches.get(&id)?)));
        let branch = known.map(|(id, info)| BranchNameView {
            id: Id(id.0),
            title: info.title.clone(),
            parent_branch_id: info.parent.map(|parent| Id(parent.0)),
            after_message_id: info.after.map(|message| Id(message.0)),
            deleted: info.deleted,
        });
        ChatView { branch, ..self }
    }
}

impl From<BranchRow> for BranchView {
    fn from(row: BranchRow) -> BranchView {
        let (status, paused_because, run) = match row.status() {
            BranchStatus::Idle => (BranchStatusView::Idle, None, None),
            BranchStatus::Running { run } => (BranchStatusView::Running, None, Some(Id(run.0))),
            BranchStatus::Paused { reason } => (BranchStatusView::Paused, Some(why(reason)), None),
        };
        BranchView {
            id: Id(row.id.0),
            parent_branch_id: row.fork.map(|fork| Id(fork.parent.0)),
            after_message_id: row.fork.and_then(|fork| fork.after).map(|message| Id(message.0)),
            messages: row.chain_length(),
            head_message_id: row.head.map(|message| Id(message.0)),
            status,
            paused_because,
            run_id: run,
            queued: row.queue.len(),
            queue: row.queue.iter().map(|message| Id(message.0)).collect(),
            unread: row.unread(),
            last_error: match row.last {
                Some((_, TurnOutcome::Failed { reason })) if run.is_none() => Some(reason),
                _ => None,
            },
            created_at: row.created_at.into(),
            last_activity_at: row.last_activity.into(),
            title: row.title,
        }
    }
}

fn why(reason: PauseReason) -> String {
    match reason {
        PauseReason::NeedsRebase => "its next message was meant for another head".to_owned(),
        PauseReason::Stopped => "its last turn was stopped".to_owned(),
        PauseReason::Failed { reason } => format!("its last turn failed: {reason}"),
    }
}
