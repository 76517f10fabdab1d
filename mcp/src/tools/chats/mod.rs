//! `app_chats`.

mod create;
mod rename;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::view::{ChatView, Id};

pub(super) const DESCRIPTION: &str = "\
Makes and changes chats. A chat's first branch has the chat's own id.\n\
Create: projectId, title?, connectionId?, model?\n\
Rename: chatId, title, expectedRevision\n\
`expectedRevision` is the revision that you saw last; if somebody wrote since, nothing is changed and \
the answer has the status Conflict with the present document. The answer has the chat as `document`.";

/// Arguments of `app_chats`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatsArguments {
    /// What to do.
    operation: Operation,
    /// The project that the chat belongs to. For Create.
    project_id: Option<Id>,
    /// The chat. For Rename.
    chat_id: Option<Id>,
    /// The chat's title. For Create and Rename.
    #[schemars(length(min = 1, max = 500))]
    title: Option<String>,
    /// The connection to a model that the chat's turns use, such as builtin:demo; the default
    /// unless given. For Create.
    #[schemars(length(min = 1, max = 200))]
    connection_id: Option<String>,
    /// The model on that connection; the connection's own unless given. For Create.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
    /// The document's revision that you saw last. For Rename.
    expected_revision: Option<u64>,
    /// Makes the call effect-once: a repeat with the same id answers what the first answered.
    operation_id: Option<Id>,
    /// Refused when true: nothing here has a dry run.
    #[serde(rename = "dryRun")]
    _dry_run: Option<bool>,
}

// What to do.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum Operation {
    Create,
    Rename,
}

pub(super) async fn call(call: Call<'_>) -> Outcome<ChatView> {
    let arguments: ChatsArguments = typed(call.arguments.clone().into())?;
    match arguments.operation {
        Operation::Create => create::run(&call, arguments).await,
        Operation::Rename => rename::run(&call, arguments).await,
    }
}
