//! Runs and turns, as callers see them.

use schemars::JsonSchema;
use scripta_actors::{BranchKey, BranchState, BranchStatus, PauseReason};
use scripta_events::domain::TurnOutcome;
use scripta_projections::{RunRow, RunStatus};
use serde::Serialize;

use super::message::{SenderView, UsageView};
use super::{Id, Time};

/// A run: one turn of one branch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunView {
    id: Id,
    project_id: Id,
    chat_id: Id,
    branch_id: Id,
    /// The user message that it answers.
    message_id: Id,
    connection_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    submitter: SenderView,
    /// Whether somebody watches it.
    interactive: bool,
    status: RunStatusView,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The model step it is in, from 1; 0 before the first.
    step: u32,
    /// How many tools the model's last answer asked for.
    calls: u32,
    /// How many of those have a result.
    calls_finished: u32,
    /// The tool call that is going.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallView>,
    usage: UsageView,
    started_at: Time,
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
    /// The place of its last event in the log.
    position: u64,
}

/// A tool call of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct CallView {
    id: String,
    server: String,
    tool: String,
}

/// What became of a submitted message, or of a branch's turn.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnView {
    pub(crate) chat_id: Id,
    pub(crate) branch_id: Id,
    /// The message that the operation was about, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message_id: Option<Id>,
    /// The run that answers it; of the turn that is going, where the operation asks for no answer;
    /// absent while the message is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_id: Option<Id>,
    /// Where the turn stands; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunProgress>,
}

/// Where a turn stands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunProgress {
    pub(crate) status: RunStatusView,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What it needs a person for; absent while it needs nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting_for: Option<WaitingForView>,
}

/// What a run waits for a person for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct WaitingForView {
    kind: WaitingForKind,
    /// What it is and what ends it, for a person.
    text: String,
}

// What kind of decision a person makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum WaitingForKind {
    GoOn,
    Rebase,
}

// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum RunStatusView {
    Queued,
    Running,
    Stopped,
    Failed,
    Completed,
}

impl TurnView {
    /// A branch, with nothing said of a message or a run.
    pub(crate) fn of(branch: BranchKey) -> TurnView {
        TurnView {
            chat_id: Id(branch.chat.0),
            branch_id: Id(branch.branch.0),
            message_id: None,
            run_id: None,
            run: None,
        }
    }
}

impl RunProgress {
    pub(crate) fn of(status: RunStatusView) -> RunProgress {
        RunProgress { status, error: None, waiting_for: None }
    }

    pub(crate) fn failed(reason: String) -> RunProgress {
        let (status, error) = (RunStatusView::Failed, Some(reason));
        RunProgress { status, error, waiting_for: None }
    }

    /// The same, with what a person has to decide before the branch goes on.
    pub(crate) fn paused(self, reason: Option<&PauseReason>) -> RunProgress {
        RunProgress { waiting_for: reason.map(WaitingForView::from), ..self }
    }

    /// Where a branch stands, told by its present or last turn; `None` before the first, unless
    /// something waits for a person.
    pub(crate) fn of_branch(state: &BranchState) -> Option<RunProgress> {
        let progress = match (&state.turn, &state.last) {
            (Some(_), _) => Some(RunProgress::of(RunStatusView::Running)),
            (None, Some(TurnOutcome::Stopped)) => Some(RunProgress::of(RunStatusView::Stopped)),
            (None, Some(TurnOutcome::Completed)) => Some(RunProgress::of(RunStatusView::Completed)),
            (None, Some(TurnOutcome::Failed { reason })) => {
                Some(RunProgress::failed(reason.clone()))
            }
            (None, None) => None,
        };
        let BranchStatus::Paused { reason } = state.status() else { return progress };
        let queued = || RunProgress::of(RunStatusView::Queued);
        Some(progress.unwrap_or_else(queued).paused(Some(&reason)))
    }
}

impl WaitingForView {
    /// The last turn failed, and nothing is queued behind it.
    pub(crate) fn failed_idle(reason: &str) -> WaitingForView {
        let text = format!(
            "the last turn failed ({reason}): Resume goes on with it, or submit another message"
        );
        WaitingForView { kind: WaitingForKind::GoOn, text }
    }
}

impl From<&PauseReason> for WaitingForView {
    fn from(reason: &PauseReason) -> WaitingForView {
        let (kind, text) = match reason {
            PauseReason::Stopped => (
                WaitingForKind::GoOn,
                "the last turn was stopped: Resume goes on with it, SkipFailed with what is \
                 queued"
                    .to_owned(),
            ),
            PauseReason::Failed { reason } => (
                WaitingForKind::GoOn,
                format!(
                    "the last turn failed ({reason}): Resume goes on with it, SkipFailed with \
                     what is queued"
                ),
            ),
            PauseReason::NeedsRebase => (
                WaitingForKind::Rebase,
                "the next message was meant for another head: Rebase gives it the present one, \
                 RemoveQueued takes it out"
                    .to_owned(),
            ),
        };
        WaitingForView { kind, text }
    }
}

impl From<RunRow> for RunView {
    fn from(row: RunRow) -> RunView {
        let RunProgress { status, error, .. } = match row.status {
            RunStatus::Running => RunProgress::of(RunStatusView::Running),
            RunStatus::Completed => RunProgress::of(RunStatusView::Completed),
            RunStatus::Stopped => RunProgress::of(RunStatusView::Stopped),
            RunStatus::Failed { reason } => RunProgress::failed(reason),
        };
        let call =
            row.call.map(|call| CallView { id: call.id, server: call.server, tool: call.tool });
        RunView {
            id: Id(row.id.0),
            project_id: Id(row.project.0),
            chat_id: Id(row.chat.0),
            branch_id: Id(row.branch.0),
            message_id: Id(row.message.0),
            connection_id: row.connection.0,
            model: row.model,
            submitter: row.submitter.into(),
            interactive: row.interactive,
            status,
            error,
            step: row.step,
            calls: row.calls,
            calls_finished: row.calls_finished,
            call,
            usage: row.usage.into(),
            started_at: row.started_at.into(),
            updated_at: row.updated_at.into(),
            ended_at: row.ended_at.map(Time::from),
            position: row.position.0,
        }
    }
}
