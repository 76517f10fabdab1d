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
    /// From this length on, a segment of the event log is sealed and another begun, such as
    /// 64MiB [env: SCRIPTA_SEGMENT_BYTES] [default: 64MiB]
    #[arg(long, value_name = "SIZE")]
    pub segment_bytes: Option<String>,
    /// While less than this is free on the disk, changes are refused
    /// [env: SCRIPTA_RESERVE_BYTES] [default: 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub reserve_bytes: Option<String>,
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
    Verify(Verify),
    /// Count events, streams and bytes.
    Stat(LogFormat),
    /// Show the last events, and perhaps those that come.
    Tail(Tail),
    /// Print events as JSON, one a line.
    Dump(Dump),
    /// Copy what is new in the log into a folder, beside a running server too.
    Backup(Backup),
    /// Make the log of this data folder out of a backup; there must be none yet.
    Restore(Restore),
    /// Copy what can be kept of a damaged log into a new folder; the damaged one isn't changed.
    Salvage(Salvage),
}

/// How `log` prints.
#[derive(Clone, Debug, Args)]
pub struct LogFormat {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `log verify`.
#[derive(Clone, Debug, Args)]
pub struct Verify {
    /// A head hash that an earlier verify or backup printed: it must be in the log's chain, so
    /// that an end that was cut off is noticed
    #[arg(long, value_name = "HASH")]
    pub expect_head: Option<String>,
    /// How to print.
    #[command(flatten)]
    pub format: LogFormat,
}

/// Arguments of `log tail`.
#[derive(Clone, Debug, Args)]
pub struct Tail {
    /// How many events to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub lines: u64,
    /// Go on with events as they come, until interrupted
    #[arg(short, long)]
    pub follow: bool,
    /// Which events.
    #[command(flatten)]
    pub only: Only,
    /// How to print.
    #[command(flatten)]
    pub format: LogFormat,
}

/// Arguments of `log dump`.
#[derive(Clone, Debug, Args)]
pub struct Dump {
    /// Only events after this position
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    pub after: u64,
    /// Only events up to this position
    #[arg(long, value_name = "POSITION")]
    pub until: Option<u64>,
    /// Which events.
    #[command(flatten)]
    pub only: Only,
    /// Print payloads as they are stored, in base64, and not decoded
    #[arg(long)]
    pub raw: bool,
}

/// Which events to show.
#[derive(Clone, Debug, Default, Args)]
pub struct Only {
    /// Only events of this category: workspace, project, chat, branch, run or a number
    #[arg(long, value_name = "CATEGORY")]
    pub category: Option<String>,
    /// Only events of this type, by name or code: ChatRenamed, 0x0302
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,
    /// Only events of the stream, or of the root, with this id
    #[arg(long, value_name = "ID")]
    pub stream: Option<uuid::Uuid>,
}

/// Arguments of `log backup`.
#[derive(Clone, Debug, Args)]
pub struct Backup {
    /// The folder of the backup; one that holds an earlier backup gets what is new
    #[arg(value_name = "FOLDER")]
    pub to: PathBuf,
    /// How to print.
    #[command(flatten)]
    pub format: LogFormat,
}

/// Arguments of `log restore`.
#[derive(Clone, Debug, Args)]
pub struct Restore {
    /// The folder of the backup, or another data folder
    #[arg(value_name = "FOLDER")]
    pub from: PathBuf,
    /// The backup is damaged: restore what can be kept of it
    #[arg(long)]
    pub salvage: bool,
    /// How to print.
    #[command(flatten)]
    pub format: LogFormat,
}

/// Arguments of `log salvage`.
#[derive(Clone, Debug, Args)]
pub struct Salvage {
    /// The new folder
    #[arg(value_name = "FOLDER")]
    pub to: PathBuf,
    /// Write the events behind the damage, which can be read and not be kept, to this file, as
    /// JSON, one a line
    #[arg(long, value_name = "FILE")]
    pub behind: Option<PathBuf>,
    /// How to print.
    #[command(flatten)]
    pub format: LogFormat,
}
