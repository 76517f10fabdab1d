//! Scripta: the server and the command line, in one binary.

#[macro_use]
mod output;

mod attach;
mod cli;
mod config;
mod data;
mod demo;
mod engine;
mod failure;
mod find;
mod http;
mod import;
mod key;
mod log_command;
mod models;
mod progress;
mod remote;
mod running;
mod search;
mod secrets;
mod serve;
mod socket;
mod store;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, filter_fn};
use tracing_subscriber::prelude::*;

use cli::{Cli, Command, Serve};
use config::{Config, Process};
use data::DataFolder;
use failure::{Failure, Outcome};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("scripta: {failure}");
            failure.exit_code()
        }
    }
}

fn run(cli: Cli) -> Outcome {
    let flags = match &cli.command {
        Command::Serve(serve) => serve.clone(),
        _ => Serve::default(),
    };
    let config = config::resolve(&cli.global, &flags, &Process)?;
    log_to_stderr(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime
        .map_err(|error| Failure::failed(format!("the runtime can't be started: {error}")))?;
    let outcome = runtime.block_on(dispatch(cli.command, config));
    // A thread that waits for standard input never ends by itself.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(command: Command, config: Config) -> Outcome {
    let data = DataFolder::of(&config);
    match command {
        Command::Serve(Serve { demo, .. }) => serve::run(config, demo).await,
        Command::Mcp => attach::run(config).await,
        Command::Import(arguments) => import::run(&data, arguments).await,
        Command::Search(arguments) => search::run(&data, arguments).await,
        Command::Log(command) => log_command::run(&data, command).await,
    }
}

/// Standard output is for answers, and for the protocol of `scripta mcp`.
fn log_to_stderr(config: &Config) -> Outcome {
    let filter = EnvFilter::try_new(&config.log).map_err(|error| {
        Failure::usage(format!("{:?} is no filter for log lines: {error}", config.log))
    })?;
    let may_be_told = filter_fn(|metadata| may_be_told(metadata.target(), *metadata.level()))
        // Lines below this are not even looked at: the store of the read models has many.
        .with_max_level_hint(filter.max_level_hint().unwrap_or(LevelFilter::TRACE));
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .with_filter(filter.and(may_be_told));
    tracing_subscriber::registry()
        .with(lines)
        .try_init()
        .map_err(|error| Failure::failed(format!("no log lines: {error}")))
}

/// Whether lines of this kind may be written, whatever the filter asks for: libraries that see
/// whole requests, headers and bodies write them to their fine lines, and with them secrets.
/// `genai` logs provider answers whole, which may repeat parts of a key, on all its lines; its
/// errors come back to us anyway.
fn may_be_told(target: &str, level: Level) -> bool {
    const SEE_SECRETS: [&str; 8] = [
        "rmcp",
        "rmcp_actix_web",
        "h2",
        "hyper",
        "hyper_util",
        "reqwest",
        "actix_http",
        "actix_web",
    ];
    let library = target.split("::").next().unwrap_or_default();
    library != "genai" && (level <= Level::INFO || !SEE_SECRETS.contains(&library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_see_secrets_are_quiet_and_others_are_not() {
        for target in ["rmcp", "rmcp::service", "rmcp_actix_web::transport", "actix_http::h1"] {
            assert!(!may_be_told(target, Level::DEBUG) && !may_be_told(target, Level::TRACE));
            assert!(may_be_told(target, Level::INFO) && may_be_told(target, Level::ERROR));
        }
        assert!(may_be_told("scripta_mcp::server", Level::TRACE));
        assert!(may_be_told("rmcpx", Level::DEBUG));
        assert!(!may_be_told("genai::webc", Level::ERROR));
    }
}
