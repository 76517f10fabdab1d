//! The history of a branch, from its first message to its head, across forks.

use std::ops::RangeInclusive;

use scripta_events::domain::BranchId;
use scripta_projections::MessageRow;

use super::{Order, Page, ReadError, Reader, phrase};
use crate::arguments::{ArgumentError, Shape};
use crate::pages::{CursorError, Fill, Place};
use crate::result::Item;
use crate::scope;
use crate::view::{Id, MessagePlace, MessageView};

/// How many messages are looked up at once: a page often ends by its characters, well before its
/// limit.
const CHUNK: u64 = 50;

pub(super) const SHAPE: Shape = Shape {
    operation: "Messages",
    required: &[],
    one_of: &["chatId", "branchId"],
    optional: &["limit", "cursor", "order"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let branch = branch(reader)?;
    let left = match reader.place()? {
        None => 1..=reader.projections.chain_length(branch)?,
        Some(Place::Chain { first, last }) => first..=last,
        Some(_) => return Err(CursorError::Forged.into()),
    };
    let (items, left) = match reader.arguments.order.unwrap_or_default() {
        Order::OldestFirst => oldest(reader, branch, left)?,
        Order::NewestFirst => newest(reader, branch, left)?,
    };
    let phrase = phrase(items.len(), "message");
    let next = (!left.is_empty()).then(|| Place::Chain { first: *left.start(), last: *left.end() });
    Ok(Page { items, next, phrase })
}

fn branch(reader: &Reader) -> Result<BranchId, ReadError> {
    let projections = &reader.projections;
    match (reader.chat(), reader.branch()) {
        (chat, Some(branch)) => Ok(scope::branch_in(projections, chat, branch)?.id),
        (Some(chat), None) => Ok(scope::chat_in(projections, None, chat)?.id.first_branch()),
        (None, None) => Err(ArgumentError::MissingOneOf {
            operation: SHAPE.operation,
            names: vec!["chatId".to_owned(), "branchId".to_owned()],
        }
        .into()),
    }
}

type Filled = (Vec<Item>, RangeInclusive<u64>);

/// Fills a page from the front, and says which places are left behind it.
fn oldest(
    reader: &Reader,
    branch: BranchId,
    left: RangeInclusive<u64>,
) -> Result<Filled, ReadError> {
    let mut fill = Fill::new(reader.limit());
    let (mut first, last) = left.into_inner();
    while first <= last && !fill.is_full() {
        let end = last.min(first.saturating_add(CHUNK - 1));
        for row in reader.projections.messages(branch, first..=end)? {
            let place = row.place;
            if !fill.offer(item(row)) {
                return Ok((fill.into_items(), place..=last));
            }
        }
        first = end.saturating_add(1);
    }
    Ok((fill.into_items(), first..=last))
}

/// Fills a page from the back, in reading order all the same, and says which places are left
/// before it.
fn newest(
    reader: &Reader,
    branch: BranchId,
    left: RangeInclusive<u64>,
) -> Result<Filled, ReadError> {
    let mut fill = Fill::new(reader.limit());
    let (first, mut last) = left.into_inner();
    let mut cut = None;
    while first <= last && cut.is_none() && !fill.is_full() {
        let start = first.max((last + 1).saturating_sub(CHUNK));
        for row in reader.projections.messages(branch, start..=last)?.into_iter().rev() {
            let place = row.place;
            if !fill.offer(item(row)) {
                cut = Some(place);
                break;
            }
        }
        // The first place of a chain is 1, so this does not wrap.
        last = start - 1;
    }
    let mut items = fill.into_items();
    items.reverse();
    Ok((items, first..=cut.unwrap_or(last)))
}

fn item(row: MessageRow) -> Item {
    let place = MessagePlace {
        chat: Id(row.chat.0),
        branch: Id(row.branch.0),
        parent: row.parent.map(|parent| Id(parent.0)),
        position: row.position.0,
    };
    Item::Message(Box::new(MessageView::new(row.message, place)))
}
