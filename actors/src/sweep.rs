//! Deleting the chats of a deleted project, one by one: each is a root of its own, so that no one
//! commit could delete them all.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use scripta_events::Position;
use scripta_events::domain::{ChatId, ProjectId};
use thiserror::Error;

use crate::engine::Engine;
use crate::{Chat, ChatCommand, CommandMeta, ExecuteError, LoadError, RunKey};

/// How often the chats of a project are listed and swept (inclusive), with [`PAUSE`] between: a
/// chat that was being made as the project was deleted may show only the second time, and a log
/// that takes nothing may have space again. What is left after that, the next start finds.
const MAX_ROUNDS: u32 = 10;

/// The pause between two rounds, and before a chat is tried again.
const PAUSE: Duration = Duration::from_secs(1);

/// What the read models know of a project's chats and runs: the actors keep no such lists.
pub trait ProjectLists: Send + Sync + 'static {
    /// The runs that are under way in the project, as of `position` or later.
    fn running(
        &self,
        project: ProjectId,
        position: Position,
    ) -> BoxFuture<'static, Result<Vec<RunKey>, ListError>>;

    /// The chats of a deleted project that are not deleted themselves, as of `position` or later.
    fn unswept(
        &self,
        project: ProjectId,
        position: Position,
    ) -> BoxFuture<'static, Result<Vec<ChatId>, ListError>>;
}

/// Why a list could not be had.
#[derive(Clone, Debug, Error)]
#[error("{reason}")]
pub struct ListError {
    /// Why, for a person.
    pub reason: String,
}

/// Sweeps the project that was deleted at `position`. Returns at once.
pub(crate) fn start(engine: &Arc<Engine>, project: ProjectId, position: Position) {
    let work = sweep(engine.clone(), project, position);
    engine.tasks.spawn_on(work, &engine.runtime);
}

async fn sweep(engine: Arc<Engine>, project: ProjectId, position: Position) {
    for _ in 0..MAX_ROUNDS {
        match engine.unswept(project, position).await {
            Ok(chats) if chats.is_empty() => return,
            Ok(chats) => {
                for chat in chats {
                    delete(&engine, chat).await;
                }
            }
            Err(error) => tracing::warn!(%project, %error, "a project's chats can't be listed"),
        }
        tokio::select! {
            () = engine.closing.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    tracing::warn!(%project, "not all chats of a deleted project could be deleted; the next start goes on");
}

/// Deletes a chat whose project was deleted. One that can't be deleted now is left for later.
pub(crate) async fn delete(engine: &Arc<Engine>, chat: ChatId) {
    if engine.closing.is_cancelled() {
        return;
    }
    let swept = engine.send::<Chat>(chat, ChatCommand::Sweep, CommandMeta::system()).await;
    match swept {
        Ok(_) | Err(ExecuteError::Load(LoadError::ShuttingDown)) => {}
        Err(error) => {
            tracing::warn!(%chat, ?error, "a chat of a deleted project is left for later")
        }
    }
}

impl Engine {
    /// The runs that are under way in a project.
    pub(crate) async fn running_in(&self, project: ProjectId) -> Result<Vec<RunKey>, LoadError> {
        let head = *self.log.head().borrow();
        let lists = self.lists.get().ok_or_else(|| LoadError::Unlisted(unbound()))?;
        Ok(lists.running(project, head).await?)
    }

    async fn unswept(
        &self,
        project: ProjectId,
        position: Position,
    ) -> Result<Vec<ChatId>, ListError> {
        let lists = self.lists.get().ok_or_else(unbound)?;
        // Also what was written since.
        let head = *self.log.head().borrow();
        lists.unswept(project, position.max(head)).await
    }
}

fn unbound() -> ListError {
    ListError { reason: "the server is starting; try again in a moment".to_owned() }
}
