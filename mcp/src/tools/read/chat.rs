//! One chat with its branches, without messages.

use super::{Page, ReadError, Reader};
use crate::arguments::{Shape, required};
use crate::result::Item;
use crate::scope;
use crate::view::ChatView;

pub(super) const SHAPE: Shape =
    Shape { operation: "Chat", required: &["chatId"], one_of: &[], optional: &[] };

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let chat = required(reader.chat(), SHAPE.operation, "chatId")?;
    let row = scope::chat_in(&reader.projections, None, chat)?;
    let phrase = format!("Read chat '{}'", row.title);
    let branches = reader.projections.branches_of(&row)?;
    let project = reader.projections.project_security(row.project)?;
    let workspace = reader.projections.workspace()?;
    let view = ChatView::whole(row, branches, project.as_ref(), &workspace);
    Ok(Page { items: vec![Item::Chat(view)], next: None, phrase })
}
