//! Messages that match a text or a regular expression.

use scripta_projections::SearchQuery;

use super::{Page, ReadError, Reader};
use crate::arguments::{ArgumentError, Shape, required};
use crate::pages::{CursorError, Fill, Place};
use crate::result::Item;
use crate::scope;

pub(super) const SHAPE: Shape = Shape {
    operation: "Search",
    required: &["query"],
    one_of: &[],
    optional: &[
        "isRegex",
        "ignoreCase",
        "projectId",
        "chatId",
        "branchId",
        "roles",
        "since",
        "until",
        "limit",
        "cursor",
    ],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let (project, chat, branch) = (reader.project(), reader.chat(), reader.branch());
    scope::check(&reader.projections, project, chat, branch)?;
    let query = query(reader)?;
    // What is written after the first page was read is not on the later ones.
    let (newest, after) = match reader.place()? {
        None => (reader.position, None),
        Some(Place::Search { until, after }) => (until, Some(after)),
        Some(_) => return Err(CursorError::Forged.into()),
    };
    let found = reader.projections.search(&query, after, reader.limit())?;
    let mut fill = Fill::new(reader.limit());
    let mut next = found.next;
    let mut last = after;
    for hit in found.hits {
        let hit_key = hit.key;
        if hit_key.position.0 <= newest && !fill.offer(Item::Hit(hit.into())) {
            next = last;
            break;
        }
        last = Some(hit_key);
    }
    let items = fill.into_items();
    let matches = if items.len() == 1 { "message" } else { "messages" };
    let phrase = format!("Found {} {matches}", items.len());
    Ok(Page { items, next: next.map(|after| Place::Search { until: newest, after }), phrase })
}

fn query(reader: &Reader) -> Result<SearchQuery, ArgumentError> {
    let arguments = &reader.arguments;
    let pattern = required(arguments.query.clone(), SHAPE.operation, "query")?;
    let mut query = SearchQuery::text(pattern);
    query.is_regex = arguments.is_regex.unwrap_or(query.is_regex);
    query.ignore_case = arguments.ignore_case.unwrap_or(query.ignore_case);
    query.project = reader.project();
    query.chat = reader.chat();
    query.branch = reader.branch();
    if let Some(roles) = &arguments.roles {
        query.roles = roles.iter().map(|role| (*role).into()).collect();
    }
    query.since = arguments.since.as_ref().map(Into::into);
    query.until = arguments.until.as_ref().map(Into::into);
    Ok(query)
}
