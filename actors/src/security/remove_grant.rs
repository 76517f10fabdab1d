//! Taking a grant back.

use scripta_events::domain::{DirectoryGrantRemoved, GrantId};

use super::{Scope, SecurityEvent};
use crate::Refusal;

pub(super) fn decide(scope: &Scope<'_>, grant: GrantId) -> Result<Option<SecurityEvent>, Refusal> {
    let grants = &scope.document.security.grants;
    if !grants.iter().any(|it| it.id == grant) {
        return Err(Refusal::NotFound { what: "grant", id: grant.0 });
    }
    Ok(Some(SecurityEvent::GrantRemoved(DirectoryGrantRemoved { grant })))
}
