//! Waiting for a submitted message's turn.

use std::time::Duration;

use scripta_actors::{BranchKey, PauseReason, Refusal, RunStatus, TurnStatus, WaitError};
use scripta_events::domain::MessageId;

use crate::result::{Applied, Outcome, Rejected};
use crate::tools::Call;
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

/// A message that was submitted, and how long its turn is waited for.
pub(super) struct Submitted {
    pub(super) branch: BranchKey,
    pub(super) message: MessageId,
    /// `None` not to wait.
    pub(super) wait: Option<Duration>,
}

/// How a sentence ends that tells of a queue in a paused branch.
pub(super) fn paused(reason: &PauseReason) -> &'static str {
    match reason {
        PauseReason::Stopped | PauseReason::Failed { .. } => {
            "; the branch is paused, since its last turn was stopped or failed: app_runs Resume \
             goes on with it, SkipFailed with what is queued"
        }
        PauseReason::NeedsRebase => {
            "; the branch is paused, since its next message was meant for another head: app_runs \
             Rebase gives it the present one, RemoveQueued takes it out"
        }
    }
}

/// A run that waits for its own branch would wait for itself.
pub(super) fn refuse_own_branch(call: &Call<'_>, key: BranchKey) -> Result<(), Rejected<TurnView>> {
    match call.caller.scope() {
        Some(run) if run.branch == key.branch => Err(Rejected::refused(
            "This run would wait for its own branch, whose next turn comes after it; leave `wait` \
             out",
        )),
        _ => Ok(()),
    }
}

/// Waits, where that was asked for, until the turn has ended or the time is over, and puts its
/// status into the answer. The message is accepted either way: that a status could not be had is
/// said, and is no refusal.
pub(super) async fn until_ended(
    call: &Call<'_>,
    submitted: Submitted,
    mut applied: Applied<TurnView>,
) -> Outcome<TurnView> {
    let Submitted { branch, message, wait } = submitted;
    let Some(timeout) = wait else { return Ok(applied) };
    let waited = call.app.handle.wait_for_turn(branch, message, timeout);
    let status = tokio::select! {
        biased;
        () = call.cancel.cancelled() => return Ok(applied),
        status = waited => status,
    };
    match status {
        Ok(status) => {
            applied.phrase = phrase(&status, timeout);
            applied.document.run_id = status.run.map(|run| Id(run.0));
            let progress = progress(status.status).paused(status.paused.as_ref());
            applied.document.run = Some(progress);
        }
        Err(WaitError::Refused(Refusal::NotFound { id, .. })) if id == message.0 => {
            applied.phrase =
                "Submitted the message; it was taken out of the queue before its turn".to_owned();
            applied.document.run = None;
        }
        Err(error) => {
            let why = crate::result::sentence_of(&error);
            applied.phrase = format!("Submitted the message, but its turn can't be watched: {why}");
        }
    }
    Ok(applied)
}

/// A turn's status, as callers see it.
pub(super) fn progress(status: RunStatus) -> RunProgress {
    match status {
        RunStatus::Queued => RunProgress::of(RunStatusView::Queued),
        RunStatus::Running => RunProgress::of(RunStatusView::Running),
        RunStatus::Stopped => RunProgress::of(RunStatusView::Stopped),
        RunStatus::Completed => RunProgress::of(RunStatusView::Completed),
        RunStatus::Failed { reason } => RunProgress::failed(reason),
    }
}

fn phrase(status: &TurnStatus, timeout: Duration) -> String {
    let seconds = timeout.as_secs_f32();
    match &status.status {
        RunStatus::Queued if status.paused.is_some() => {
            let why = status.paused.as_ref().map_or("", paused);
            format!("Queued the message{why}")
        }
        RunStatus::Queued => {
            format!("Queued the message; its turn has not started after {seconds} s")
        }
        RunStatus::Running => {
            format!("Submitted the message; its turn is still running after {seconds} s")
        }
        RunStatus::Stopped => "Submitted the message; its turn was stopped".to_owned(),
        RunStatus::Completed => "Submitted the message; its turn has completed".to_owned(),
        RunStatus::Failed { reason } => {
            format!("Submitted the message; its turn failed: {reason}")
        }
    }
}
