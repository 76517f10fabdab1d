//! `scripta log backup` and `scripta log restore`.

use std::path::Path;

use scripta_events::segment::{self, BackupError, Copied, VerifyError};
use serde_json::json;

use super::read_failure;
use crate::cli::{Backup, Restore};
use crate::data::{DataFolder, make_folder};
use crate::failure::{Failure, Outcome, sentence};
use crate::progress::ByteProgress;

/// Copies what is new in the log into the backup's folder.
pub fn back_up(data: &DataFolder, arguments: &Backup) -> Outcome {
    must_be_there(data.root())?;
    make_folder(&arguments.to)?;
    let mut shown = ByteProgress::new("backing up");
    let copied = segment::backup(data.root(), &arguments.to, &mut |done, total| {
        shown.set(done, total);
    });
    drop(shown);
    let copied = copied.map_err(|error| failure(data.root(), &arguments.to, &error))?;
    print(&copied, arguments.format.json, "the backup is whole", &arguments.to);
    Ok(())
}

/// Makes the log of a data folder out of a backup.
pub fn restore(data: &DataFolder, arguments: &Restore) -> Outcome {
    must_be_there(&arguments.from)?;
    data.create()?;
    let mut shown = ByteProgress::new("restoring");
    let copied = segment::restore(&arguments.from, data.root(), &mut |done, total| {
        shown.set(done, total);
    });
    drop(shown);
    let copied = copied.map_err(|error| failure(&arguments.from, data.root(), &error))?;
    print(&copied, arguments.format.json, "the log is restored", data.root());
    Ok(())
}

fn must_be_there(from: &Path) -> Outcome {
    if from.join(segment::LOG_FOLDER).is_dir() {
        return Ok(());
    }
    Err(super::no_log(from))
}

fn failure(from: &Path, to: &Path, error: &BackupError) -> Failure {
    match error {
        BackupError::Log(error) => read_failure(from, error),
        BackupError::Earlier(VerifyError::Corrupt { .. }) => {
            Failure::corrupt(format!("{}: {}", to.display(), sentence(error)))
        }
        BackupError::Diverged { .. }
        | BackupError::NotEmpty { .. }
        | BackupError::SameFolder
        | BackupError::Locked(_) => Failure::refused(sentence(error)),
        BackupError::Earlier(_) | BackupError::Write { .. } => Failure::failed(sentence(error)),
    }
}

fn print(copied: &Copied, as_json: bool, title: &str, to: &Path) {
    let hash = blake3::Hash::from(copied.head_hash).to_hex();
    if as_json {
        let json = json!({
            "log": copied.log.0,
            "folder": to,
            "head": copied.head.0,
            "headHash": hash.as_str(),
            "segments": copied.segments,
            "copiedSegments": copied.copied_segments,
            "copiedBytes": copied.copied_bytes,
        });
        say!("{json:#}");
        return;
    }
    say!("{title}: {}", to.display());
    say!("log        {}", copied.log);
    say!("head       {}", copied.head);
    say!("head hash  {hash}");
    say!("segments   {}", copied.segments);
    say!("copied     {} segments, {} bytes", copied.copied_segments, copied.copied_bytes);
}
