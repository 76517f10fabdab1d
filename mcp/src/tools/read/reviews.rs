//! The reviews of a chat, by creation.

use scripta_events::domain::ReviewId;

use super::{Page, ReadError, Reader, listing, phrase};
use crate::arguments::{Shape, required};
use crate::result::Item;
use crate::scope;

pub(super) const SHAPE: Shape = Shape {
    operation: "Reviews",
    required: &["chatId"],
    one_of: &[],
    optional: &["limit", "cursor"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let chat = required(reader.chat(), SHAPE.operation, "chatId")?;
    scope::check(&reader.projections, None, Some(chat), None)?;
    let ids = || {
        let ids = reader.projections.review_ids(chat)?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let row = reader.projections.review(ReviewId(id))?;
        Ok(row.map(|row| Item::Review(Box::new(row.into()))))
    };
    let page = listing::page(reader, ids, item)?;
    Ok(Page { phrase: phrase(page.items.len(), "review"), ..page })
}
