//! Ids by name: what a client offers while a person types.

use rmcp::model::CompletionInfo;
use scripta_projections::{ChatRow, ProjectionName, Projections, QueryError};

/// The most chats, branches or entries whose names are compared (inclusive), the newest or first of
/// them: it takes some milliseconds.
const MAX_LOOKED_AT: usize = 10_000;

/// What an id is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Project,
    Chat,
    Branch,
    Memory,
}

impl Of {
    /// The projections that names are looked up in.
    pub(crate) fn read_from(self) -> &'static [ProjectionName] {
        match self {
            Of::Project => &[ProjectionName::Projects],
            Of::Chat | Of::Branch => &[ProjectionName::Chats],
            Of::Memory => &[ProjectionName::Memory],
        }
    }
}

/// What was found so far.
struct Found<'a> {
    typed: &'a str,
    ids: Vec<String>,
    /// How many fit.
    total: usize,
}

/// The ids of what has a name with `typed` in it, without regard to case, or an id that begins with
/// it.
pub(crate) fn complete(
    projections: &Projections,
    of: Of,
    typed: &str,
) -> Result<CompletionInfo, QueryError> {
    let typed = typed.trim().to_lowercase();
    let mut found = Found { typed: &typed, ids: Vec::new(), total: 0 };
    let whole = match of {
        Of::Project => {
            let ids = projections.project_ids()?;
            for id in ids.iter().take(MAX_LOOKED_AT) {
                if let Some(row) = projections.project(*id)? {
                    found.compare(&id.to_string(), &[&row.name]);
                }
            }
            ids.len() <= MAX_LOOKED_AT
        }
        Of::Chat => each_chat(projections, |chat| {
            found.compare(&chat.id.to_string(), &[&chat.title]);
            Ok(1)
        })?,
        Of::Branch => each_chat(projections, |chat| {
            let branches = projections.branches_of(chat)?;
            for branch in branches.iter().take(MAX_LOOKED_AT) {
                let own = branch.title.as_deref().unwrap_or_default();
                found.compare(&branch.id.to_string(), &[own, &chat.title]);
            }
            Ok(branches.len())
        })?,
        Of::Memory => {
            let ids = projections.memory_ids()?;
            for id in ids.iter().take(MAX_LOOKED_AT) {
                if let Some(row) = projections.memory(*id)?.filter(|row| !row.deleted) {
                    found.compare(&id.to_string(), &[&row.title]);
                }
            }
            ids.len() <= MAX_LOOKED_AT
        }
    };
    Ok(found.done(whole))
}

/// Visits the newest chats, until `visit` has looked at as many names as may be; whether those are
/// all.
fn each_chat(
    projections: &Projections,
    mut visit: impl FnMut(&ChatRow) -> Result<usize, QueryError>,
) -> Result<bool, QueryError> {
    let mut looked_at = 0_usize;
    for id in projections.chat_ids(None)? {
        if looked_at >= MAX_LOOKED_AT {
            return Ok(false);
        }
        if let Some(row) = projections.chat(id)? {
            looked_at = looked_at.saturating_add(visit(&row)?);
        }
    }
    Ok(looked_at <= MAX_LOOKED_AT)
}

impl Found<'_> {
    fn compare(&mut self, id: &str, names: &[&str]) {
        let named = names.iter().any(|name| name.to_lowercase().contains(self.typed));
        if named || id.starts_with(self.typed) {
            self.total += 1;
            if self.ids.len() < CompletionInfo::MAX_VALUES {
                self.ids.push(id.to_owned());
            }
        }
    }

    fn done(self, whole: bool) -> CompletionInfo {
        let more = !whole || self.total > self.ids.len();
        let mut info = CompletionInfo::default();
        info.values = self.ids;
        info.total = if whole { u32::try_from(self.total).ok() } else { None };
        info.has_more = Some(more);
        info
    }
}
