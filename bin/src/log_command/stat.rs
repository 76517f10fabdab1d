//! `scripta log stat`.

use std::collections::BTreeMap;

use scripta_events::Revision;
use scripta_events::log::Recorded;
use serde_json::json;

use super::event::{category_name, type_name};
use super::verify::{self, as_json};
use crate::cli::LogFormat;
use crate::data::DataFolder;
use crate::failure::Outcome;

/// What a category has.
#[derive(Default)]
struct Counted {
    streams: u64,
    events: u64,
    payload_bytes: u64,
    /// Events by the name of their type.
    types: BTreeMap<String, u64>,
}

/// Counts, and prints.
pub fn run(data: &DataFolder, format: &LogFormat) -> Outcome {
    let mut categories: BTreeMap<_, Counted> = BTreeMap::new();
    let verified = verify::read(data, None, &mut |event| {
        categories.entry(event.stream.category).or_default().add(event);
        Ok(())
    })?;
    if format.json {
        let mut json = as_json(&verified);
        let listed = categories.iter().map(|(category, counted)| {
            json!({
                "category": category_name(*category),
                "streams": counted.streams,
                "events": counted.events,
                "payloadBytes": counted.payload_bytes,
                "types": counted.types,
            })
        });
        if let Some(fields) = json.as_object_mut() {
            fields.insert("categories".to_owned(), listed.collect());
        }
        say!("{json:#}");
        return Ok(());
    }
    say!("the log: {}", verified.log);
    verify::print(&verified);
    for (category, counted) in &categories {
        let Counted { streams, events, payload_bytes, types } = counted;
        say!("\n{}", category_name(*category));
        say!("  {streams} streams, {events} events, {payload_bytes} bytes of payload");
        for (name, count) in types {
            say!("  {count:>10} {name}");
        }
    }
    Ok(())
}

impl Counted {
    fn add(&mut self, event: &Recorded) {
        // A stream's first event is there once.
        self.streams += u64::from(event.revision == Revision(1));
        self.events += 1;
        self.payload_bytes += event.payload.len() as u64;
        *self.types.entry(type_name(event)).or_default() += 1;
    }
}
