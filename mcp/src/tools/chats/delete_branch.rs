//! Deleting a branch.

use scripta_actors::ChatCommand;
use scripta_events::domain::BranchId;
use scripta_projections::Thing;

use super::{ChatsArguments, Target, branch_title, change, not_there, rehearse};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::scope;
use crate::tools::{Call, operation};
use crate::view::ChatView;

const SHAPE: Shape = operation!(
    "DeleteBranch",
    required: ["branchId", "expectedRevision"],
    one_of: [],
    optional: ["keepForks"]
);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.deletion(&SHAPE, arguments.operation_id)?;
    let branch = required(arguments.branch_id, SHAPE.operation, "branchId")?;
    let branch = BranchId(branch.0);
    let command = ChatCommand::DeleteBranch {
        branch,
        keep_forks: arguments.keep_forks.unwrap_or(false),
        expected_revision: required(
            arguments.expected_revision,
            SHAPE.operation,
            "expectedRevision",
        )?,
    };
    let chat = scope::branch(call.app, None, branch).await.map_err(not_there)?.chat;
    let target = Target { chat, branch: Some(branch) };
    let Some(meta) = meta else {
        return rehearse(call, target, command, Thing::Branch(branch)).await;
    };
    change(call, target, command, meta, |done| {
        format!("Deleted {}", branch_title(&done.state, branch))
    })
    .await
}
