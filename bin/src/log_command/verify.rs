//! `scripta log verify`.

use jiff::Timestamp;
use scripta_events::log::Recorded;
use scripta_events::segment::{Demands, FileDisk, Verified, verify_with};
use serde_json::{Value, json};

use super::event::decodes;
use super::read_failure;
use crate::cli::Verify;
use crate::data::DataFolder;
use crate::failure::{Failure, Outcome};
use crate::progress::ByteProgress;

/// Checks every byte, and prints what there is.
pub fn run(data: &DataFolder, arguments: &Verify) -> Outcome {
    let head = arguments.expect_head.as_deref().map(|text| {
        let hash = blake3::Hash::from_hex(text).map(|hash| *hash.as_bytes());
        hash.map_err(|_| {
            Failure::usage(format!(
                "{text:?} is no head hash; write the 64 hexadecimal digits that `log verify` printed"
            ))
        })
    });
    let head = head.transpose()?;
    let verified = read(data, head, &mut decodes)?;
    if arguments.format.json {
        say!("{:#}", as_json(&verified));
        return Ok(());
    }
    say!("the log is whole: {}", verified.log);
    print(&verified);
    if let Some(position) = verified.demanded_head {
        say!("the expected head is in it, at position {position}");
    }
    Ok(())
}

/// Reads all of the log, which must have a frame with the hash `head`.
pub fn read(
    data: &DataFolder,
    head: Option<[u8; 32]>,
    check: &mut dyn FnMut(&Recorded) -> Result<(), String>,
) -> Outcome<Verified> {
    let folder = data.log();
    let mut shown = ByteProgress::new("reading the log");
    let demands = Demands { head, durable: true };
    let disk = FileDisk::existing(&folder);
    let verified = verify_with(&disk, demands, check, &mut |done, total| shown.set(done, total));
    drop(shown);
    verified.map_err(|error| read_failure(&folder, &error))
}

/// What was found, for programs.
pub fn as_json(verified: &Verified) -> Value {
    json!({
        "log": verified.log.0,
        "segments": verified.segments,
        "frames": verified.frames,
        "commits": verified.commits,
        "events": verified.events,
        "streams": verified.streams,
        "bytes": verified.bytes,
        "lastTime": time(verified).to_string(),
        "headHash": blake3::Hash::from(verified.head_hash).to_hex().as_str(),
        "tornAt": verified.torn_at,
        "expectedHeadAt": verified.demanded_head,
    })
}

/// The same for people.
pub fn print(verified: &Verified) {
    say!("events     {}", verified.events);
    say!("commits    {}", verified.commits);
    say!("streams    {}", verified.streams);
    say!("frames     {}", verified.frames);
    say!("segments   {}", verified.segments);
    say!("bytes      {}", verified.bytes);
    say!("last write {}", time(verified));
    say!("head hash  {}", blake3::Hash::from(verified.head_hash).to_hex());
    if let Some(offset) = verified.torn_at {
        say!(
            "the last segment ends in a torn frame at byte {offset}: a running server is writing it, or a crash left it and the next start cuts it off"
        );
    }
}

fn time(verified: &Verified) -> Timestamp {
    Timestamp::from_microsecond(verified.time.0).unwrap_or(Timestamp::UNIX_EPOCH)
}
