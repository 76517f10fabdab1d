//! Listings of documents: who is on their pages is fixed when the first is read.

use std::sync::Arc;
use std::time::Instant;

use uuid::Uuid;

use super::{Page, ReadError, Reader};
use crate::pages::{CursorError, Fill, Place};
use crate::result::Item;

/// A page of the listing that `ids` gives (for a first page) and `item` looks up one by one. What
/// is gone meanwhile drops out.
pub(super) fn page(
    reader: &Reader,
    ids: impl FnOnce() -> Result<Vec<Uuid>, ReadError>,
    item: impl Fn(Uuid) -> Result<Option<Item>, ReadError>,
) -> Result<Page, ReadError> {
    let (list, ids, first): (_, Arc<[Uuid]>, _) = match reader.place()? {
        None => (None, ids()?.into(), 0),
        Some(Place::Kept { list, next }) => {
            (Some(list), reader.lists.find(list, Instant::now())?, next)
        }
        Some(_) => return Err(CursorError::Forged.into()),
    };
    let mut fill = Fill::new(reader.limit());
    let mut next = first;
    for id in ids.iter().skip(first) {
        if fill.is_full() {
            break;
        }
        if let Some(item) = item(*id)?
            && !fill.offer(item)
        {
            break;
        }
        next += 1;
    }
    let more = next < ids.len();
    let next = more.then(|| {
        let list = list.unwrap_or_else(|| reader.lists.keep(ids, Instant::now()));
        Place::Kept { list, next }
    });
    Ok(Page { items: fill.into_items(), next, phrase: String::new() })
}
