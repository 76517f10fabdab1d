//! Changes of the security documents of projects and chats.

use std::sync::Arc;

use scripta_actors::{
    Chat, ChatCommand, CommandMeta, Project, ProjectCommand, SecurityCommand, Workspace,
};
use scripta_events::Position;
use scripta_events::domain::{
    ChatId, ProjectId, SecurityDocument, WorkspaceDocuments, WorkspaceId,
};
use scripta_events::log::Receipt;

use super::SecurityArguments;
use super::document::{SecurityDocumentView, workspace};
use crate::arguments::required;
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::tools::Call;
use crate::view::SecurityView;

/// Whose document it is.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    Project(ProjectId),
    Chat(ChatId),
}

/// What came of a command.
struct Changed {
    receipt: Receipt,
    document: SecurityDocument,
    /// What a person calls the owner.
    name: String,
}

/// Replaces the owner's document.
pub(super) async fn set(
    call: &Call<'_>,
    meta: CommandMeta,
    operation: &'static str,
    owner: Owner,
    arguments: SecurityArguments,
) -> Outcome<SecurityDocumentView> {
    let security = required(arguments.security, operation, "security")?;
    let security = security.into_new().map_err(Rejected::refused)?;
    let expected_revision = required(arguments.expected_revision, operation, "expectedRevision")?;
    let command = SecurityCommand::Set { security, expected_revision };
    change(call, meta, owner, command, |name| format!("Set the security of {name}")).await
}

/// Has the owner carry the command out. `phrase` says what was done, given what a person calls the
/// owner.
pub(super) async fn change(
    call: &Call<'_>,
    meta: CommandMeta,
    owner: Owner,
    command: SecurityCommand,
    phrase: impl FnOnce(&str) -> String,
) -> Outcome<SecurityDocumentView> {
    let changed = match owner {
        Owner::Project(id) => of_project(call, meta, id, command).await?,
        Owner::Chat(id) => of_chat(call, meta, id, command).await?,
    };
    let Changed { receipt, document, name } = changed;
    // The servers' names as they were then, for a repeat answers what the first call did.
    let workspace = match receipt.replayed {
        true => workspace_as_of(call, receipt.position).await?,
        false => workspace(call).await?,
    };
    let phrase = match receipt.events {
        0 => format!("The security of {name} was like that already"),
        _ => phrase(&name),
    };
    let revision = document.revision;
    Ok(Applied::new(&receipt, phrase, view(owner, &document, &workspace)).at(revision))
}

async fn of_project(
    call: &Call<'_>,
    meta: CommandMeta,
    id: ProjectId,
    command: SecurityCommand,
) -> Result<Changed, Rejected<SecurityDocumentView>> {
    let workspace = workspace(call).await?;
    let command = ProjectCommand::Security(command);
    let executed = call.app.handle.execute::<Project>(id, command, meta).await;
    let done = executed.map_err(|error| {
        let owner = Owner::Project(id);
        Rejected::from_execute(error, |state| view(owner, &state.security, &workspace))
    })?;
    let name = format!("project '{}'", done.state.name);
    Ok(Changed { document: done.state.security.clone(), name, receipt: done.receipt })
}

async fn of_chat(
    call: &Call<'_>,
    meta: CommandMeta,
    id: ChatId,
    command: SecurityCommand,
) -> Result<Changed, Rejected<SecurityDocumentView>> {
    let workspace = workspace(call).await?;
    let command = ChatCommand::Security(command);
    let executed = call.app.handle.execute::<Chat>(id, command, meta).await;
    let done = executed.map_err(|error| {
        let owner = Owner::Chat(id);
        Rejected::from_execute(error, |state| {
            view(owner, &of_document(&state.security, state.revision), &workspace)
        })
    })?;
    let document = of_document(&done.state.security, done.state.revision);
    Ok(Changed { document, name: format!("chat '{}'", done.state.title), receipt: done.receipt })
}

/// A chat's security is a part of its document, and has its revision.
fn of_document(security: &SecurityDocument, revision: u64) -> SecurityDocument {
    SecurityDocument { revision, security: security.security.clone() }
}

fn view(
    owner: Owner,
    document: &SecurityDocument,
    workspace: &WorkspaceDocuments,
) -> SecurityDocumentView {
    let id = match owner {
        Owner::Project(id) => id.0,
        Owner::Chat(id) => id.0,
    };
    SecurityDocumentView::Security(SecurityView::of(id, document, workspace))
}

async fn workspace_as_of(
    call: &Call<'_>,
    then: Position,
) -> Result<Arc<WorkspaceDocuments>, Rejected<SecurityDocumentView>> {
    let state = call.app.handle.state_as_of::<Workspace>(WorkspaceId::THE, then).await;
    let state = state.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    Ok(state.unwrap_or_default())
}
