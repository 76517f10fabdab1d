//! `scripta log`: the event log from outside. All but `restore` work beside a running server, and
//! none of them changes the log that it looks at.

mod backup;
mod dump;
mod event;
mod output;
mod salvage;
mod stat;
mod tail;
mod verify;

use std::path::Path;

use scripta_events::segment::VerifyError;

use crate::cli::Log;
use crate::data::DataFolder;
use crate::failure::{Failure, Outcome, sentence};
use crate::store::blocking;

/// Runs one of the commands.
pub async fn run(data: &DataFolder, command: Log) -> Outcome {
    let data = data.clone();
    blocking(move || match command {
        Log::Verify(arguments) => verify::run(&data, &arguments),
        Log::Stat(format) => stat::run(&data, &format),
        Log::Tail(arguments) => tail::run(&data, &arguments),
        Log::Dump(arguments) => dump::run(&data, &arguments),
        Log::Backup(arguments) => backup::back_up(&data, &arguments),
        Log::Restore(arguments) if arguments.salvage => salvage::restore(&data, &arguments),
        Log::Restore(arguments) => backup::restore(&data, &arguments),
        Log::Salvage(arguments) => salvage::run(&data, &arguments),
    })
    .await
}

/// Why the log in a folder can't be read, for the person who asked.
fn read_failure(folder: &Path, error: &VerifyError) -> Failure {
    match error {
        VerifyError::Corrupt { .. } => Failure::corrupt(format!(
            "{error}; restore a backup, or keep what is good of {} with `scripta log salvage`",
            folder.display()
        )),
        VerifyError::HeadMissing { .. } => Failure::corrupt(sentence(error)),
        VerifyError::NoLog => no_log(folder),
        VerifyError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            no_log(folder)
        }
        VerifyError::Io { .. } => Failure::failed(sentence(error)),
    }
}

fn no_log(folder: &Path) -> Failure {
    Failure::failed(format!(
        "there is no log in {}; name another folder, as with --data",
        folder.display()
    ))
}
