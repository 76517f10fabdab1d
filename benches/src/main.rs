//! Measurements, each beside its alternative in the same run: `scripta-benches log`, `scripta-benches
//! service`.

mod curves;
mod folder;
mod load;
mod log;
#[cfg(feature = "peers")]
mod peers;
mod raw;
mod service;
mod store;
mod table;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use mimalloc::MiMalloc;

/// Measurements of Scripta, side by side with the alternatives.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The event log: durable appends, sequential reads; with --curves, how it grows.
    Log(log::Arguments),
    /// The service over HTTP: calls of tools, beside a tool that does nothing.
    Service(service::Arguments),
    /// Serves a tool that does nothing, until it is killed. The service's measurement starts it.
    #[command(hide = true)]
    Bare(service::bare::Arguments),
    /// Fills a log, says so, and goes on until it is killed. The curves start it.
    #[command(hide = true)]
    Fill(curves::fill::Arguments),
    /// Opens a log and looks things up. The curves start it.
    #[command(hide = true)]
    Probe(curves::probe::Arguments),
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
    /// Where the files to measure go. It must be on the disk to measure; the folder of this
    /// program unless told.
    #[arg(long)]
    dir: Option<PathBuf>,
}

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> anyhow::Result<()> {
    match Arguments::parse().what {
        What::Log(arguments) => log::run(&arguments),
        What::Service(arguments) => service::run(&arguments),
        What::Bare(arguments) => service::bare::run(&arguments),
        What::Fill(arguments) => curves::fill::run(&arguments),
        What::Probe(arguments) => curves::probe::run(&arguments),
    }
}
