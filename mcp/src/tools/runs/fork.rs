//! Opening a new branch after a message, with a message that starts its first turn.

use scripta_actors::{BranchKey, Chat, ChatCommand, NewMessage};
use scripta_events::OperationId;
use scripta_events::domain::{BRANCH, BranchId, MessageId, RUN};
use uuid::Uuid;

use super::wait::{self, Submitted};
use super::{RunsArguments, branch_of, name_branch, stream_of, wait_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!(
    "Submit with mode Fork",
    required: ["text", "mode"],
    one_of: ["chatId", "branchId"],
    optional: ["fromMessageId", "title", "intent", "wait", "waitTimeoutMs"]
);

pub(super) async fn run(mut call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    SHAPE.check(&call.arguments)?;
    let from = branch_of(&call, arguments.chat_id, arguments.branch_id).await?;
    name_branch(&mut call, from);
    let operation = arguments.operation_id.unwrap_or(Id(OperationId::random().0));
    let meta = call.command(&SHAPE, Some(operation))?;
    let timeout = wait_of(&arguments);
    let id = MessageId(operation.0);
    let command = ChatCommand::Fork {
        branch: from.branch,
        from: arguments.from_message_id.map(|message| MessageId(message.0)),
        title: arguments.title,
        message: NewMessage {
            id,
            text: arguments.text.unwrap_or_default(),
            sender: call.caller.sender().clone(),
            intent: arguments.intent.map(Into::into),
        },
    };
    let executed = call.app.handle.execute::<Chat>(from.chat, command, meta).await;
    let done =
        executed.map_err(|error| Rejected::from_execute(error, |_| document(from, id, None)))?;
    let Some(branch) = stream_of(&done.receipt, BRANCH).map(BranchId) else {
        return Err(Rejected::refused("The receipt of this fork names no branch"));
    };
    let key = BranchKey { chat: from.chat, branch };
    let applied = Applied {
        replayed: done.receipt.replayed,
        phrase: "Forked a new branch and submitted the message there; its turn is running"
            .to_owned(),
        document: document(key, id, stream_of(&done.receipt, RUN)),
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

fn document(key: BranchKey, message: MessageId, run: Option<Uuid>) -> TurnView {
    TurnView {
        chat_id: Id(key.chat.0),
        branch_id: Id(key.branch.0),
        message_id: Some(Id(message.0)),
        run_id: run.map(Id),
        run: Some(RunProgress::of(RunStatusView::Running)),
    }
}
