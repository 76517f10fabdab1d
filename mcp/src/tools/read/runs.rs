//! Runs, newest first.

use scripta_events::domain::RunId;

use super::{Page, ReadError, Reader, listing, phrase};
use crate::arguments::Shape;
use crate::result::Item;
use crate::scope;

pub(super) const SHAPE: Shape = Shape {
    operation: "Runs",
    required: &[],
    one_of: &[],
    optional: &["projectId", "chatId", "branchId", "limit", "cursor"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let (project, chat, branch) = (reader.project(), reader.chat(), reader.branch());
    scope::check(&reader.projections, project, chat, branch)?;
    let ids = || {
        let ids = reader.projections.run_ids(project, chat, branch)?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let row = reader.projections.run(RunId(id))?;
        Ok(row.map(|row| Item::Run(Box::new(row.into()))))
    };
    let page = listing::page(reader, ids, item)?;
    Ok(Page { phrase: phrase(page.items.len(), "run"), ..page })
}
