//! The settings of the workspace, without secrets.

use super::{Page, ReadError, Reader};
use crate::arguments::Shape;
use crate::result::Item;
use crate::view::SettingsView;

pub(super) const SHAPE: Shape =
    Shape { operation: "Settings", required: &[], one_of: &[], optional: &[] };

pub(super) fn page(reader: &Reader) -> Result<Page, ReadError> {
    let documents = reader.projections.workspace()?;
    let present = reader.arguments.as_of.is_none();
    let view = SettingsView::of(&documents, present.then_some(&*reader.secrets));
    let phrase = match view.connections() {
        1 => "Read the settings, with 1 connection".to_owned(),
        count => format!("Read the settings, with {count} connections"),
    };
    Ok(Page { items: vec![Item::Settings(Box::new(view))], next: None, phrase })
}
