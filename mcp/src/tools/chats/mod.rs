//! `app_chats`.

mod create;
mod delete;
mod delete_branch;
mod pin;
mod rename;
mod rename_branch;
mod set_endpoint;

use schemars::JsonSchema;
use scripta_actors::{Chat, ChatCommand, ChatState, CommandMeta, Done};
use scripta_events::domain::{BranchId, ChatId};
use scripta_projections::Thing;
use serde::Deserialize;

use super::Call;
use crate::arguments::typed;
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::scope::ScopeError;
use crate::view::{ChatView, Id};

pub(super) const DESCRIPTION: &str = "\
Makes and changes chats. A chat's first branch has the chat's own id.\n\
Create: projectId, title?, connectionId?, model?\n\
Rename: chatId, title, expectedRevision\n\
Pin: chatId, pinned, expectedRevision; pinned chats stand before the others\n\
SetEndpoint: chatId, connectionId, model?, expectedRevision; from the next turn on\n\
RenameBranch: branchId, title\n\
Delete: chatId, expectedRevision, dryRun?; stops what runs in it\n\
DeleteBranch: branchId, expectedRevision (the chat's), keepForks?, dryRun?; never the first branch, and \
one that others fork from only with keepForks, which lets them keep what they share\n\
Delete and DeleteBranch only tell what they would take (status Planned) unless dryRun is false. \
`expectedRevision` is the revision that you saw last; if somebody wrote since, nothing is changed and \
the answer has the status Conflict with the present document. The answer has the chat as `document`, and \
in it the `branch` where the operation is about one.";

/// Arguments of `app_chats`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatsArguments {
    /// What to do.
    operation: Operation,
    /// The project that the chat belongs to. For Create.
    project_id: Option<Id>,
    /// The chat. For Rename, Pin, SetEndpoint and Delete.
    chat_id: Option<Id>,
    /// The branch; a chat's first branch has the chat's id. For RenameBranch and
    /// DeleteBranch.
    branch_id: Option<Id>,
    /// The title. For Create, Rename and RenameBranch.
    #[schemars(length(min = 1, max = 500))]
    title: Option<String>,
    /// Whether the chat is to be pinned. For Pin.
    pinned: Option<bool>,
    /// The connection to a model that the chat's turns use, such as builtin:demo; for Create the
    /// default unless given. For Create and SetEndpoint.
    #[schemars(length(min = 1, max = 200))]
    connection_id: Option<String>,
    /// The model on that connection; the connection's own unless given. For Create and
    /// SetEndpoint.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
    /// Whether branches that fork from this one keep what they share; false unless given. For
    /// DeleteBranch.
    keep_forks: Option<bool>,
    /// The chat's revision that you saw last. For all but Create and RenameBranch.
    expected_revision: Option<u64>,
    /// Makes the call effect-once: a repeat with the same id answers what the first answered.
    operation_id: Option<Id>,
    /// Whether to tell only what would go; true unless given. For Delete and DeleteBranch: refused
    /// elsewhere when true.
    #[serde(rename = "dryRun")]
    _dry_run: Option<bool>,
}

// What to do.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum Operation {
    Create,
    Rename,
    Pin,
    SetEndpoint,
    RenameBranch,
    Delete,
    DeleteBranch,
}

pub(super) async fn call(call: Call<'_>) -> Outcome<ChatView> {
    let arguments: ChatsArguments = typed(&call.arguments)?;
    match arguments.operation {
        Operation::Create => create::run(&call, arguments).await,
        Operation::Rename => rename::run(&call, arguments).await,
        Operation::Pin => pin::run(&call, arguments).await,
        Operation::SetEndpoint => set_endpoint::run(&call, arguments).await,
        Operation::RenameBranch => rename_branch::run(&call, arguments).await,
        Operation::Delete => delete::run(&call, arguments).await,
        Operation::DeleteBranch => delete_branch::run(&call, arguments).await,
    }
}

/// What a command is about.
struct Target {
    chat: ChatId,
    /// The branch, where it is about one.
    branch: Option<BranchId>,
}

impl Target {
    fn chat(id: Id) -> Target {
        Target { chat: ChatId(id.0), branch: None }
    }
}

/// Has a chat carry a command out; `phrase` says what that came to.
async fn change(
    call: &Call<'_>,
    Target { chat, branch }: Target,
    command: ChatCommand,
    meta: CommandMeta,
    phrase: impl FnOnce(&Done<Chat>) -> String,
) -> Outcome<ChatView> {
    let view = |state: &ChatState| ChatView::from(state).about(state, branch);
    let executed = call.app.handle.execute::<Chat>(chat, command, meta).await;
    let done = executed.map_err(|error| Rejected::from_execute(error, view))?;
    let document = view(&done.state);
    Ok(Applied::new(&done.receipt, phrase(&done), document).at(done.state.revision))
}

/// Tells what a deletion would take. What would be refused is refused, and nothing is written.
async fn rehearse(
    call: &Call<'_>,
    Target { chat, branch }: Target,
    command: ChatCommand,
    thing: Thing,
) -> Outcome<ChatView> {
    let view = |state: &ChatState| ChatView::from(state).about(state, branch);
    let rehearsed = call.app.handle.rehearse::<Chat>(chat, command).await;
    let state = rehearsed.map_err(|error| Rejected::from_execute(error, view))?;
    let (effect, position) = call.effect(thing).await.map_err(not_there)?;
    let name = match branch {
        Some(branch) => branch_title(&state, branch),
        None => format!("chat '{}'", state.title),
    };
    let phrase = effect.phrase(&name);
    Ok(Applied::planned(phrase, view(&state), effect, position).at(state.revision))
}

/// A branch in a sentence.
fn branch_title(state: &ChatState, branch: BranchId) -> String {
    match state.branches.get(&branch).and_then(|info| info.title.as_ref()) {
        Some(title) => format!("branch '{title}'"),
        None => format!("branch {branch}"),
    }
}

fn not_there(error: ScopeError) -> Rejected<ChatView> {
    Rejected::refused(sentence_of(&error))
}
