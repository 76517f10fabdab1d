//! Pages: what goes on one, and where the next begins.

mod cursor;
mod fill;
mod kept;

pub(crate) use cursor::{CursorError, CursorKey, Place, Query};
pub(crate) use fill::Fill;
pub(crate) use kept::KeptLists;
