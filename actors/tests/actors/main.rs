//! The actors over a log in memory, with a scripted model and toolbox.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod commands;
mod deletion;
mod passivation;
mod turns;
mod world;
