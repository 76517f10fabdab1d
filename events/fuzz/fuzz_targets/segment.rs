//! Arbitrary bytes as a segment.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| scripta_events::segment::fuzzing::segment(data));
