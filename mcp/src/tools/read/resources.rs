//! Resources, by creation, retired ones too.

use scripta_events::domain::ResourceId;
use scripta_projections::Thing;

use super::{Page, ReadError, Reader, listing, phrase};
use crate::arguments::Shape;
use crate::result::Item;
use crate::scope;

pub(super) const SHAPE: Shape = Shape {
    operation: "Resources",
    required: &[],
    one_of: &[],
    optional: &["projectId", "limit", "cursor"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    scope::check(&reader.projections, reader.project(), None, None)?;
    let ids = || {
        let ids = reader.projections.resource_ids(reader.project())?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let Some(row) = reader.projections.resource(ResourceId(id))? else { return Ok(None) };
        // A project that is gone takes its resources along.
        let gone = reader.projections.is_gone(Thing::Project(row.project))?;
        Ok((!gone).then(|| Item::Resource(row.into())))
    };
    let page = listing::page(reader, ids, item)?;
    Ok(Page { phrase: phrase(page.items.len(), "resource"), ..page })
}
