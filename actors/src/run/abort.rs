//! Ending a run before its model is done: by a stop or a failure.

use scripta_events::Timestamp;
use scripta_events::domain::{
    BranchEvent, Message, MessageAppended, MessageId, MessageStatus, RunEvent, RunFailed,
    RunStopped, ToolCallFinished, TurnEnded, TurnOutcome,
};

use super::answered::{answer_of, parts};
use super::call_finished::result;
use super::{CallState, RunState};
use crate::{Ids, Partial, ToolOutcome};

/// What ends a run, in its stream and in its branch's.
pub(crate) struct Aborted {
    pub(crate) run: Vec<RunEvent>,
    pub(crate) branch: Vec<BranchEvent>,
}

/// Keeps what there is of the answer, gives every open tool call a result, and ends the turn.
pub(crate) fn abort(
    state: &RunState,
    outcome: TurnOutcome,
    partial: Option<&Partial>,
    now: Timestamp,
    ids: &mut Ids,
) -> Aborted {
    let mut over = Aborted { run: vec![], branch: vec![] };
    if let Some(partial) = partial.filter(|partial| state.awaits_answer(partial.step)) {
        over.branch.extend(keep(state, &outcome, partial, now, ids));
    }
    for (index, open) in state.open_calls() {
        let id = MessageId(ids.take());
        let message = result(state, open, &not_run(open, &outcome), id, now);
        over.branch.push(MessageAppended { message }.into());
        let finished = ToolCallFinished { step: state.step, index, message: id, is_error: true };
        over.run.push(finished.into());
    }
    over.run.push(match &outcome {
        TurnOutcome::Failed { reason } => RunFailed { reason: reason.clone() }.into(),
        _ => RunStopped {}.into(),
    });
    over.branch.push(TurnEnded { run: state.id, outcome }.into());
    over
}

/// The unfinished answer as a message, if it says anything. Tool calls of an unfinished answer
/// are left out: nobody is going to make them.
fn keep(
    state: &RunState,
    outcome: &TurnOutcome,
    partial: &Partial,
    now: Timestamp,
    ids: &mut Ids,
) -> Option<BranchEvent> {
    let parts = parts(&partial.reasoning, &partial.text);
    if parts.is_empty() {
        return None;
    }
    let status = match outcome {
        TurnOutcome::Failed { .. } => MessageStatus::Failed,
        _ => MessageStatus::Stopped,
    };
    let whole = answer_of(state, MessageId(ids.take()), parts, now);
    let message = Message { status, ..whole };
    Some(MessageAppended { message }.into())
}

fn not_run(open: &CallState, outcome: &TurnOutcome) -> ToolOutcome {
    let why = match outcome {
        TurnOutcome::Failed { reason } => format!("the run failed: {reason}"),
        _ => "the run was stopped".to_owned(),
    };
    ToolOutcome::error(if open.started {
        format!("interrupted before it answered, it may have taken effect: {why}")
    } else {
        format!("not run: {why}")
    })
}
