//! Submitting a message to a branch, where it waits for the turns before it.

use scripta_actors::{
    Branch, BranchCommand, BranchKey, BranchState, BranchStatus, ExecuteError, Refusal, SubmitMode,
};
use scripta_events::domain::{MessageId, RUN};

use super::RunsArguments;
use super::outgoing::Outgoing;
use super::wait::{self, Submitted};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!(
    "Submit",
    required: ["text"],
    one_of: ["chatId", "branchId"],
    optional: [
        "mode", "onlyIfHead", "interactive", "intent", "resourceIds", "reviewIds", "presetIds",
        "wait", "waitTimeoutMs"
    ]
);

/// All modes but those that open a branch or start no turn.
pub(super) async fn run(
    mut call: Call<'_>,
    arguments: RunsArguments,
    mode: SubmitMode,
) -> Outcome<TurnView> {
    let Outgoing { branch, message, meta, wait } =
        Outgoing::new(&mut call, &SHAPE, &arguments).await?;
    if wait.is_some() {
        wait::refuse_own_branch(&call, branch)?;
    }
    let id = message.id;
    let only_if_head = arguments.only_if_head.map(|head| MessageId(head.0));
    let command = BranchCommand::Submit { message, mode, only_if_head };
    let executed = call.app.handle.execute::<Branch>(branch, command, meta).await;
    let done = executed.map_err(|error| {
        Rejected::from_execute(in_callers_words(error, branch), |state| document(branch, id, state))
    })?;
    let document = document(branch, id, &done.state);
    let mut phrase = phrase(&done.state, id);
    let ended = done.receipt.streams.iter().filter(|(stream, _)| stream.category == RUN).count();
    if mode == SubmitMode::Interrupt && ended > usize::from(document.run_id.is_some()) {
        phrase = format!("Stopped the running turn. {phrase}");
    }
    let applied = Applied::new(&done.receipt, phrase, document);
    wait::until_ended(&call, Submitted { branch, message: id, wait }, applied).await
}

/// Whoever named a chat that isn't there hears of the chat, not of its first branch.
pub(super) fn in_callers_words(
    error: ExecuteError<Branch>,
    key: BranchKey,
) -> ExecuteError<Branch> {
    match error {
        ExecuteError::Refused(Refusal::NotFound { id, .. }) if id == key.chat.0 => {
            Refusal::NotFound { what: "chat", id }.into()
        }
        ExecuteError::Refused(Refusal::Gone { id, .. }) if id == key.chat.0 => {
            Refusal::Gone { what: "chat", id }.into()
        }
        error => error,
    }
}

fn document(key: BranchKey, message: MessageId, state: &BranchState) -> TurnView {
    let run = state.runs.get(&message);
    let status = if run.is_some() { RunStatusView::Running } else { RunStatusView::Queued };
    let paused = match state.status() {
        BranchStatus::Paused { reason } if run.is_none() => Some(reason),
        _ => None,
    };
    TurnView {
        message_id: Some(Id(message.0)),
        run_id: run.map(|run| Id(run.0)),
        run: Some(RunProgress::of(status).paused(paused.as_ref())),
        ..TurnView::of(key)
    }
}

fn phrase(state: &BranchState, message: MessageId) -> String {
    if state.runs.contains_key(&message) {
        return "Submitted the message; its turn is running".to_owned();
    }
    let before = state.queue.iter().take_while(|queued| queued.message.id != message).count();
    let paused = match state.status() {
        BranchStatus::Paused { reason } => wait::paused(&reason),
        BranchStatus::Idle | BranchStatus::Running => "",
    };
    let behind = match before {
        0 if state.turn.is_none() => return format!("Queued the message{paused}"),
        0 => "the turn that is running".to_owned(),
        1 => "one other message".to_owned(),
        more => format!("{more} other messages"),
    };
    format!("Queued the message behind {behind}{paused}")
}
