//! Measurements, each beside its alternative in the same run: `scripta-benches log`.

mod log;
mod raw;
mod table;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Measurements of Scripta, side by side with the alternatives.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The event log: durable appends, sequential reads and opening.
    Log(log::Arguments),
}

/// What every measurement takes.
#[derive(clap::Args, Clone)]
struct Common {
    /// Shorter measurements: for a first look, not for figures to quote.
    #[arg(long)]
    quick: bool,
    /// Also write the table to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Where the files to measure go; the system's folder for temporary files unless told.
    #[arg(long)]
    dir: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().what {
        What::Log(arguments) => log::run(&arguments),
    }
}
