//! What waits for a person, by the creation of the chats.

use scripta_events::domain::BranchId;

use super::{Page, ReadError, Reader, listing};
use crate::arguments::Shape;
use crate::result::Item;
use crate::scope;
use crate::view::AttentionView;

pub(super) const SHAPE: Shape = Shape {
    operation: "Attention",
    required: &[],
    one_of: &[],
    optional: &["projectId", "chatId", "limit", "cursor"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let (project, chat) = (reader.project(), reader.chat());
    scope::check(&reader.projections, project, chat, None)?;
    let ids = || {
        let ids = reader.projections.held_branches()?;
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let Some(branch) = reader.projections.branch(BranchId(id))? else { return Ok(None) };
        let elsewhere = project.is_some_and(|project| project != branch.project)
            || chat.is_some_and(|chat| chat != branch.chat);
        let Some(chat) = reader.projections.chat(branch.chat)?.filter(|_| !elsewhere) else {
            return Ok(None);
        };
        let view = AttentionView::of(&chat, &branch);
        Ok(view.map(|view| Item::Attention(Box::new(view))))
    };
    let page = listing::page(reader, ids, item)?;
    let phrase = match page.items.len() {
        0 => "Nothing waits for a person".to_owned(),
        1 => "Read 1 branch that waits for a person".to_owned(),
        more => format!("Read {more} branches that wait for a person"),
    };
    Ok(Page { phrase, ..page })
}
