//! `app_resources`.

mod create;
mod create_review;
mod retire;
mod update_review;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Call;
use crate::arguments::typed;
use crate::result::Outcome;
use crate::view::{CommentView, Id, ResourceKindView, ResourceView, ReviewView};

pub(super) const DESCRIPTION: &str = "\
Makes what messages refer to: resources, which are files and directories by their path, never their \
contents; and reviews, which are comments about files of the change set of one message.\n\
Create: projectId, path (absolute), kind (File, Directory); the same path gets the same resource\n\
Retire: resourceId, expectedRevision; it stays readable where it was attached\n\
CreateReview: chatId, messageId (of the model), name, files, comments?\n\
UpdateReview: reviewId, name?, files?, comments?, expectedRevision; what is left out stays, and comments \
are replaced all together\n\
`expectedRevision` is the revision that you saw last; if somebody wrote since, nothing is changed and \
the answer has the status Conflict with the present document. The answer has the resource or the review \
as `document`.";

/// Arguments of `app_resources`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResourcesArguments {
    /// What to do.
    operation: Operation,
    /// The project that the resource is for. For Create.
    project_id: Option<Id>,
    /// The absolute path of a file or directory that is there. For Create.
    #[schemars(length(min = 1, max = 4_096))]
    path: Option<String>,
    /// What is at the path: File or Directory. For Create.
    kind: Option<ResourceKindView>,
    /// The resource. For Retire.
    resource_id: Option<Id>,
    /// The chat that the review belongs to. For CreateReview.
    chat_id: Option<Id>,
    /// The model's message whose change set is reviewed. For CreateReview.
    message_id: Option<Id>,
    /// The review. For UpdateReview.
    review_id: Option<Id>,
    /// The review's name. For CreateReview and UpdateReview.
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// The files of the change set that are reviewed. For CreateReview and UpdateReview.
    #[schemars(length(min = 1, max = 1_000))]
    files: Option<Vec<String>>,
    /// What is said about them. For CreateReview and UpdateReview.
    #[schemars(length(max = 1_000))]
    comments: Option<Vec<CommentView>>,
    /// The document's revision that you saw last. For Retire and UpdateReview.
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
    Retire,
    CreateReview,
    UpdateReview,
}

/// What the tool answers with: which of them follows from the operation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Document {
    Resource(ResourceView),
    Review(ReviewView),
}

pub(super) async fn call(call: Call<'_>) -> Outcome<Document> {
    let arguments: ResourcesArguments = typed(&call.arguments)?;
    match arguments.operation {
        Operation::Create => create::run(&call, arguments).await,
        Operation::Retire => retire::run(&call, arguments).await,
        Operation::CreateReview => create_review::run(&call, arguments).await,
        Operation::UpdateReview => update_review::run(&call, arguments).await,
    }
}
