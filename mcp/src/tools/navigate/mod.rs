//! `app_navigate`.

use schemars::JsonSchema;
use scripta_actors::{Run, RunKey};
use scripta_events::domain::{BranchId, ChatId, ProjectId};
use scripta_projections::{ProjectionName, Projections};
use serde::{Deserialize, Serialize};

use super::{Call, operation};
use crate::arguments::{Shape, typed};
use crate::navigation::Navigate;
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::scope::{self, ScopeError};
use crate::view::Id;

pub(super) const DESCRIPTION: &str = "\
Shows a project, a chat or a branch in the person's window: the project with projectId alone, the chat with \
chatId, one of its branches with branchId. Changes no data. A run that nobody watches can't.";

const SHAPE: Shape = operation!("app_navigate", required: ["projectId"], one_of: [], optional: ["chatId", "branchId"]);

/// Arguments of `app_navigate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NavigateArguments {
    /// The project.
    project_id: Id,
    /// The chat; the project itself unless given.
    chat_id: Option<Id>,
    /// The branch; the chat's first one unless given.
    branch_id: Option<Id>,
    /// Makes no difference: nothing is written.
    operation_id: Option<Id>,
    /// Only false: there is nothing to rehearse.
    #[serde(rename = "dryRun")]
    _dry_run: Option<bool>,
}

/// What is shown, and to how many.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NavigationView {
    project_id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_id: Option<Id>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_id: Option<Id>,
    /// How many windows were told.
    windows: u64,
}

pub(super) async fn call(call: Call<'_>) -> Outcome<NavigationView> {
    let arguments: NavigateArguments = typed(&call.arguments)?;
    call.command(&SHAPE, arguments.operation_id)?;
    refuse_unwatched(&call).await?;
    let target = Navigate {
        project: ProjectId(arguments.project_id.0),
        chat: arguments.chat_id.map(|id| ChatId(id.0)),
        branch: arguments.branch_id.map(|id| BranchId(id.0)),
    };
    let refused = |error: ScopeError| Rejected::refused(sentence_of(&error));
    let used = [ProjectionName::Projects, ProjectionName::Chats];
    let position = call.app.reached(&used).await.map_err(|error| refused(error.into()))?;
    let find = move |projections: &Projections| find(projections, target);
    let (name, target) = scope::look_up(call.app, find).await.map_err(refused)?;
    let windows = call.app.navigation.show(target);
    let phrase = match windows {
        0 => format!("No window is open to show {name} in"),
        _ => format!("Showed {name}"),
    };
    let document = NavigationView {
        project_id: arguments.project_id,
        chat_id: target.chat.map(|chat| Id(chat.0)),
        branch_id: arguments.branch_id,
        windows: windows as u64,
    };
    Ok(Applied::unwritten(phrase, document, position.0))
}

async fn refuse_unwatched(call: &Call<'_>) -> Result<(), Rejected<NavigationView>> {
    let Some(scope) = call.caller.scope() else { return Ok(()) };
    let key = RunKey { chat: scope.chat, run: scope.run };
    let run = call.app.handle.state::<Run>(key).await;
    let run = run.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    if run.is_some_and(|run| !run.interactive) {
        let reason = "Nobody watches this run, so nothing was shown; say where it is instead";
        return Err(Rejected::refused(reason));
    }
    Ok(())
}

/// What a person calls the target, which must be there and belong together, and the target with
/// the chat of its branch.
fn find(projections: &Projections, target: Navigate) -> Result<(String, Navigate), ScopeError> {
    scope::check(projections, Some(target.project), target.chat, target.branch)?;
    if let Some(branch) = target.branch {
        let row = scope::branch_in(projections, target.chat, branch)?;
        let chat = scope::chat_in(projections, None, row.chat)?;
        let name = match row.title {
            Some(title) => format!("branch '{title}' of chat '{}'", chat.title),
            None => format!("a branch of chat '{}'", chat.title),
        };
        return Ok((name, Navigate { chat: Some(row.chat), ..target }));
    }
    let name = match target.chat {
        Some(chat) => format!("chat '{}'", scope::chat_in(projections, None, chat)?.title),
        None => format!("project '{}'", scope::project_in(projections, target.project)?.name),
    };
    Ok((name, target))
}
