//! `app_runs`.

mod aside;
mod clear_queue;
mod fork;
mod mark_read;
mod outgoing;
mod rebase;
mod remove_queued;
mod resume;
mod skip_failed;
mod stop;
mod submit;
mod update_queued;
mod wait;

use schemars::JsonSchema;
use scripta_actors::{BranchKey, BranchState, SubmitMode};
use scripta_events::Category;
use scripta_events::domain::{BranchId, ChatId};
use scripta_events::log::Receipt;
use serde::Deserialize;
use uuid::Uuid;

use super::Call;
use crate::arguments::typed;
use crate::result::{Outcome, Rejected, sentence_of};
use crate::scope::{self, ScopeError};
use crate::view::{Id, IntentView, RunProgress, TurnView};

pub(super) const DESCRIPTION: &str = "\
Submits messages to branches of chats, which a model answers, stops turns, goes on after them, and \
changes what is queued.\n\
Submit: text, chatId (its first branch) or branchId, mode?, onlyIfHead?, interactive?, intent?, \
resourceIds?, reviewIds?, wait?, waitTimeoutMs?; mode Enqueue waits for the turns before it, Interrupt \
stops the running turn and goes before what is queued, Reject is refused unless the branch is idle\n\
Submit with mode Aside: without onlyIfHead; starts no turn: a running turn reads it before its next \
model step, and nothing is waited for\n\
Submit with mode Fork: without onlyIfHead, with fromMessageId?, title?; opens a new branch after that message (the head \
unless given) and submits the text there; nothing is copied, the branches share the messages.\n\
Stop: branchId\n\
UpdateQueued: branchId, messageId, text; RemoveQueued: branchId, messageId; ClearQueue: branchId; only \
what has not started\n\
Resume: branchId; goes on with the turn that was stopped or failed last, in the same run\n\
SkipFailed: branchId; leaves the stopped or failed turn that paused the branch as it is, and starts \
the next queued message\n\
Rebase: branchId; starts the message that paused the branch because the head was not its onlyIfHead\n\
MarkRead: branchId, messageId?; up to that message, or all of it\n\
A branch runs one turn at a time and queues what comes meanwhile. With `wait` the answer comes when \
the turn has ended, or with its status of then after waitTimeoutMs; read the answer itself by \
app_read Messages. `document` names the chat, branch, message and run, and the run's status.";

/// Arguments of `app_runs`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunsArguments {
    /// What to do.
    operation: Operation,
    /// The chat, whose first branch is meant unless branchId is given. For Submit.
    chat_id: Option<Id>,
    /// The branch.
    branch_id: Option<Id>,
    /// The message. For UpdateQueued, RemoveQueued and MarkRead.
    message_id: Option<Id>,
    /// What the message says. For Submit and UpdateQueued.
    #[schemars(length(min = 1))]
    text: Option<String>,
    /// How it joins: Enqueue (the default) waits for the turns before it; Fork opens a new branch;
    /// Aside starts no turn; Interrupt stops the running turn; Reject is refused unless the branch
    /// is idle. For Submit.
    mode: Option<Mode>,
    /// The last message that the new branch shares; the head unless given. For Submit with mode
    /// Fork.
    from_message_id: Option<Id>,
    /// The new branch's title. For Submit with mode Fork.
    #[schemars(length(min = 1, max = 500))]
    title: Option<String>,
    /// The message that its author saw last: if another is the head when its turn comes, the branch
    /// pauses, and Rebase starts it. For Submit.
    only_if_head: Option<Id>,
    /// Whether somebody watches its turn; true unless given. For Submit.
    interactive: Option<bool>,
    /// Resources of the chat's project that the message refers to. For Submit.
    #[schemars(length(max = 100))]
    resource_ids: Option<Vec<Id>>,
    /// Reviews of the chat that the message is about: the model reads them as they are when it is
    /// asked. For Submit.
    #[schemars(length(max = 100))]
    review_ids: Option<Vec<Id>>,
    /// There are no presets yet: leave it out.
    preset_ids: Option<Vec<Id>>,
    /// What the message is meant as. For Submit.
    intent: Option<IntentView>,
    /// Whether to wait until the turn has ended. For Submit.
    wait: Option<bool>,
    /// How long to wait at most, in milliseconds; 60000 unless given. For Submit.
    #[schemars(range(min = 1_000, max = 600_000))]
    wait_timeout_ms: Option<u64>,
    /// Makes the call effect-once: a repeat with the same id answers what the first answered. A
    /// submitted message gets it as its id.
    operation_id: Option<Id>,
    /// Refused when true: nothing here has a dry run.
    #[serde(rename = "dryRun")]
    _dry_run: Option<bool>,
}

// What to do.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum Operation {
    Submit,
    Stop,
    UpdateQueued,
    RemoveQueued,
    ClearQueue,
    Resume,
    SkipFailed,
    Rebase,
    MarkRead,
}

// How a submitted message joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
enum Mode {
    #[default]
    Enqueue,
    Fork,
    Aside,
    Interrupt,
    Reject,
}

pub(super) async fn call(call: Call<'_>) -> Outcome<TurnView> {
    let arguments: RunsArguments = typed(&call.arguments)?;
    match (arguments.operation, arguments.mode.unwrap_or_default()) {
        (Operation::Submit, Mode::Enqueue) => {
            submit::run(call, arguments, SubmitMode::Enqueue).await
        }
        (Operation::Submit, Mode::Interrupt) => {
            submit::run(call, arguments, SubmitMode::Interrupt).await
        }
        (Operation::Submit, Mode::Reject) => submit::run(call, arguments, SubmitMode::Reject).await,
        (Operation::Submit, Mode::Aside) => aside::run(call, arguments).await,
        (Operation::Submit, Mode::Fork) => fork::run(call, arguments).await,
        (Operation::Stop, _) => stop::run(call, arguments).await,
        (Operation::UpdateQueued, _) => update_queued::run(call, arguments).await,
        (Operation::RemoveQueued, _) => remove_queued::run(call, arguments).await,
        (Operation::ClearQueue, _) => clear_queue::run(call, arguments).await,
        (Operation::Resume, _) => resume::run(call, arguments).await,
        (Operation::SkipFailed, _) => skip_failed::run(call, arguments).await,
        (Operation::Rebase, _) => rebase::run(call, arguments).await,
        (Operation::MarkRead, _) => mark_read::run(call, arguments).await,
    }
}

/// The branch that the arguments name, and its chat. A chat alone names its first branch.
async fn branch_of(
    call: &Call<'_>,
    chat: Option<Id>,
    branch: Option<Id>,
) -> Result<BranchKey, Rejected<TurnView>> {
    match (chat.map(|id| ChatId(id.0)), branch.map(|id| BranchId(id.0))) {
        (None, None) => Err(Rejected::refused("Give `chatId` or `branchId`")),
        (Some(chat), None) => Ok(BranchKey { chat, branch: chat.first_branch() }),
        (chat, Some(branch)) => {
            let row = scope::branch(call.app, chat, branch).await.map_err(not_there)?;
            Ok(BranchKey { chat: row.chat, branch })
        }
    }
}

/// The branch after a change of what waits in it, with where its turn stands.
fn queue_of(key: BranchKey, state: &BranchState) -> TurnView {
    let run = state.turn.map(|turn| Id(turn.run.0));
    TurnView { run_id: run, run: RunProgress::of_branch(state), ..TurnView::of(key) }
}

fn not_there(error: ScopeError) -> Rejected<TurnView> {
    Rejected::refused(sentence_of(&error))
}

/// What the operation wrote of this category: its receipt names the streams.
fn stream_of(receipt: &Receipt, category: Category) -> Option<Uuid> {
    let mut streams = receipt.streams.iter();
    streams.find(|(stream, _)| stream.category == category).map(|(stream, _)| stream.id)
}
