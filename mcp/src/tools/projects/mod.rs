//! `app_projects`.

mod create;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::view::{Id, ProjectView};

pub(super) const DESCRIPTION: &str = "\
Makes projects: a project holds chats.\n\
Create: name, directories?\n\
The answer has the project as `document`.";

/// Arguments of `app_projects`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectsArguments {
    /// What to do.
    operation: Operation,
    /// The project's name. For Create.
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// Absolute paths of the project's directories. For Create.
    #[schemars(length(max = 64))]
    directories: Option<Vec<String>>,
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
}

pub(super) async fn call(call: Call<'_>) -> Outcome<ProjectView> {
    let arguments: ProjectsArguments = typed(call.arguments.clone().into())?;
    match arguments.operation {
        Operation::Create => create::run(&call, arguments).await,
    }
}
