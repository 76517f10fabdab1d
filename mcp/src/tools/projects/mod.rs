//! `app_projects`.

mod create;
mod delete;
mod update;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::view::{Id, ProjectView};

pub(super) const DESCRIPTION: &str = "\
Makes, changes and deletes projects: a project holds chats.\n\
Create: name, directories?\n\
Update: projectId, name?, directories?, defaultConnectionId? (empty for none), expectedRevision; what is \
left out stays\n\
Delete: projectId, expectedRevision, stopRuns?, dryRun?; only tells what it would take (status Planned) \
unless dryRun is false; refused while a turn is running in it, unless stopRuns\n\
`expectedRevision` is the revision that you saw last; if somebody wrote since, nothing is changed and \
the answer has the status Conflict with the present document. The answer has the project as `document`.";

/// Arguments of `app_projects`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectsArguments {
    /// What to do.
    operation: Operation,
    /// The project. For Update and Delete.
    project_id: Option<Id>,
    /// The project's name. For Create and Update.
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// Absolute paths of the project's directories. For Create and Update.
    #[schemars(length(max = 64))]
    directories: Option<Vec<String>>,
    /// The connection of its chats that name none; empty for the workspace's default. For Update.
    #[schemars(length(max = 200))]
    default_connection_id: Option<String>,
    /// Whether turns that are running are stopped; false unless given. For Delete.
    stop_runs: Option<bool>,
    /// The project's revision that you saw last. For Update and Delete.
    expected_revision: Option<u64>,
    /// Makes the call effect-once: a repeat with the same id answers what the first answered.
    operation_id: Option<Id>,
    /// Whether to tell only what would go; true unless given. For Delete: refused elsewhere when
    /// true.
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

pub(super) async fn call(call: Call<'_>) -> Outcome<ProjectView> {
    let arguments: ProjectsArguments = typed(&call.arguments)?;
    match arguments.operation {
        Operation::Create => create::run(&call, arguments).await,
        Operation::Update => update::run(&call, arguments).await,
        Operation::Delete => delete::run(&call, arguments).await,
    }
}
