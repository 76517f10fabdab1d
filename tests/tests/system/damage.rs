//! Damage to the log is found, named by file and offset, and never served.

use std::path::Path;

use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};

use crate::says::{new_chat, submit};

/// The length of a segment's header, in bytes.
const SEGMENT_HEADER: usize = 96;
/// What every frame begins with.
const FRAME_MAGIC: &[u8] = b"\xf5FRM";

/// Where a frame lies in its segment.
#[derive(Clone, Copy, Debug)]
struct Frame {
    offset: usize,
    length: usize,
}

/// The frames of a segment, by the documented layout: magic, length, …
fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut offset = SEGMENT_HEADER;
    while bytes[offset..].starts_with(FRAME_MAGIC) {
        let length = bytes[offset + 4..offset + 8].try_into().expect("four bytes");
        let length = u32::from_le_bytes(length) as usize;
        frames.push(Frame { offset, length });
        offset += length;
    }
    frames
}

/// A data folder with a conversation in it, whose server was stopped in good order or killed.
async fn with_a_conversation(clean: bool) -> DataFolder {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    submit(&client, &chat, "What does a magpie steal?").await;
    submit(&client, &chat, "And why?").await;
    if clean {
        server.stop().await;
    } else {
        server.kill().await;
    }
    data
}

/// `log verify` names the segment and an offset within the damaged frame, and `serve` refuses.
#[track_caller]
fn expect_found(data: &DataFolder, segment: &Path, damage: Frame, at: usize) {
    let name = segment.file_name().unwrap().to_str().unwrap();
    let verify = data.run(&["log", "verify"]).expect_refusal(4, &[name]);
    let numbers: Vec<usize> = verify
        .stderr
        .replace(name, "")
        .split(|char: char| !char.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let within = damage.offset..damage.offset + damage.length;
    assert!(
        numbers.iter().any(|number| within.contains(number)),
        "byte {at} was flipped, in the frame at {within:?}: {}",
        verify.stderr
    );
    data.run(&["serve", "--listen", "127.0.0.1:0"]).expect_refusal(4, &[name, "verify"]);
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn one_byte_flipped_in_any_frame_after_a_clean_stop_is_found() {
    let data = with_a_conversation(true).await;
    let segment = data.segments().pop().expect("a segment");
    let bytes = std::fs::read(&segment).unwrap();
    let frames = frames(&bytes);
    assert!(frames.len() > 5, "{frames:?}");
    let untouched = data.run(&["log", "verify"]).expect_code(0);
    assert!(untouched.stdout.len() > 10, "it says what it found: {untouched:?}");
    for (number, frame) in frames.iter().enumerate() {
        // Another place in each frame: header, body, end.
        let at = frame.offset + (number * 37 + 5) % frame.length;
        flip(&segment, at);
        expect_found(&data, &segment, *frame, at);
        flip(&segment, at);
    }
    let header = Frame { offset: 0, length: SEGMENT_HEADER };
    flip(&segment, 20);
    expect_found(&data, &segment, header, 20);
    flip(&segment, 20);
    data.run(&["log", "verify"]).expect_code(0);
}

#[tokio::test]
async fn one_byte_flipped_in_any_but_the_last_frame_after_a_kill_is_found() {
    let data = with_a_conversation(false).await;
    let segment = data.segments().pop().expect("a segment");
    let frames = frames(&std::fs::read(&segment).unwrap());
    let (last, earlier) = frames.split_last().unwrap();
    for (number, frame) in earlier.iter().enumerate() {
        let at = frame.offset + (number * 41 + 9) % frame.length;
        flip(&segment, at);
        expect_found(&data, &segment, *frame, at);
        flip(&segment, at);
    }
    // What a crash leaves of the last one is cut off with a warning, and all before it is there.
    flip(&segment, last.offset + last.length / 2);
    let server = Server::start(&data).await;
    server.stop().await;
    data.run(&["log", "verify"]).expect_code(0);
}

/// A power cut leaves the front of a frame and then what the space held before: zeros. Such a log
/// opens without the frame that was never acknowledged.
#[tokio::test]
async fn a_torn_tail_opens() {
    let data = with_a_conversation(false).await;
    let segment = data.segments().pop().expect("a segment");
    let whole = std::fs::read(&segment).unwrap();
    let last = *frames(&whole).last().unwrap();
    for keep in [0, 1, 50, last.length / 2, last.length - 1] {
        let copy = data.copy();
        let path = copy.segments().pop().unwrap();
        let mut torn = whole.clone();
        torn[last.offset + keep..].fill(0);
        std::fs::write(&path, torn).unwrap();
        let server = Server::start(&copy).await;
        let client = Client::raw(&server, Era::Modern).await;
        new_chat(&client).await;
        server.stop().await;
        copy.run(&["log", "verify"]).expect_code(0);
    }
}

/// A file that has become shorter than it was after a clean stop is damage, wherever it was cut.
#[tokio::test]
async fn a_file_that_was_cut_short_is_found() {
    let data = with_a_conversation(true).await;
    let segment = data.segments().pop().expect("a segment");
    let whole = std::fs::read(&segment).unwrap();
    let frames = frames(&whole);
    let last = *frames.last().unwrap();
    let middle = frames[frames.len() / 2];
    for keep in [
        SEGMENT_HEADER / 2,
        middle.offset,
        middle.offset + middle.length / 2,
        last.offset,
        last.offset + last.length - 1,
    ] {
        std::fs::write(&segment, &whole[..keep]).unwrap();
        let name = segment.file_name().unwrap().to_str().unwrap();
        data.run(&["log", "verify"]).expect_refusal(4, &[name]);
        data.run(&["serve", "--listen", "127.0.0.1:0"]).expect_refusal(4, &[name, "verify"]);
    }
}

#[tokio::test]
async fn stat_and_verify_work_beside_a_running_server() {
    let data = DataFolder::new();
    let server = Server::start(&data).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    submit(&client, &chat, "Are you there?").await;
    let stat = data.run(&["log", "stat", "--json"]).expect_code(0);
    let stat: serde_json::Value = serde_json::from_str(&stat.stdout).expect("JSON");
    assert!(stat.to_string().contains("events"), "{stat}");
    data.run(&["log", "verify"]).expect_code(0);
    let verify = data.run(&["log", "verify", "--json"]).expect_code(0);
    serde_json::from_str::<serde_json::Value>(&verify.stdout).expect("JSON");
    server.stop().await;
}
