//! All of Scripta in one process: the store, the actors, and the `app` tools over them.

use std::sync::Arc;
use std::time::Duration;

use scripta_actors::{BranchKey, Handle, Models, Options, RunKey};
use scripta_mcp::{AppServer, AppToolbox};

use crate::data::DataFolder;
use crate::failure::{Failure, Outcome, sentence};
use crate::secrets::FileSecrets;
use crate::store::{Store, blocking};

/// How long running turns may take to reach a safe point when the server is stopped.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(10);

/// A data folder at work.
pub struct Engine {
    /// The log and the projections.
    pub store: Store,
    /// The actors.
    pub handle: Handle,
    /// The `app` tools.
    pub app: AppServer,
}

impl Engine {
    /// Opens a data folder and starts the actors on it. What an earlier process left unfinished
    /// is not touched until [`wake`](Engine::wake).
    pub async fn open(data: &DataFolder, models: Arc<dyn Models>) -> Outcome<Engine> {
        let store = Store::open(data).await?;
        let toolbox = Arc::new(AppToolbox::new());
        let tools = Arc::clone(&toolbox);
        let handle = Handle::start(Arc::clone(&store.log), models, tools, Options::default())
            .map_err(|error| Failure::failed(sentence(&error)))?;
        let projections = Arc::clone(&store.projections);
        let folder = data.clone();
        let secrets = Arc::new(blocking(move || FileSecrets::open(&folder)).await?);
        handle.configure().await.map_err(|error| Failure::failed(sentence(&error)))?;
        let app = AppServer::new(handle.clone(), projections, Arc::clone(&store.log), secrets)
            .map_err(|error| Failure::failed(sentence(&error)))?;
        toolbox.bind(&app);
        Ok(Engine { store, handle, app })
    }

    /// Waits until the projections have caught up, and goes on with what was unfinished.
    pub async fn wake(&self) -> Outcome {
        self.store.catch_up_fully().await?;
        let projections = Arc::clone(&self.store.projections);
        let unfinished = move || {
            let failed = |error| Failure::failed(sentence(&error));
            let unswept = projections.unswept(None).map_err(failed)?;
            Ok((projections.unfinished().map_err(failed)?, unswept))
        };
        let ((branches, runs), unswept) = blocking(unfinished).await?;
        let branches = branches.into_iter().map(|(chat, branch)| BranchKey { chat, branch });
        let runs = runs.into_iter().map(|(chat, run)| RunKey { chat, run });
        self.handle.wake(branches.collect(), runs.collect()).await;
        self.handle.sweep(unswept).await;
        Ok(())
    }

    /// Lets running turns come to a safe point, writes everything out, and unlocks the folder.
    pub async fn close(&self) -> Outcome {
        self.handle.shutdown(SHUTDOWN_DEADLINE).await;
        self.store.close().await
    }
}
