//! One project.

use super::{Page, ReadError, Reader};
use crate::arguments::{Shape, required};
use crate::result::Item;
use crate::scope;
use crate::view::ProjectView;

pub(super) const SHAPE: Shape =
    Shape { operation: "Project", required: &["projectId"], one_of: &[], optional: &[] };

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let project = required(reader.project(), SHAPE.operation, "projectId")?;
    let row = scope::project_in(&reader.projections, project)?;
    let phrase = format!("Read project '{}'", row.name);
    let view = ProjectView::whole(row, &reader.projections.workspace()?);
    Ok(Page { items: vec![Item::Project(view)], next: None, phrase })
}
