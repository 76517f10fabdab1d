//! `scripta log tail`.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use scripta_events::Position;
use scripta_events::log::Recorded;
use scripta_events::segment::View;

use super::event::{Wanted, as_json, as_text};
use super::output::Lines;
use super::read_failure;
use crate::cli::Tail;
use crate::data::DataFolder;
use crate::failure::Outcome;

/// How long to wait before looking for more: soon enough for eyes, and little work for the disk.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How many times more events than wanted are looked at first, where only some are wanted.
const LOOK_BACK: u64 = 64;

/// Shows the last events, and perhaps those that come.
pub fn run(data: &DataFolder, arguments: &Tail) -> Outcome {
    let wanted = Wanted::of(&arguments.only)?;
    let failed = |error| read_failure(&data.log(), &error);
    let show = |event: &Recorded| match arguments.format.json {
        true => as_json(event, false).to_string(),
        false => as_text(event),
    };
    let (mut view, last) = last(data, &wanted, arguments.lines)?;
    let mut lines = Lines::new();
    let mut flow = last.iter().try_for_each(|event| lines.line(&show(event)));
    while arguments.follow && flow.is_continue() {
        flow = lines.flush();
        std::thread::sleep(LOOK_EVERY);
        let read = view.read(&mut |event| match wanted.has(event) {
            true => {
                flow = lines.line(&show(event));
                flow
            }
            false => ControlFlow::Continue(()),
        });
        read.map_err(failed)?;
    }
    lines.end()
}

/// The last `count` events that are wanted, and the view that goes on after them.
fn last(data: &DataFolder, wanted: &Wanted, count: u64) -> Outcome<(View, VecDeque<Recorded>)> {
    let failed = |error| read_failure(&data.log(), &error);
    // A view that begins beyond every event reads the last segment only.
    let mut end = View::open(data.root(), Position(u64::MAX)).map_err(failed)?;
    end.read(&mut |_| ControlFlow::Continue(())).map_err(failed)?;
    let mut back = count;
    loop {
        let after = end.head().0.saturating_sub(back);
        let mut view = View::open(data.root(), Position(after)).map_err(failed)?;
        let mut found = VecDeque::new();
        let read = view.read(&mut |event| {
            if wanted.has(event) {
                found.push_back(event.clone());
            }
            if found.len() as u64 > count {
                found.pop_front();
            }
            ControlFlow::Continue(())
        });
        read.map_err(failed)?;
        if found.len() as u64 >= count || after == 0 {
            return Ok((view, found));
        }
        back = back.saturating_mul(LOOK_BACK);
    }
}
