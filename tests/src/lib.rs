//! What the whole-system tests stand on: the real binary as a process, raw MCP clients of both
//! protocol eras, and a model provider that says what a script tells it to.
//!
//! Everything here panics with the reason when something is not as a test needs it, since a
//! failed expectation is a failed test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a panic is how a test fails"
)]

pub mod binary;
pub mod export;
pub mod mcp;
pub mod scripted_model;
pub mod server;
