//! Giving a queued message another text.

use scripta_actors::{Branch, BranchCommand};
use scripta_events::domain::MessageId;

use super::{RunsArguments, branch_of};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, RunProgress, RunStatusView, TurnView};

const SHAPE: Shape = operation!(
    "UpdateQueued",
    required: ["branchId", "messageId", "text"],
    one_of: [],
    optional: []
);

pub(super) async fn run(call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let key = branch_of(&call, None, arguments.branch_id).await?;
    let id = required(arguments.message_id, SHAPE.operation, "messageId")?;
    let text = required(arguments.text, SHAPE.operation, "text")?;
    let command = BranchCommand::UpdateQueued { message: MessageId(id.0), text };
    let updated = call.app.handle.execute::<Branch>(key, command, meta).await;
    let done = updated.map_err(|error| Rejected::from_execute(error, |_| TurnView::of(key)))?;
    let phrase = match done.receipt.events {
        0 => "The queued message said that already",
        _ => "Changed the queued message",
    };
    let paused = RunProgress::of_branch(&done.state).and_then(|branch| branch.waiting_for);
    let queued = RunProgress { waiting_for: paused, ..RunProgress::of(RunStatusView::Queued) };
    let document = TurnView { message_id: Some(Id(id.0)), run: Some(queued), ..TurnView::of(key) };
    Ok(Applied::new(&done.receipt, phrase.to_owned(), document))
}
