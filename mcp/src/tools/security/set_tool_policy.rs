//! Setting the policy of one tool: for all, in a project, or in a chat.

use scripta_actors::{SecurityCommand, WorkspaceCommand};
use scripta_events::domain::{ChatId, ProjectId};

use super::SecurityArguments;
use super::document::{SecurityDocumentView, Which, applied, execute};
use super::scoped::{Owner, change};
use super::server_argument::ServerArgument;
use crate::arguments::{Shape, required};
use crate::result::{Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::PolicyScopeView;

const GLOBAL: Shape = operation!(
    "SetToolPolicy with scope Global",
    required: ["scope", "server", "tool", "policy"],
    one_of: [],
    optional: []
);

const PROJECT: Shape = operation!(
    "SetToolPolicy with scope Project",
    required: ["scope", "projectId", "server", "tool", "policy"],
    one_of: [],
    optional: []
);

const CHAT: Shape = operation!(
    "SetToolPolicy with scope Chat",
    required: ["scope", "chatId", "server", "tool", "policy"],
    one_of: [],
    optional: []
);

/// A policy takes no expected revision: it takes the place of the tool's former one and leaves
/// the rest of the document.
pub(super) async fn run(
    call: &Call<'_>,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let scope = required(arguments.scope, "SetToolPolicy", "scope")?;
    let shape = match scope {
        PolicyScopeView::Global => GLOBAL,
        PolicyScopeView::Project => PROJECT,
        PolicyScopeView::Chat => CHAT,
    };
    let meta = call.command(&shape, arguments.operation_id)?;
    let server = required(arguments.server, shape.operation, "server")?;
    let ServerArgument::Named(server) = server else {
        return Err(Rejected::refused("`server` must be the name or id of a tool server"));
    };
    let tool = required(arguments.tool, shape.operation, "tool")?;
    let policy = required(arguments.policy, shape.operation, "policy")?;
    let policy = policy.into_new(server, tool).map_err(Rejected::refused)?;
    let tool = policy.tool.clone();
    let command = SecurityCommand::SetPolicy { policy };
    let owner = match scope {
        PolicyScopeView::Global => {
            let command = WorkspaceCommand::Security(command);
            let done = execute(call, meta, command, Which::Security).await?;
            let phrase = match done.receipt.events {
                0 => "The policy was like that already".to_owned(),
                _ => format!("Set the policy of {tool} for all"),
            };
            return applied(&done, Which::Security, phrase);
        }
        PolicyScopeView::Project => Owner::Project(ProjectId(
            required(arguments.project_id, shape.operation, "projectId")?.0,
        )),
        PolicyScopeView::Chat => {
            Owner::Chat(ChatId(required(arguments.chat_id, shape.operation, "chatId")?.0))
        }
    };
    change(call, meta, owner, command, |name| format!("Set the policy of {tool} in {name}")).await
}
