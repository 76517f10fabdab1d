//! The instructions of a project: one document, also where nobody wrote any yet.

use super::{Page, ReadError, Reader};
use crate::arguments::{Shape, required};
use crate::result::Item;
use crate::scope;
use crate::view::InstructionsView;

pub(super) const SHAPE: Shape =
    Shape { operation: "Instructions", required: &["projectId"], one_of: &[], optional: &[] };

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let project = required(reader.project(), SHAPE.operation, "projectId")?;
    scope::check(&reader.projections, Some(project), None, None)?;
    let row = reader.projections.instructions(project)?;
    let phrase = match &row {
        Some(row) if !row.text.is_empty() => "Read the project's instructions",
        _ => "The project has no instructions",
    };
    let view = row.map_or_else(|| InstructionsView::none(project), InstructionsView::from);
    Ok(Page { items: vec![Item::Instructions(view)], next: None, phrase: phrase.to_owned() })
}
