//! `scripta log salvage`, and `scripta log restore --salvage`.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use scripta_events::Position;
use scripta_events::log::Recorded;
use scripta_events::segment::{self, SalvageError, Salvaged};
use serde_json::json;

use super::event::as_json;
use super::no_log;
use crate::cli::{Restore, Salvage};
use crate::data::{DataFolder, make_folder};
use crate::failure::{Failure, Outcome, sentence};
use crate::progress::ByteProgress;

/// Copies what can be kept of the data folder's log into a new folder.
pub fn run(data: &DataFolder, arguments: &Salvage) -> Outcome {
    copy(data.root(), &arguments.to, arguments.behind.as_deref(), arguments.format.json)
}

/// Makes the log of the data folder out of what can be kept of a damaged backup.
pub fn restore(data: &DataFolder, arguments: &Restore) -> Outcome {
    copy(&arguments.from, data.root(), None, arguments.format.json)
}

fn copy(from: &Path, to: &Path, behind: Option<&Path>, json: bool) -> Outcome {
    if !from.join(segment::LOG_FOLDER).is_dir() {
        return Err(no_log(from));
    }
    make_folder(to)?;
    let mut written = behind.map(Written::create).transpose()?;
    let mut shown = ByteProgress::new("salvaging");
    let mut show = |event: &Recorded| {
        if let Some(written) = &mut written {
            written.add(event);
        }
    };
    let salvaged = segment::salvage(from, to, &mut show, &mut |done, total| shown.set(done, total));
    drop(shown);
    let salvaged = salvaged.map_err(|error| failure(from, &error))?;
    if let Some(written) = written {
        written.end()?;
    }
    print(&salvaged, json, to);
    match &salvaged.damage {
        Some(damage) if salvaged.head == Position::START => Err(Failure::corrupt(format!(
            "nothing could be kept: {} is damaged at byte {}: {}",
            damage.segment, damage.offset, damage.reason
        ))),
        _ => Ok(()),
    }
}

/// The file with the events behind the damage.
struct Written<'a> {
    path: &'a Path,
    file: BufWriter<std::fs::File>,
    result: std::io::Result<()>,
}

impl Written<'_> {
    fn create(path: &Path) -> Outcome<Written<'_>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| {
            Failure::failed(format!(
                "{} can't be made ({error}); name a file that is not there",
                path.display()
            ))
        })?;
        Ok(Written { path, file: BufWriter::new(file), result: Ok(()) })
    }

    fn add(&mut self, event: &Recorded) {
        if self.result.is_ok() {
            self.result = writeln!(self.file, "{}", as_json(event, false));
        }
    }

    fn end(mut self) -> Outcome {
        let ended = self.result.and_then(|()| self.file.flush());
        let ended = ended.and_then(|()| self.file.get_ref().sync_all());
        ended.map_err(|error| {
            Failure::failed(format!("{} can't be written: {error}", self.path.display()))
        })
    }
}

fn failure(from: &Path, error: &SalvageError) -> Failure {
    match error {
        SalvageError::NoLog => no_log(from),
        SalvageError::NotEmpty { .. } | SalvageError::SameFolder | SalvageError::Locked(_) => {
            Failure::refused(sentence(error))
        }
        SalvageError::Io { .. } => Failure::failed(sentence(error)),
    }
}

fn print(salvaged: &Salvaged, as_json: bool, to: &Path) {
    let hash = blake3::Hash::from(salvaged.head_hash).to_hex();
    let behind = &salvaged.behind;
    if as_json {
        let damage = salvaged.damage.as_ref().map(|damage| {
            json!({ "segment": damage.segment, "offset": damage.offset, "reason": damage.reason })
        });
        let mended = salvaged.mended.iter().map(|mended| {
            json!({ "segment": mended.segment, "offset": mended.offset, "what": mended.what })
        });
        let json = json!({
            "log": salvaged.log.0,
            "folder": to,
            "head": salvaged.head.0,
            "headHash": hash.as_str(),
            "segments": salvaged.segments,
            "commits": salvaged.commits,
            "mended": mended.collect::<Vec<_>>(),
            "damage": damage,
            "behind": {
                "frames": behind.frames,
                "commits": behind.commits,
                "events": behind.events,
                "first": behind.first,
                "last": behind.last,
            },
        });
        say!("{json:#}");
        return;
    }
    say!("salvaged into {}", to.display());
    say!("kept       {} events in {} commits", salvaged.head, salvaged.commits);
    say!("head hash  {hash}");
    for mended in &salvaged.mended {
        say!("mended     {} at byte {}: {}", mended.segment, mended.offset, mended.what);
    }
    let Some(damage) = &salvaged.damage else {
        say!("nothing is lost");
        return;
    };
    say!("damaged    {} at byte {}: {}", damage.segment, damage.offset, damage.reason);
    match (behind.first, behind.last) {
        (Some(first), Some(last)) => say!(
            "not kept   {} events behind it can be read, from position {first} to {last}; --behind FILE writes them to a file",
            behind.events
        ),
        _ => say!("not kept   no event can be read behind it"),
    }
}
