//! The `app` server, driven by an ordinary MCP client in the same process.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod as_of;
mod attention;
mod chats;
mod contract;
mod conversation;
mod deletion;
mod forks;
mod hostile;
mod instructions;
mod listing;
mod memory;
mod menus;
mod mirror;
mod navigation;
mod nonsense;
mod operations;
mod pages;
mod policies;
mod projects;
mod queue;
mod refusals;
mod resources;
mod runs;
mod schemas;
mod security;
mod sessions;
mod turns;
mod world;
