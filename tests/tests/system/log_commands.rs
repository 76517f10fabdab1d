//! `scripta log …` as whole processes: beside a running server, under load, and on damage.

use std::path::Path;

use scripta_tests::binary::{self, Ended};
use scripta_tests::mcp::{Client, Era};
use scripta_tests::server::{DataFolder, Server};
use serde_json::Value;

use crate::says::{create_chat, create_project, new_chat, submit};

/// Small segments, so that a few turns fill several.
const SMALL: &[&str] = &["--segment-bytes", "4KiB", "--reserve-bytes", "0"];

/// A data folder with a log of several segments, stopped in good order; how many events it has.
async fn with_segments() -> (DataFolder, u64) {
    let data = DataFolder::new();
    let server = Server::start_with(&data, SMALL).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    for turn in 0..5 {
        submit(&client, &chat, &format!("What is {turn} times {turn}? {}", "Tell me. ".repeat(60)))
            .await;
    }
    server.stop().await;
    assert!(data.segments().len() >= 3, "{:?}", data.segments());
    let events = json(&data.run(&["log", "verify", "--json"]).expect_code(0));
    let events = events["events"].as_u64().unwrap();
    (data, events)
}

#[track_caller]
fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

#[track_caller]
fn json_lines(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn run_in(data: &Path, arguments: &[&str]) -> Ended {
    let mut all = vec!["--data", data.to_str().unwrap()];
    all.extend(arguments);
    binary::run(&all)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[tokio::test]
async fn events_are_shown_decoded_beside_a_running_server() {
    let data = DataFolder::new();
    let server = Server::start_with(&data, SMALL).await;
    let client = Client::raw(&server, Era::Modern).await;
    let project = create_project(&client, "Birds").await;
    let chat = create_chat(&client, &project, "On owls").await;
    submit(&client, &chat, "Why do owls turn their heads?").await;

    let lines = json_lines(&data.run(&["log", "dump"]).expect_code(0));
    let positions: Vec<_> = lines.iter().map(|line| line["position"].as_u64().unwrap()).collect();
    assert!(positions.iter().copied().eq(1..=lines.len() as u64), "{positions:?}");
    assert_eq!(lines[0]["type"], "ProjectCreated");
    assert_eq!(lines[0]["payload"]["name"], "Birds");
    assert_eq!(lines[0]["stream"]["category"], "project");
    assert_eq!(lines[0]["stream"]["id"], project.as_str());
    for key in ["revision", "time", "operation", "version", "size", "code", "meta"] {
        assert!(!lines[0][key].is_null(), "{key} in {}", lines[0]);
    }

    let of_chat = data.run(&["log", "dump", "--stream", &chat, "--category", "chat"]);
    assert_eq!(json_lines(&of_chat.expect_code(0))[0]["payload"]["title"], "On owls");
    let typed = json_lines(&data.run(&["log", "dump", "--type", "ChatCreated"]).expect_code(0));
    assert_eq!(typed.len(), 1);
    let part = data.run(&["log", "dump", "--after", "1", "--until", "3", "--raw"]).expect_code(0);
    let part = json_lines(&part);
    assert_eq!(part.len(), 2);
    assert!(part.iter().all(|line| line["base64"].is_string() && line["payload"].is_null()));

    let tail = json_lines(&data.run(&["log", "tail", "-n", "2", "--json"]).expect_code(0));
    assert_eq!(tail[..], lines[lines.len() - 2..]);
    let tail = data.run(&["log", "tail", "-n", "3"]).expect_code(0);
    assert_eq!(tail.stdout.lines().count(), 3, "{}", tail.stdout);
    let rare = data.run(&["log", "tail", "-n", "1", "--type", "ProjectCreated", "--json"]);
    assert_eq!(json_lines(&rare.expect_code(0))[0]["position"], 1);

    let stat = json(&data.run(&["log", "stat", "--json"]).expect_code(0));
    assert_eq!(stat["events"].as_u64(), Some(lines.len() as u64));
    assert_eq!(stat["categories"][0]["types"]["ProjectCreated"], 1);
    data.run(&["log", "dump", "--type", "Nonsense"]).expect_refusal(2, &["Nonsense"]);
    data.run(&["log", "dump", "--category", "birds"]).expect_refusal(2, &["birds"]);
    server.stop().await;
}

#[tokio::test]
async fn a_backup_under_load_is_restored_elsewhere() {
    let data = DataFolder::new();
    let server = Server::start_with(&data, SMALL).await;
    let client = Client::raw(&server, Era::Modern).await;
    let chat = new_chat(&client).await;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("backup");
    let backup = ["log", "backup", to.to_str().unwrap(), "--json"];
    let mut first = Value::Null;
    let mut last = Value::Null;
    for turn in 0..8 {
        let load = submit(&client, &chat, "And one more, at some length, please, as you like.");
        // The command runs while the turn does.
        let copied = async {
            let (path, backup) = (data.path().to_owned(), backup.map(str::to_owned));
            let run = move || run_in(&path, &backup.each_ref().map(String::as_str));
            tokio::task::spawn_blocking(run).await.unwrap()
        };
        let (_, copied) = tokio::join!(load, copied);
        last = json(&copied.expect_code(0));
        if turn == 0 {
            first = last.clone();
        }
        run_in(&to, &["log", "verify"]).expect_code(0);
    }
    assert!(last["head"].as_u64() > first["head"].as_u64());
    assert!(last["segments"].as_u64().unwrap() > last["copiedSegments"].as_u64().unwrap());
    server.stop().await;
    data.run(&backup).expect_code(0);
    let again = json(&data.run(&backup).expect_code(0));
    assert_eq!(again["copiedBytes"], 0, "nothing is new");

    let place = DataFolder::new();
    let restored = place.run(&["log", "restore", to.to_str().unwrap(), "--json"]).expect_code(0);
    let (restored, head) = (json(&restored), again["headHash"].as_str().unwrap().to_owned());
    assert_eq!(restored["head"], again["head"]);
    // The head that the backup told is in both chains.
    for place in [data.path(), place.path(), &to] {
        let verify = run_in(place, &["log", "verify", "--expect-head", &head, "--json"]);
        assert_eq!(json(&verify.expect_code(0))["expectedHeadAt"], again["head"]);
    }
    place.run(&["log", "restore", to.to_str().unwrap()]).expect_refusal(3, &["already"]);

    let server = Server::start(&place).await;
    let client = Client::raw(&server, Era::Modern).await;
    submit(&client, &chat, "Do you remember?").await;
    server.stop().await;
    // What went on by itself is no beginning of the other any more, nor the other of it.
    place.run(&backup).expect_code(0);
    data.run(&backup).expect_refusal(3, &["another folder"]);
}

#[tokio::test]
async fn a_cut_tail_is_noticed_by_the_expected_head() {
    let (data, _) = with_segments().await;
    let head = json(&data.run(&["log", "verify", "--json"]).expect_code(0));
    let head = head["headHash"].as_str().unwrap();
    data.run(&["log", "verify", "--expect-head", head]).expect_code(0);
    data.run(&["log", "verify", "--expect-head", "beef"]).expect_refusal(2, &["beef"]);
    std::fs::remove_file(data.segments().pop().unwrap()).unwrap();
    data.run(&["log", "verify"]).expect_code(0);
    let last = file_name(data.segments().last().unwrap());
    data.run(&["log", "verify", "--expect-head", head])
        .expect_refusal(4, &[&last, "expected head"]);
}

#[tokio::test]
async fn what_is_good_of_a_damaged_log_is_salvaged() {
    let (data, events) = with_segments().await;
    let segments = data.segments();
    let damaged = &segments[1];
    let mut bytes = std::fs::read(damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(damaged, &bytes).unwrap();
    let name = file_name(damaged);
    for command in [&["log", "verify"][..], &["log", "stat"], &["log", "dump"]] {
        data.run(command).expect_refusal(4, &[&name, "byte"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("backup");
    data.run(&["log", "backup", to.to_str().unwrap()]).expect_refusal(4, &[&name, "byte"]);

    let before: Vec<_> = segments.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let new = folder.path().join("new");
    let lost = folder.path().join("lost.jsonl");
    let salvage = ["log", "salvage", new.to_str().unwrap(), "--json"];
    let with_behind: Vec<_> =
        salvage.into_iter().chain(["--behind", lost.to_str().unwrap()]).collect();
    let report = json(&data.run(&with_behind).expect_code(0));
    assert_eq!(report["damage"]["segment"], name.as_str());
    let (kept, behind) = (report["head"].as_u64().unwrap(), &report["behind"]["events"]);
    assert!(kept > 0 && kept + behind.as_u64().unwrap() < events, "{report}");
    let shown = std::fs::read_to_string(&lost).unwrap();
    assert_eq!(shown.lines().count() as u64, behind.as_u64().unwrap());
    let after: Vec<_> = segments.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(before == after, "the damaged log was changed");
    let verified = json(&run_in(&new, &["log", "verify", "--json"]).expect_code(0));
    assert_eq!(verified["events"].as_u64(), Some(kept));
    data.run(&salvage).expect_refusal(3, &["already"]);

    // A damaged backup is restored as far as it is good, when that is asked for.
    let place = DataFolder::new();
    let from = data.path().to_str().unwrap();
    place.run(&["log", "restore", from]).expect_refusal(4, &[&name]);
    place.run(&["log", "restore", from, "--salvage"]).expect_code(0);
    place.run(&["log", "verify"]).expect_code(0);
    let server = Server::start(&place).await;
    server.stop().await;
}

#[tokio::test]
async fn a_rebuilt_index_says_so_and_sizes_are_checked() {
    let (data, events) = with_segments().await;
    std::fs::remove_dir_all(data.path().join("index")).unwrap();
    let server = Server::start(&data).await;
    server.stop().await;
    let after = json(&data.run(&["log", "verify", "--json"]).expect_code(0));
    assert!(after["events"].as_u64().unwrap() >= events);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--segment-bytes", "2GiB"];
    data.run(&serve).expect_refusal(2, &["--segment-bytes"]);
}

#[test]
fn a_folder_without_a_log_is_named() {
    let data = DataFolder::new();
    let folder = data.path().to_str().unwrap().to_owned();
    for command in [
        &["log", "verify"][..],
        &["log", "stat"],
        &["log", "tail"],
        &["log", "dump"],
        &["log", "backup", "elsewhere"],
        &["log", "salvage", "elsewhere"],
        &["log", "restore", &folder],
    ] {
        data.run(command).expect_refusal(1, &["no log", &folder]);
    }
}

#[tokio::test]
async fn a_reader_that_has_gone_ends_no_command_in_a_panic() {
    let (data, _) = with_segments().await;
    for command in [&["log", "verify"][..], &["log", "stat", "--json"], &["log", "dump"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = binary::command()
            .args(["--data", data.path().to_str().unwrap()])
            .args(command)
            .stdin(std::process::Stdio::null())
            .stdout(writer)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !told.contains("panicked"), "{command:?}: {told}");
    }
}
