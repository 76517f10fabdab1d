//! The same with its checksums made right again.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| scripta_events::segment::fuzzing::forged_log(data));
