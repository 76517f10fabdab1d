//! Replacing the global settings.

use scripta_events::domain::{
    GlobalSettings, GlobalSettingsSet, WorkspaceDocuments, WorkspaceEvent,
};

use crate::names::{self, MAX_NAME_CHARS};
use crate::{Refusal, security};

pub(super) fn decide(
    state: &WorkspaceDocuments,
    settings: &GlobalSettings,
) -> Result<Vec<WorkspaceEvent>, Refusal> {
    if let Some(name) = &settings.name {
        names::check("settings.name", name, MAX_NAME_CHARS)?;
    }
    let (silence, calls) = (settings.silence_timeout_ms, settings.max_calls_per_run);
    security::check_limits(silence, calls)?;
    // What was set to what it is by default is set, too: from revision 1 on it is a document.
    if state.settings.value == *settings && state.settings.revision > 0 {
        return Ok(vec![]);
    }
    Ok(vec![GlobalSettingsSet { settings: settings.clone() }.into()])
}
