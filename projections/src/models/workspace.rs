//! The read model of the workspace: one row, since its documents are few and read together.

use scripta_events::codec;
use scripta_events::domain::{WORKSPACE, WorkspaceDocuments};
use scripta_events::log::Recorded;

use super::Model;
use crate::QueryError;
use crate::follower::ApplyError;
use crate::store::{Batch, Store};

/// `w` -> [`WorkspaceDocuments`].
const ROW: &[u8] = b"w";

/// What events make of the workspace.
pub(crate) struct WorkspaceModel;

impl Model for WorkspaceModel {
    const NAME: &'static str = "workspace";
    const VERSION: u32 = 1;

    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
        if event.stream.category != WORKSPACE {
            return Ok(());
        }
        let mut row = batch.get::<WorkspaceDocuments>(ROW)?.unwrap_or_default();
        row.apply(&codec::decode(event)?);
        batch.put(ROW.to_vec(), row);
        Ok(())
    }
}

/// Reads of the row.
#[derive(Clone)]
pub(crate) struct Workspace(pub(crate) Store);

impl Workspace {
    /// The documents; those of the start where nothing has happened.
    pub(crate) fn get(&self) -> Result<WorkspaceDocuments, QueryError> {
        Ok(self.0.get_again(ROW)?.unwrap_or_default())
    }
}
