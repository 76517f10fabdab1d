//! `scripta log dump`.

use std::ops::ControlFlow;

use scripta_events::Position;
use scripta_events::segment::View;

use super::event::{Wanted, as_json};
use super::output::Lines;
use super::read_failure;
use crate::cli::Dump;
use crate::data::DataFolder;
use crate::failure::Outcome;

/// Prints events as JSON lines.
pub fn run(data: &DataFolder, arguments: &Dump) -> Outcome {
    let wanted = Wanted::of(&arguments.only)?;
    let failed = |error| read_failure(&data.log(), &error);
    let mut view = View::open(data.root(), Position(arguments.after)).map_err(failed)?;
    let mut lines = Lines::new();
    let read = view.read(&mut |event| {
        if arguments.until.is_some_and(|until| event.position.0 > until) {
            return ControlFlow::Break(());
        }
        match wanted.has(event) {
            true => lines.line(&as_json(event, arguments.raw)),
            false => ControlFlow::Continue(()),
        }
    });
    // What was good before the damage is printed.
    let ended = lines.end();
    read.map_err(failed).and(ended)
}
