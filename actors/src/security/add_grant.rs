//! Granting a directory.

use std::path::Path;

use scripta_events::domain::{DirectoryGrant, DirectoryGrantAdded, GrantId};

use super::set::MAX_GRANTS;
use super::{NewGrant, Scope, SecurityEvent};
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Ids, MAX_DIRECTORY_BYTES, Refusal};

/// A directory that is granted already gets the further capabilities, in the same grant.
pub(super) fn decide(
    scope: &Scope<'_>,
    wanted: &NewGrant,
    ids: &mut Ids,
) -> Result<Option<SecurityEvent>, Refusal> {
    let grants = &scope.document.security.grants;
    let mut grant = resolve(scope, "path", wanted, ids)?;
    let former = grants.iter().find(|former| former.path == grant.path);
    if let Some(former) = former {
        grant.id = former.id;
        if wanted.name.is_none() {
            grant.name.clone_from(&former.name);
        }
        grant.capabilities.extend(&former.capabilities);
        grant.capabilities.sort_unstable();
        grant.capabilities.dedup();
        if *former == grant {
            return Ok(None);
        }
    } else if grants.len() >= MAX_GRANTS {
        return Err(Refusal::Full {
            what: "the security document",
            limit: MAX_GRANTS as u64,
            unit: "grants",
            instead: "take back one that is not used",
        });
    }
    Ok(Some(SecurityEvent::GrantAdded(DirectoryGrantAdded { grant })))
}

/// The grant with an id, a name and its capabilities in order. `field` is where a caller named the
/// path.
pub(super) fn resolve(
    scope: &Scope<'_>,
    field: &'static str,
    wanted: &NewGrant,
    ids: &mut Ids,
) -> Result<DirectoryGrant, Refusal> {
    let path = Path::new(&wanted.path);
    let too_long = wanted.path.len() > MAX_DIRECTORY_BYTES;
    if !path.is_absolute() || too_long || wanted.path.contains('\0') {
        let problem = format!(
            "must be an absolute path of at most {MAX_DIRECTORY_BYTES} bytes, such as /srv/work"
        );
        return Err(Refusal::Invalid { field, problem });
    }
    let known = &scope.document.security.grants;
    let id = match wanted.id {
        Some(id) if known.iter().any(|grant| grant.id == id) => id,
        Some(GrantId(id)) => return Err(Refusal::NotFound { what: "grant", id }),
        None => {
            // A document that is read and written back without ids means the same grants.
            let same = known.iter().find(|grant| grant.path == wanted.path);
            same.map_or_else(|| GrantId(ids.take()), |grant| grant.id)
        }
    };
    let last = || path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = wanted.name.clone().or_else(last).unwrap_or_else(|| wanted.path.clone());
    let name: String = match wanted.name {
        // A folder may have any name; a name in a list may not.
        None => name.chars().filter(|it| !it.is_control()).take(MAX_NAME_CHARS).collect(),
        Some(_) => name,
    };
    names::check("name", &name, MAX_NAME_CHARS)?;
    let mut capabilities = wanted.capabilities.clone();
    capabilities.sort_unstable();
    capabilities.dedup();
    if capabilities.is_empty() {
        let problem = "is empty; give at least one of Read, Write and Delete".to_owned();
        return Err(Refusal::Invalid { field: "capabilities", problem });
    }
    Ok(DirectoryGrant { id, name, path: wanted.path.clone(), capabilities })
}
