//! Which project, chat and branch a call is about: the read models know what belongs to what.

use std::sync::Arc;

use scripta_events::Position;
use scripta_events::domain::{BranchId, ChatId, ProjectId};
use scripta_projections::{
    BranchRow, ChatRow, ProjectRow, ProjectionName, Projections, QueryError, REBUILD, WaitError,
};
use thiserror::Error;
use tokio::task::JoinError;
use uuid::Uuid;

use crate::server::App;

/// Why what a call is about could not be found.
#[derive(Debug, Error)]
pub(crate) enum ScopeError {
    /// There is no such thing.
    #[error("there is no {what} {id}; app_read {listing} lists what there is")]
    NotFound { what: &'static str, id: Uuid, listing: &'static str },
    /// It was there, and was deleted.
    #[error("the {what} {id} was deleted; app_read {listing} lists what there is")]
    Gone { what: &'static str, id: Uuid, listing: &'static str },
    /// Two ids contradict each other.
    #[error(
        "{what} {id} does not belong to {owner} {given} but to {actual}; give one of the two ids"
    )]
    Elsewhere { what: &'static str, id: Uuid, owner: &'static str, given: Uuid, actual: Uuid },
    /// The read models are not there yet, or have stopped.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The read models could not answer.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The thread that looked it up ended.
    #[error("the lookup broke off; try again, and if it breaks off again, {REBUILD}")]
    Broken(#[from] JoinError),
}

/// The branch of this id, which must belong to `chat` if that is given.
pub(crate) async fn branch(
    app: &App,
    chat: Option<ChatId>,
    id: BranchId,
) -> Result<BranchRow, ScopeError> {
    let found = look_up(app, move |projections| branch_in(projections, chat, id)).await;
    match found {
        Err(ScopeError::NotFound { .. }) => {}
        found => return found,
    }
    // It may have been opened a moment ago: a read sees every acknowledged write.
    app.reached(&[ProjectionName::Chats]).await?;
    look_up(app, move |projections| branch_in(projections, chat, id)).await
}

/// Runs a lookup on a thread that may block.
pub(crate) async fn look_up<T: Send + 'static, E: From<JoinError> + Send + 'static>(
    app: &App,
    lookup: impl FnOnce(&Projections) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let projections = Arc::clone(&app.projections);
    tokio::task::spawn_blocking(move || lookup(&projections)).await?
}

/// The branch of this id in the read models as they are.
pub(crate) fn branch_in(
    projections: &Projections,
    chat: Option<ChatId>,
    id: BranchId,
) -> Result<BranchRow, ScopeError> {
    let found = projections.branch(id)?;
    let row = found.ok_or(ScopeError::NotFound { what: "branch", id: id.0, listing: "Chat" })?;
    match chat.map(|chat| chat.0) {
        Some(given) if given != row.chat.0 => {
            let (what, owner, actual) = ("branch", "chat", row.chat.0);
            Err(ScopeError::Elsewhere { what, id: id.0, owner, given, actual })
        }
        _ => Ok(row),
    }
}

/// The project of this id in the read models as they are.
pub(crate) fn project_in(
    projections: &Projections,
    id: ProjectId,
) -> Result<ProjectRow, ScopeError> {
    let found = projections.project(id)?;
    found.ok_or(ScopeError::NotFound { what: "project", id: id.0, listing: "Projects" })
}

/// The chat of this id, which must belong to `project` if that is given.
pub(crate) fn chat_in(
    projections: &Projections,
    project: Option<ProjectId>,
    id: ChatId,
) -> Result<ChatRow, ScopeError> {
    let found = projections.chat(id)?;
    let row = found.ok_or(ScopeError::NotFound { what: "chat", id: id.0, listing: "Chats" })?;
    match project.map(|project| project.0) {
        Some(given) if given != row.project.0 => {
            let (what, owner, actual) = ("chat", "project", row.project.0);
            Err(ScopeError::Elsewhere { what, id: id.0, owner, given, actual })
        }
        _ => Ok(row),
    }
}

/// Checks that all that is named is there, and belongs together.
pub(crate) fn check(
    projections: &Projections,
    project: Option<ProjectId>,
    chat: Option<ChatId>,
    branch: Option<BranchId>,
) -> Result<(), ScopeError> {
    if let Some(project) = project {
        project_in(projections, project)?;
    }
    if let Some(chat) = chat {
        chat_in(projections, project, chat)?;
    }
    if let Some(branch) = branch {
        let row = branch_in(projections, chat, branch)?;
        chat_in(projections, project, row.chat)?;
    }
    Ok(())
}

impl App {
    /// Waits until reads of these projections see everything that was acknowledged before this
    /// call, and says up to where that is.
    pub(crate) async fn reached(&self, used: &[ProjectionName]) -> Result<Position, WaitError> {
        let head = *self.log.head().borrow();
        self.projections.reach_in(used, head).await?;
        Ok(head)
    }
}
