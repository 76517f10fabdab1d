//! What `app_security` answers with, and how its changes of the workspace are carried out.

use std::sync::Arc;

use schemars::JsonSchema;
use scripta_actors::{CommandMeta, Done, ExecuteError, Workspace, WorkspaceCommand};
use scripta_events::domain::{ToolServerId, WorkspaceDocuments, WorkspaceId};
use serde::Serialize;
use uuid::Uuid;

use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::tools::Call;
use crate::view::{ConnectionView, GlobalSettingsView, Id, SecurityView, ToolServerView};

/// The document that an operation changed: which kind follows from the operation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SecurityDocumentView {
    Settings(GlobalSettingsView),
    Connection(ConnectionView),
    Server(ToolServerView),
    Security(SecurityView),
    Deleted(DeletedView),
}

/// What is left of a document that was deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DeletedView {
    id: Id,
    revision: u64,
    /// Always true.
    deleted: bool,
}

/// A document of the workspace.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    Settings,
    Connection(Uuid),
    Server(ToolServerId),
    Security,
}

impl Which {
    /// Why a change of the document was not made.
    pub(super) fn rejected(self, error: ExecuteError<Workspace>) -> Rejected<SecurityDocumentView> {
        Rejected::from_execute(error, |state| self.view(state).0)
    }

    /// The document with its revision, as it is in `state`.
    pub(super) fn view(self, state: &WorkspaceDocuments) -> (SecurityDocumentView, u64) {
        match self {
            Which::Settings => {
                let view = GlobalSettingsView::from(state);
                (SecurityDocumentView::Settings(view), state.settings.revision)
            }
            Which::Connection(id) => match state.connections.get(&id) {
                Some(it) => (SecurityDocumentView::Connection(it.into()), it.revision),
                None => deleted(state, id),
            },
            Which::Server(id) => match state.servers.get(&id) {
                Some(it) => (SecurityDocumentView::Server(it.into()), it.revision),
                None => deleted(state, id.0),
            },
            Which::Security => {
                let view = SecurityView::of(WorkspaceId::THE.0, &state.security, state);
                (SecurityDocumentView::Security(view), state.security.revision)
            }
        }
    }
}

fn deleted(state: &WorkspaceDocuments, id: Uuid) -> (SecurityDocumentView, u64) {
    let revision = state.deleted.get(&id).copied().unwrap_or_default();
    let view = DeletedView { id: Id(id), revision, deleted: true };
    (SecurityDocumentView::Deleted(view), revision)
}

/// The workspace as it is.
pub(super) async fn workspace(
    call: &Call<'_>,
) -> Result<Arc<WorkspaceDocuments>, Rejected<SecurityDocumentView>> {
    let state = call.app.handle.state::<Workspace>(WorkspaceId::THE).await;
    let state = state.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    Ok(state.unwrap_or_default())
}

/// Has the workspace carry a command out.
pub(super) async fn execute(
    call: &Call<'_>,
    meta: CommandMeta,
    command: WorkspaceCommand,
    which: Which,
) -> Result<Done<Workspace>, Rejected<SecurityDocumentView>> {
    let done = call.app.handle.execute::<Workspace>(WorkspaceId::THE, command, meta).await;
    done.map_err(|error| which.rejected(error))
}

/// The answer to what was carried out.
pub(super) fn applied(
    done: &Done<Workspace>,
    which: Which,
    phrase: String,
) -> Outcome<SecurityDocumentView> {
    let (document, revision) = which.view(&done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(revision))
}
