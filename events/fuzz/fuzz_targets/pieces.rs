//! Arbitrary bytes as headers, frames, commits and records.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| scripta_events::segment::fuzzing::pieces(data));
