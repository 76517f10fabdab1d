//! Tests of the whole system: the real binary, real HTTP, real files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails"
)]

mod conversation;
mod crash;
mod damage;
mod exclusive;
mod import;
mod log_commands;
mod refusals;
mod says;
mod secrets;
mod stdio;
mod tidy;
mod turn;
