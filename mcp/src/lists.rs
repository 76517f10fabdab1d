//! What the actors ask the read models about projects.

use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use scripta_actors::{ListError, ProjectLists, RunKey};
use scripta_events::Position;
use scripta_events::domain::{ChatId, ProjectId};
use scripta_projections::{ProjectionName, Projections, QueryError};

use crate::result::sentence_of;

/// The lists of projects, for as long as somebody holds the projections.
pub(crate) struct Lists(Weak<Projections>);

impl Lists {
    pub(crate) fn new(projections: &Arc<Projections>) -> Lists {
        // Weak, because the actors outlive the server that their folder is unlocked with.
        Lists(Arc::downgrade(projections))
    }

    fn list<T: Send + 'static>(
        &self,
        position: Position,
        list: impl FnOnce(&Projections) -> Result<Vec<T>, QueryError> + Send + 'static,
    ) -> BoxFuture<'static, Result<Vec<T>, ListError>> {
        let projections = self.0.upgrade();
        Box::pin(async move {
            let closed = || ListError { reason: "the server is shutting down".to_owned() };
            let projections = projections.ok_or_else(closed)?;
            let used = [ProjectionName::Projects, ProjectionName::Chats, ProjectionName::Runs];
            projections.reach_in(&used, position).await.map_err(|error| failed(&error))?;
            let listed = tokio::task::spawn_blocking(move || list(&projections)).await;
            listed.map_err(|error| failed(&error))?.map_err(|error| failed(&error))
        })
    }
}

impl ProjectLists for Lists {
    fn running(
        &self,
        project: ProjectId,
        position: Position,
    ) -> BoxFuture<'static, Result<Vec<RunKey>, ListError>> {
        self.list(position, move |projections| {
            let mut running = Vec::new();
            let (_, runs) = projections.unfinished()?;
            for (chat, run) in runs {
                if projections.run(run)?.is_some_and(|row| row.project == project) {
                    running.push(RunKey { chat, run });
                }
            }
            Ok(running)
        })
    }

    fn unswept(
        &self,
        project: ProjectId,
        position: Position,
    ) -> BoxFuture<'static, Result<Vec<ChatId>, ListError>> {
        self.list(position, move |projections| projections.unswept(Some(project)))
    }
}

fn failed(error: &dyn std::error::Error) -> ListError {
    ListError { reason: sentence_of(error) }
}
