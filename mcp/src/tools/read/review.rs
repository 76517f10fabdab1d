//! One review.

use scripta_events::domain::ReviewId;

use super::{Page, ReadError, Reader};
use crate::arguments::{Shape, required};
use crate::result::Item;
use crate::scope;

pub(super) const SHAPE: Shape =
    Shape { operation: "Review", required: &["reviewId"], one_of: &[], optional: &[] };

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let id = required(reader.arguments.review_id, SHAPE.operation, "reviewId")?;
    let row = scope::review_in(&reader.projections, ReviewId(id.0))?;
    // A chat that is gone takes its reviews along.
    scope::chat_in(&reader.projections, None, row.chat)?;
    let phrase = format!("Read review '{}'", row.name);
    Ok(Page { items: vec![Item::Review(Box::new(row.into()))], next: None, phrase })
}
