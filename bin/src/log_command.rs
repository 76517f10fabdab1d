//! `scripta log verify` and `log stat`: they read beside a running server, and never write.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use scripta_events::codec;
use scripta_events::domain::{
    BRANCH, BranchEvent, CHAT, ChatEvent, Meta, PROJECT, ProjectEvent, RUN, RunEvent,
};
use scripta_events::log::Recorded;
use scripta_events::segment::{FileDisk, Verified, VerifyError, verify};
use serde_json::json;

use crate::cli::{Log, LogFormat};
use crate::data::DataFolder;
use crate::failure::{Failure, Outcome, sentence};
use crate::store::blocking;

/// Runs one of the commands.
pub async fn run(data: &DataFolder, command: Log) -> Outcome {
    let data = data.clone();
    blocking(move || match command {
        Log::Verify(LogFormat { json }) => {
            let verified = read(&data, &mut decodes)?;
            print(&verified, json, "the log is whole")
        }
        Log::Stat(LogFormat { json }) => {
            let verified = read(&data, &mut |_| Ok(()))?;
            print(&verified, json, "the log")
        }
    })
    .await
}

fn read(
    data: &DataFolder,
    check: &mut dyn FnMut(&Recorded) -> Result<(), String>,
) -> Outcome<Verified> {
    let bar = ProgressBar::new(0);
    if let Ok(style) =
        ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")
    {
        bar.set_style(style);
    }
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let disk = FileDisk::existing(&data.log());
    let verified = verify(&disk, check, &mut |read, total| {
        bar.set_length(total);
        bar.set_position(read);
    });
    bar.finish_and_clear();
    let folder = data.log();
    verified.map_err(|error| match &error {
        VerifyError::Corrupt { .. } | VerifyError::HeadMissing { .. } => {
            Failure::corrupt(format!("{error}; restore a backup of {}", folder.display()))
        }
        VerifyError::NoLog => no_log(&folder),
        VerifyError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            no_log(&folder)
        }
        VerifyError::Io { .. } => Failure::failed(sentence(&error)),
    })
}

fn no_log(folder: &std::path::Path) -> Failure {
    Failure::failed(format!(
        "there is no log in {}; name a data folder with --data",
        folder.display()
    ))
}

/// Whether an event is one that this program knows, whole.
fn decodes(event: &Recorded) -> Result<(), String> {
    let position = event.position;
    let decoded = match event.stream.category {
        PROJECT => codec::decode::<ProjectEvent>(event).map(|_| ()),
        CHAT => codec::decode::<ChatEvent>(event).map(|_| ()),
        BRANCH => codec::decode::<BranchEvent>(event).map(|_| ()),
        RUN => codec::decode::<RunEvent>(event).map(|_| ()),
        other => return Err(format!("the event at {position} is of the unknown category {other}")),
    };
    decoded.map_err(|error| sentence(&error))?;
    Meta::from_bytes(&event.meta)
        .map(|_| ())
        .map_err(|reason| format!("the event at {position}: {reason}"))
}

fn print(verified: &Verified, as_json: bool, title: &str) -> Outcome {
    let time = Timestamp::from_microsecond(verified.time.0).unwrap_or(Timestamp::UNIX_EPOCH);
    let hash = blake3::Hash::from(verified.head_hash).to_hex();
    if as_json {
        let json = json!({
            "log": verified.log.0,
            "segments": verified.segments,
            "frames": verified.frames,
            "commits": verified.commits,
            "events": verified.events,
            "streams": verified.streams,
            "bytes": verified.bytes,
            "lastTime": time.to_string(),
            "headHash": hash.as_str(),
            "tornAt": verified.torn_at,
        });
        println!("{json:#}");
        return Ok(());
    }
    println!("{title}: {}", verified.log);
    println!("events     {}", verified.events);
    println!("commits    {}", verified.commits);
    println!("streams    {}", verified.streams);
    println!("frames     {}", verified.frames);
    println!("segments   {}", verified.segments);
    println!("bytes      {}", verified.bytes);
    println!("last write {time}");
    println!("head hash  {hash}");
    if let Some(offset) = verified.torn_at {
        println!(
            "the last segment ends in a torn frame at byte {offset}: a running server is writing it, or a crash left it and the next start cuts it off"
        );
    }
    Ok(())
}
