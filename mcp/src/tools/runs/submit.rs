//! Submitting a message to a branch, where it waits for the turns before it.

use scripta_actors::{
    Branch, BranchCommand, BranchKey, BranchState, ExecuteError, NewMessage, Refusal,
};
use scripta_events::OperationId;
use scripta_events::domain::MessageId;

use super::wait::{self, Submitted};
use super::{RunsArguments, branch_of, name_branch, wait_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!(
    "Submit",
    required: ["text"],
    one_of: ["chatId", "branchId"],
    optional: ["mode", "intent", "wait", "waitTimeoutMs"]
);

pub(super) async fn run(mut call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    SHAPE.check(&call.arguments)?;
    let key = branch_of(&call, arguments.chat_id, arguments.branch_id).await?;
    name_branch(&mut call, key);
    let operation = arguments.operation_id.unwrap_or(Id(OperationId::random().0));
    let meta = call.command(&SHAPE, Some(operation))?;
    let timeout = wait_of(&arguments);
    if timeout.is_some() {
        wait::refuse_own_branch(&call, key)?;
    }
    let message = NewMessage {
        id: MessageId(operation.0),
        text: arguments.text.unwrap_or_default(),
        sender: call.caller.sender().clone(),
        intent: arguments.intent.map(Into::into),
    };
    let id = message.id;
    let command = BranchCommand::Submit { message };
    let executed = call.app.handle.execute::<Branch>(key, command, meta).await;
    let done = executed.map_err(|error| {
        Rejected::from_execute(in_callers_words(error, key), |state| document(key, id, state))
    })?;
    let document = document(key, id, &done.state);
    let before = done.state.queue.iter().take_while(|queued| queued.id != id).count();
    let phrase = match document.run_id {
        Some(_) => "Submitted the message; its turn is running".to_owned(),
        None => format!("Queued the message behind {}", turns(before)),
    };
    let applied = Applied {
        replayed: done.receipt.replayed,
        phrase,
        document,
        revision: None,
        position: done.receipt.position.0,
    };
    match timeout {
        None => Ok(applied),
        Some(timeout) => {
            wait::until_ended(&call, Submitted { branch: key, message: id, timeout }, applied).await
        }
    }
}

/// Whoever named a chat that isn't there hears of the chat, not of its first branch.
fn in_callers_words(error: ExecuteError<Branch>, key: BranchKey) -> ExecuteError<Branch> {
    match error {
        ExecuteError::Refused(Refusal::NotFound { id, .. }) if id == key.chat.0 => {
            Refusal::NotFound { what: "chat", id }.into()
        }
        error => error,
    }
}

fn document(key: BranchKey, message: MessageId, state: &BranchState) -> TurnView {
    let run = state.runs.get(&message);
    let status = if run.is_some() { RunStatusView::Running } else { RunStatusView::Queued };
    TurnView {
        chat_id: Id(key.chat.0),
        branch_id: Id(key.branch.0),
        message_id: Some(Id(message.0)),
        run_id: run.map(|run| Id(run.0)),
        run: Some(RunProgress::of(status)),
    }
}

fn turns(queued: usize) -> String {
    match queued {
        0 => "the turn that is running".to_owned(),
        1 => "one other message".to_owned(),
        more => format!("{more} other messages"),
    }
}
