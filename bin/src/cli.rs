//! The command line's grammar.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// An event-sourced home for agent conversations.
#[derive(Debug, Parser)]
#[command(name = "scripta", version, about, max_term_width = 100)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Default, Args)]
pub struct Global {
    /// The data folder [env: SCRIPTA_DATA] [default: $XDG_DATA_HOME/scripta or
    /// ~/.local/share/scripta]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The configuration file [env: SCRIPTA_CONFIG] [default: scripta.toml in the data folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server.
    Serve(Serve),
    /// Serve the App tools over stdio, for a local MCP client.
    Mcp,
    /// Bring in conversations of another product (ChatGPT: conversations.json).
    Import(Import),
    /// Find messages.
    Search(Search),
    /// Look at the event log.
    #[command(subcommand)]
    Log(Log),
}

/// Flags of `serve`.
#[derive(Clone, Debug, Default, Args)]
pub struct Serve {
    /// Fill an empty data folder with a sample project and imported conversations
    #[arg(long)]
    pub demo: bool,
    /// The address to listen on [env: SCRIPTA_LISTEN] [default: 127.0.0.1:7411]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Let callers without a key do everything; for a loopback address only
    /// [env: SCRIPTA_OPEN]
    #[arg(long)]
    pub open: bool,
}

/// Arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct Import {
    /// An export's conversations.json, the folder it lies in, or - for standard input
    #[arg(value_name = "FILE|FOLDER|-")]
    pub source: PathBuf,
    /// The project to import into, by id or by name; a name that is not there is made
    #[arg(long, value_name = "PROJECT", default_value = "Imported")]
    pub project: String,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `search`.
#[derive(Clone, Debug, Args)]
pub struct Search {
    /// The text to find, in the messages of people and models
    pub pattern: String,
    /// Upper and lower case are different
    #[arg(long)]
    pub case_sensitive: bool,
    /// Only in this project (an id)
    #[arg(long, value_name = "ID")]
    pub project: Option<String>,
    /// Only in this chat (an id)
    #[arg(long, value_name = "ID")]
    pub chat: Option<String>,
    /// The most messages to show, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Commands of `log`.
#[derive(Clone, Debug, Subcommand)]
pub enum Log {
    /// Check every byte of the log: checksums, the hash chain, and that every event decodes.
    Verify(LogFormat),
    /// Count events, streams and bytes.
    Stat(LogFormat),
}

/// How `log` prints.
#[derive(Clone, Debug, Args)]
pub struct LogFormat {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
