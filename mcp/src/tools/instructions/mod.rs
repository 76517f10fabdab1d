//! `app_instructions`.

mod replace;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::view::{Id, InstructionsView};

pub(super) const DESCRIPTION: &str = "\
Writes a project's instructions: one text that every model is told in every chat of the project.\n\
Replace: projectId, text, expectedRevision; the whole text, an empty one takes them away\n\
`expectedRevision` is the instructions' revision that you saw last (app_read Instructions), 0 where \
there were none yet; if somebody wrote since, nothing is changed and the answer has the status \
Conflict with the present document. The answer has the instructions as `document`.";

/// Arguments of `app_instructions`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct InstructionsArguments {
    /// What to do.
    operation: Operation,
    /// The project. For Replace.
    project_id: Option<Id>,
    /// The new text, whole: at most 65,536 bytes. For Replace.
    #[schemars(length(max = 65_536))]
    text: Option<String>,
    /// The instructions' revision that you saw last; 0 where there were none yet. For Replace.
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
    Replace,
}

pub(super) async fn call(call: Call<'_>) -> Outcome<InstructionsView> {
    let arguments: InstructionsArguments = typed(&call.arguments)?;
    match arguments.operation {
        Operation::Replace => replace::run(&call, arguments).await,
    }
}
