//! `app_memory`.

mod create;
mod delete;
mod update;

use schemars::JsonSchema;
use scripta_actors::MemoryKey;
use scripta_events::domain::MemoryId;
use serde::Deserialize;

use super::Call;
use crate::arguments::typed;
use crate::result::{Outcome, Rejected, sentence_of};
use crate::scope;
use crate::view::{Id, MemoryView, ScopeView};

pub(super) const DESCRIPTION: &str = "\
Writes long-term memory: entries that every later turn begins with, the pinned first, as far as there \
is room. An entry belongs to the whole workspace or to one project.\n\
Create: scope (Workspace, Project), projectId? (for Project), title, text, tags?, pinned?\n\
Update: memoryId, title?, text?, tags?, pinned?, expectedRevision; what is left out stays\n\
Delete: memoryId, expectedRevision\n\
`expectedRevision` is the revision that you saw last; if somebody wrote since, nothing is changed and \
the answer has the status Conflict with the present document. The answer has the entry as `document`.";

/// Arguments of `app_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MemoryArguments {
    /// What to do.
    operation: Operation,
    /// Whose the entry is: Workspace, or Project with projectId. For Create.
    scope: Option<ScopeView>,
    /// The project that the entry belongs to. For Create with the scope Project.
    project_id: Option<Id>,
    /// The entry. For Update and Delete.
    memory_id: Option<Id>,
    /// The entry's title. For Create and Update.
    #[schemars(length(min = 1, max = 200))]
    title: Option<String>,
    /// What is to be remembered: at most 16,384 bytes. For Create and Update.
    #[schemars(length(min = 1, max = 16_384))]
    text: Option<String>,
    /// Words to tell entries apart by: at most 32. For Create and Update.
    #[schemars(length(max = 32))]
    tags: Option<Vec<String>>,
    /// Whether it stands before those that are not; false unless given. For Create and Update.
    pinned: Option<bool>,
    /// The entry's revision that you saw last. For Update and Delete.
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
    Update,
    Delete,
}

pub(super) async fn call(call: Call<'_>) -> Outcome<MemoryView> {
    let arguments: MemoryArguments = typed(&call.arguments)?;
    match arguments.operation {
        Operation::Create => create::run(&call, arguments).await,
        Operation::Update => update::run(&call, arguments).await,
        Operation::Delete => delete::run(&call, arguments).await,
    }
}

/// The entry of this id, and whose it is. One that was deleted is found, too: a repeat of its
/// deletion is answered.
async fn key_of(call: &Call<'_>, id: Id) -> Result<MemoryKey, Rejected<MemoryView>> {
    let found = scope::memory(call.app, MemoryId(id.0)).await;
    let row = found.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    Ok(MemoryKey { project: row.project, memory: row.id })
}
