//! Chats: pinned first, then by last activity.

use scripta_events::domain::ChatId;

use super::{Page, ReadError, Reader, listing, phrase};
use crate::arguments::Shape;
use crate::result::Item;
use crate::scope;

pub(super) const SHAPE: Shape = Shape {
    operation: "Chats",
    required: &[],
    one_of: &[],
    optional: &["projectId", "limit", "cursor"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    scope::check(&reader.projections, reader.project(), None, None)?;
    let ids = || {
        let ids = reader.projections.chat_ids(reader.project())?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let row = reader.projections.chat(ChatId(id))?;
        Ok(row.map(|row| Item::Chat(row.into())))
    };
    let page = listing::page(reader, ids, item)?;
    Ok(Page { phrase: phrase(page.items.len(), "chat"), ..page })
}
