//! All projects, by name.

use scripta_events::domain::ProjectId;

use super::{Page, ReadError, Reader, listing, phrase};
use crate::arguments::Shape;
use crate::result::Item;

pub(super) const SHAPE: Shape =
    Shape { operation: "Projects", required: &[], one_of: &[], optional: &["limit", "cursor"] };

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let ids = || {
        let ids = reader.projections.project_ids()?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let row = reader.projections.project(ProjectId(id))?;
        Ok(row.map(|row| Item::Project(row.into())))
    };
    let page = listing::page(reader, ids, item)?;
    Ok(Page { phrase: phrase(page.items.len(), "project"), ..page })
}
