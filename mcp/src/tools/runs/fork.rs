//! Opening a new branch after a message, with a message that starts its first turn.

use scripta_actors::{BranchKey, Chat, ChatCommand};
use scripta_events::domain::{BRANCH, BranchId, MessageId, RUN};

use super::outgoing::Outgoing;
use super::wait::{self, Submitted};
use super::{RunsArguments, stream_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!(
    "Submit with mode Fork",
    required: ["text", "mode"],
    one_of: ["chatId", "branchId"],
    optional: [
        "fromMessageId", "title", "interactive", "intent", "resourceIds", "reviewIds", "presetIds",
        "wait", "waitTimeoutMs"
    ]
);

pub(super) async fn run(mut call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let Outgoing { branch: from, message, meta, wait } =
        Outgoing::new(&mut call, &SHAPE, &arguments).await?;
    let id = message.id;
    let command = ChatCommand::Fork {
        branch: from.branch,
        from: arguments.from_message_id.map(|message| MessageId(message.0)),
        title: arguments.title,
        message,
    };
    let executed = call.app.handle.execute::<Chat>(from.chat, command, meta).await;
    let done = executed.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(from)))?;
    let Some(branch) = stream_of(&done.receipt, BRANCH).map(BranchId) else {
        return Err(Rejected::refused("The receipt of this fork names no branch"));
    };
    let branch = BranchKey { chat: from.chat, branch };
    let phrase = "Forked a new branch and submitted the message there; its turn is running";
    let document = TurnView {
        message_id: Some(Id(id.0)),
        run_id: stream_of(&done.receipt, RUN).map(Id),
        run: Some(RunProgress::of(RunStatusView::Running)),
        ..TurnView::of(branch)
    };
    let applied = Applied::new(&done.receipt, phrase.to_owned(), document);
    wait::until_ended(&call, Submitted { branch, message: id, wait }, applied).await
}
