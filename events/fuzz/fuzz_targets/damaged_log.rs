//! A good log whose files were changed, cut, moved and swapped.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| scripta_events::segment::fuzzing::damaged_log(data));
