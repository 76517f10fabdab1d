//! Scripta: one binary, server and command line.

mod cli;
mod config;
mod data;
mod failure;
mod import;
mod key;
mod running;

fn main() {}
