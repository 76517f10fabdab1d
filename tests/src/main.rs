//! Whole-system tests that run for as long as one likes: `scripta-tests simulate`.

use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use scripta_events::segment::simulation::{Breakage, Plan, Summary, run, shorten};

/// Tests of Scripta that run for as long as one likes.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Drive the log over a simulated disk, and cut its power.
    Simulate(Simulate),
}

#[derive(clap::Args)]
struct Simulate {
    /// How many power cuts, killed processes and failures to survive.
    #[arg(long, default_value_t = 1_000_000)]
    cuts: u64,
    /// Where all chances come from: the same seed, the same history.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Break a promise on purpose, to see that it is noticed.
    #[arg(long)]
    broken: Option<Promise>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Promise {
    /// Syncing a file does nothing.
    Sync,
    /// Syncing the folder does nothing.
    FolderSync,
}

/// How many further logs are tried for a shorter history of a failure.
const SHORTENING_TRIES: u64 = 2_000;

/// How many lines of progress a simulation prints.
const PROGRESS_LINES: u64 = 10;

fn main() -> ExitCode {
    match Arguments::parse().what {
        What::Simulate(arguments) => simulate(&arguments),
    }
}

fn simulate(arguments: &Simulate) -> ExitCode {
    let broken = |promise: fn(&Promise) -> bool| arguments.broken.as_ref().is_some_and(promise);
    let plan = Plan {
        seed: arguments.seed,
        cuts: arguments.cuts,
        broken: Breakage {
            no_sync: broken(|promise| matches!(promise, Promise::Sync)),
            no_folder_sync: broken(|promise| matches!(promise, Promise::FolderSync)),
        },
    };
    let begin = Instant::now();
    let every = (plan.cuts / PROGRESS_LINES).max(1);
    let mut shown = 0;
    let result = run(&plan, &mut |summary| {
        if summary.cuts() / every > shown {
            shown = summary.cuts() / every;
            println!("{}", line(summary, plan.seed, begin));
        }
    });
    match result {
        Ok(summary) => {
            println!("clean: {}", line(&summary, plan.seed, begin));
            println!("{summary:#?}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("a promise broke after {} cuts, seed {}", failure.cuts, failure.seed);
            let shortest = shorten(&plan, failure, SHORTENING_TRIES);
            eprintln!("the shortest history found:\n{shortest}");
            eprintln!("again: simulate --cuts 1 --seed {}", shortest.seed);
            ExitCode::FAILURE
        }
    }
}

fn line(summary: &Summary, seed: u64, begin: Instant) -> String {
    let seconds = begin.elapsed().as_secs_f64();
    format!("{} cuts, seed {seed}, {seconds:.1} s", summary.cuts())
}
