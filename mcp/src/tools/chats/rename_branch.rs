//! Giving a branch another title.

use scripta_actors::ChatCommand;
use scripta_events::domain::BranchId;

use super::{ChatsArguments, Target, change, not_there};
use crate::arguments::{Shape, required};
use crate::result::Outcome;
use crate::scope;
use crate::tools::{Call, operation};
use crate::view::ChatView;

const SHAPE: Shape =
    operation!("RenameBranch", required: ["branchId", "title"], one_of: [], optional: []);

pub(super) async fn run(call: &Call<'_>, arguments: ChatsArguments) -> Outcome<ChatView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let branch = required(arguments.branch_id, SHAPE.operation, "branchId")?;
    let branch = BranchId(branch.0);
    let title = required(arguments.title, SHAPE.operation, "title")?;
    let chat = scope::branch(call.app, None, branch).await.map_err(not_there)?.chat;
    let command = ChatCommand::RenameBranch { branch, title: title.clone() };
    let target = Target { chat, branch: Some(branch) };
    change(call, target, command, meta, |done| match done.receipt.events {
        0 => format!("The branch was called '{title}' already"),
        _ => format!("Renamed the branch to '{title}'"),
    })
    .await
}
