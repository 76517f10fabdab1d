//! A message that starts no turn.

use scripta_actors::{Branch, BranchCommand, SubmitMode};

use super::outgoing::Outgoing;
use super::submit::in_callers_words;
use super::{RunsArguments, queue_of};
use crate::arguments::Shape;
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{Id, TurnView};

const SHAPE: Shape = operation!(
    "Submit with mode Aside",
    required: ["text", "mode"],
    one_of: ["chatId", "branchId"],
    optional: [
        "interactive", "intent", "resourceIds", "reviewIds", "presetIds", "wait", "waitTimeoutMs"
    ]
);

/// Nothing is waited for, since no turn answers it.
pub(super) async fn run(mut call: Call<'_>, arguments: RunsArguments) -> Outcome<TurnView> {
    let Outgoing { branch, message, meta, .. } =
        Outgoing::new(&mut call, &SHAPE, &arguments).await?;
    let id = message.id;
    let command = BranchCommand::Submit { message, mode: SubmitMode::Aside, only_if_head: None };
    let executed = call.app.handle.execute::<Branch>(branch, command, meta).await;
    let done = executed.map_err(|error| {
        Rejected::from_execute(in_callers_words(error, branch), |_| TurnView::of(branch))
    })?;
    let phrase = if done.state.turn.is_some() {
        "Added the message; the running turn reads it before its next model step"
    } else {
        "Added the message to the history; no turn is running that would read it now"
    };
    let document = TurnView { message_id: Some(Id(id.0)), ..queue_of(branch, &done.state) };
    Ok(Applied::new(&done.receipt, phrase.to_owned(), document))
}
