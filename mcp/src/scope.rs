//! Which project, chat and branch a call is about: the read models know what belongs to what.

use std::sync::Arc;

use scripta_actors::BranchKey;
use scripta_events::Position;
use scripta_events::domain::{
    BranchId, ChatId, MemoryId, MessageId, ProjectId, ResourceId, ReviewId,
};
use scripta_projections::{
    BranchRow, ChatRow, MemoryRow, ProjectRow, ProjectionName, Projections, QueryError, REBUILD,
    ResourceRow, ReviewRow, Thing, WaitError,
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

/// The branch of this id, which must belong to `chat` if that is given. One that was deleted is
/// found as well: whether a command can be carried out is the actors' to say, who know what it
/// answered before.
pub(crate) async fn branch(
    app: &App,
    chat: Option<ChatId>,
    id: BranchId,
) -> Result<BranchKey, ScopeError> {
    find(app, ProjectionName::Chats, move |projections| key_of(projections, chat, id)).await
}

/// Looks something up, and once more when the read model has caught up: it may have been made a
/// moment ago.
async fn find<T: Send + 'static>(
    app: &App,
    model: ProjectionName,
    lookup: impl Fn(&Projections) -> Result<T, ScopeError> + Clone + Send + 'static,
) -> Result<T, ScopeError> {
    match look_up(app, lookup.clone()).await {
        Err(ScopeError::NotFound { .. }) => {}
        found => return found,
    }
    app.reached(&[model]).await?;
    look_up(app, lookup).await
}

fn key_of(
    projections: &Projections,
    chat: Option<ChatId>,
    id: BranchId,
) -> Result<BranchKey, ScopeError> {
    let (what, listing) = ("branch", "Chat");
    let actual = projections.chat_of(id)?;
    let actual = actual.ok_or(ScopeError::NotFound { what, id: id.0, listing })?;
    belongs(what, id.0, chat, actual)?;
    Ok(BranchKey { chat: actual, branch: id })
}

fn belongs(
    what: &'static str,
    id: Uuid,
    chat: Option<ChatId>,
    actual: ChatId,
) -> Result<(), ScopeError> {
    match chat.filter(|given| *given != actual) {
        Some(given) => {
            let (owner, given, actual) = ("chat", given.0, actual.0);
            Err(ScopeError::Elsewhere { what, id, owner, given, actual })
        }
        None => Ok(()),
    }
}

/// The memory entry of this id, also one that was deleted.
pub(crate) async fn memory(app: &App, id: MemoryId) -> Result<MemoryRow, ScopeError> {
    find(app, ProjectionName::Memory, move |projections| memory_in(projections, id)).await
}

/// The resource of this id, also one whose project was deleted.
pub(crate) async fn resource(app: &App, id: ResourceId) -> Result<ResourceRow, ScopeError> {
    let (what, listing) = ("resource", "Resources");
    let lookup = move |projections: &Projections| {
        projections.resource(id)?.ok_or(ScopeError::NotFound { what, id: id.0, listing })
    };
    find(app, ProjectionName::Projects, lookup).await
}

/// The review of this id, also one whose chat was deleted.
pub(crate) async fn review(app: &App, id: ReviewId) -> Result<ReviewRow, ScopeError> {
    find(app, ProjectionName::Reviews, move |projections| review_in(projections, id)).await
}

/// The branch that a message of a chat was written in.
pub(crate) async fn branch_of(
    app: &App,
    chat: ChatId,
    id: MessageId,
) -> Result<BranchId, ScopeError> {
    let lookup = move |projections: &Projections| {
        let Some(row) = projections.message(id)? else {
            return Err(missing(projections, Thing::Message(id), ("message", id.0, "Messages")));
        };
        belongs("message", id.0, Some(chat), row.chat)?;
        Ok(row.branch)
    };
    find(app, ProjectionName::Chats, lookup).await
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
    let Some(row) = projections.branch(id)? else {
        return Err(missing(projections, Thing::Branch(id), ("branch", id.0, "Chat")));
    };
    belongs("branch", id.0, chat, row.chat)?;
    Ok(row)
}

/// Why a read model has no such thing: it was deleted, or never was.
pub(crate) fn missing(
    projections: &Projections,
    thing: Thing,
    (what, id, listing): (&'static str, Uuid, &'static str),
) -> ScopeError {
    match projections.is_gone(thing) {
        Ok(true) => ScopeError::Gone { what, id, listing },
        Ok(false) => ScopeError::NotFound { what, id, listing },
        Err(error) => error.into(),
    }
}

/// The project of this id in the read models as they are.
pub(crate) fn project_in(
    projections: &Projections,
    id: ProjectId,
) -> Result<ProjectRow, ScopeError> {
    let found = projections.project(id)?;
    let why = || missing(projections, Thing::Project(id), ("project", id.0, "Projects"));
    found.ok_or_else(why)
}

/// The memory entry of this id in the read models as they are, also one that was deleted.
pub(crate) fn memory_in(projections: &Projections, id: MemoryId) -> Result<MemoryRow, ScopeError> {
    let (what, listing) = ("memory entry", "Memory");
    projections.memory(id)?.ok_or(ScopeError::NotFound { what, id: id.0, listing })
}

/// The review of this id in the read models as they are, also one whose chat was deleted.
pub(crate) fn review_in(projections: &Projections, id: ReviewId) -> Result<ReviewRow, ScopeError> {
    let (what, listing) = ("review", "Reviews");
    projections.review(id)?.ok_or(ScopeError::NotFound { what, id: id.0, listing })
}

/// That something was deleted.
pub(crate) fn gone(what: &'static str, id: Uuid, listing: &'static str) -> ScopeError {
    ScopeError::Gone { what, id, listing }
}

/// The chat of this id, which must belong to `project` if that is given.
pub(crate) fn chat_in(
    projections: &Projections,
    project: Option<ProjectId>,
    id: ChatId,
) -> Result<ChatRow, ScopeError> {
    let Some(row) = projections.chat(id)? else {
        return Err(missing(projections, Thing::Chat(id), ("chat", id.0, "Chats")));
    };
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
