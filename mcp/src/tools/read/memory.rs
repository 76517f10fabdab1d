//! Entries of long-term memory, by creation.

use scripta_events::domain::MemoryId;
use scripta_projections::{MemoryRow, Projections, QueryError, Thing};

use super::{Page, ReadError, Reader, listing, phrase};
use crate::arguments::{ArgumentError, Shape};
use crate::result::Item;
use crate::scope;
use crate::view::ScopeView;

pub(super) const SHAPE: Shape = Shape {
    operation: "Memory",
    required: &[],
    one_of: &[],
    optional: &["scope", "projectId", "memoryId", "limit", "cursor"],
};

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    if let Some(id) = reader.arguments.memory_id {
        return one(reader, MemoryId(id.0));
    }
    let projections = &reader.projections;
    let project = reader.project();
    scope::check(projections, project, None, None)?;
    check_scope(reader.arguments.scope, project.is_some())?;
    let ids = || {
        let ids = match (reader.arguments.scope, project) {
            (Some(ScopeView::Workspace), _) => projections.memory_ids_of(None)?,
            (_, Some(project)) => projections.memory_ids_of(Some(project))?,
            (_, None) => projections.memory_ids()?,
        };
        Ok(ids.into_iter().map(|id| id.0).collect())
    };
    let item = |id| {
        let row = projections.memory(MemoryId(id))?;
        let here = match row {
            Some(row) if !is_gone(projections, &row)? => Some(row),
            _ => None,
        };
        Ok(here.map(|row| Item::Memory(Box::new(row.into()))))
    };
    let page = listing::page(reader, ids, item)?;
    let phrase = match page.items.len() {
        1 => phrase(1, "memory entry"),
        count => format!("Read {count} memory entries"),
    };
    Ok(Page { phrase, ..page })
}

fn one(reader: &Reader, id: MemoryId) -> Result<Page, ReadError> {
    let row = scope::memory_in(&reader.projections, id)?;
    if is_gone(&reader.projections, &row)? {
        return Err(scope::gone("memory entry", id.0, "Memory").into());
    }
    let phrase = format!("Read memory entry '{}'", row.title);
    Ok(Page { items: vec![Item::Memory(Box::new(row.into()))], next: None, phrase })
}

/// Whether it was deleted, by itself or with its project.
fn is_gone(projections: &Projections, row: &MemoryRow) -> Result<bool, QueryError> {
    match row.project {
        _ if row.deleted => Ok(true),
        Some(project) => projections.is_gone(Thing::Project(project)),
        None => Ok(false),
    }
}

fn check_scope(scope: Option<ScopeView>, has_project: bool) -> Result<(), ArgumentError> {
    let invalid = |name: &str, reason: &str| {
        Err(ArgumentError::Invalid { name: name.to_owned(), reason: reason.to_owned() })
    };
    match scope {
        Some(ScopeView::Workspace) if has_project => {
            invalid("projectId", "does not belong to the scope Workspace; leave one of them out")
        }
        Some(ScopeView::Project) if !has_project => {
            invalid("scope", "Project needs `projectId`, too")
        }
        _ => Ok(()),
    }
}
