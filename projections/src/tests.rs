//! Tests of all projections together.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use scripta_events::domain::*;

use crate::testing::{History, message};
use crate::{
    BranchStatus, PauseReason, ProjectionName, Projections, RunStatus, SearchQuery, WaitError,
};

async fn caught_up(history: &History, projections: &Projections) {
    projections.reach(history.head()).await.unwrap();
}

fn texts(projections: &Projections, branch: BranchId) -> Vec<String> {
    let rows = projections.messages(branch, 1..=u64::MAX).unwrap();
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row.place, index as u64 + 1);
        let parent = index.checked_sub(1).map(|before| rows[before].message.id);
        assert_eq!(row.parent, parent);
    }
    rows.iter().map(|row| row.message.texts().collect()).collect()
}

/// A chat of a-b-c, a fork after b with d-e, and a fork of that after d with f.
struct Forked {
    project: ProjectId,
    chat: ChatId,
    outer: BranchId,
    inner: BranchId,
}

fn forked(history: &History) -> Forked {
    let project = history.project("Alpha");
    let chat = history.chat(project, "Notes");
    let first = chat.first_branch();
    history.say(chat, first, Role::User, "aaa shared");
    let b = history.say(chat, first, Role::Assistant, "bbb shared");
    let outer = history.fork(project, chat, first, 2, b);
    history.say(chat, first, Role::User, "ccc only first");
    let d = history.say(chat, outer, Role::User, "ddd outer");
    let inner = history.fork(project, chat, outer, 1, d);
    history.say(chat, outer, Role::User, "eee outer");
    history.say(chat, inner, Role::User, "fff inner");
    Forked { project, chat, outer, inner }
}

#[tokio::test]
async fn chains_cross_nested_forks() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let Forked { project, chat, outer, inner } = forked(&history);
    caught_up(&history, &projections).await;

    let first = chat.first_branch();
    assert_eq!(texts(&projections, first), ["aaa shared", "bbb shared", "ccc only first"]);
    assert_eq!(texts(&projections, inner), ["aaa shared", "bbb shared", "ddd outer", "fff inner"]);
    let ids = |branch, places| {
        let rows = projections.messages(branch, places).unwrap();
        rows.iter().map(|row| row.message.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(first, 1..=2), ids(inner, 1..=2));
    assert_eq!(ids(outer, 3..=3), ids(inner, 3..=3));
    assert_eq!(projections.messages(inner, 4..=9).unwrap().len(), 1);
    assert_eq!(projections.chain_length(inner).unwrap(), 4);
    let branches = projections.branches(chat).unwrap();
    assert_eq!(branches.iter().map(|row| row.id).collect::<Vec<_>>(), [first, outer, inner]);
    let row = projections.chat(chat).unwrap().unwrap();
    assert_eq!((row.branches, row.messages, row.revision), (3, 6, 1));
    assert_eq!(projections.project(project).unwrap().unwrap().chats, 1);

    let found = |branch, text: &str| {
        let query = SearchQuery { branch: Some(branch), ..SearchQuery::text(text) };
        projections.search(&query, None, 10).unwrap().hits.len()
    };
    assert_eq!((found(inner, "shared"), found(inner, "ddd"), found(inner, "fff")), (2, 1, 1));
    assert_eq!((found(inner, "eee"), found(inner, "ccc"), found(first, "ccc")), (0, 0, 1));
}

#[tokio::test]
async fn a_fork_adds_as_few_rows_to_a_long_history_as_to_a_short_one() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let mut growth = vec![];
    for length in [1, 600] {
        let chat = history.chat(project, "c");
        let say = |_| history.say(chat, chat.first_branch(), Role::User, "s");
        let said: Vec<_> = (0..length).map(say).collect();
        let last = said[said.len() - 1];
        caught_up(&history, &projections).await;
        let before = projections.dump();
        let fork = history.fork(project, chat, chat.first_branch(), length, last);
        caught_up(&history, &projections).await;
        assert_eq!(projections.chain_length(fork).unwrap(), length);
        let after = projections.dump();
        let bytes = |rows: &[(Vec<u8>, Vec<u8>)]| -> usize {
            rows.iter().map(|(key, row)| key.len() + row.len()).sum()
        };
        growth.push((after.len() - before.len(), bytes(&after) - bytes(&before)));
    }
    assert_eq!(growth[0].0, growth[1].0);
    // Numbers take a few bytes more where they are larger.
    assert!(growth[0].1.abs_diff(growth[1].1) <= 16, "{growth:?}");
}

#[tokio::test]
async fn listings_have_their_orders() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let beta = history.project("beta");
    let alpha = history.project("Alpha");
    let old = history.chat(beta, "old");
    let new = history.chat(beta, "new");
    caught_up(&history, &projections).await;
    assert_eq!(projections.project_ids().unwrap(), [alpha, beta]);
    assert_eq!(projections.chat_ids(Some(beta)).unwrap(), [new, old]);
    assert!(projections.chat_ids(Some(alpha)).unwrap().is_empty());

    history.say(old, old.first_branch(), Role::User, "again");
    let renamed = ChatEvent::from(ChatRenamed { title: "renamed".to_owned() });
    history.one(new.stream(), scripta_events::codec::Event::encode(&renamed).unwrap());
    caught_up(&history, &projections).await;
    assert_eq!(projections.chat_ids(None).unwrap(), [old, new]);
    let row = projections.chat(new).unwrap().unwrap();
    assert_eq!((row.title.as_str(), row.revision), ("renamed", 2));
}

#[tokio::test]
async fn queues_turns_and_runs_are_followed() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let chat = history.chat(project, "c");
    let branch = chat.first_branch();
    let asked = history.say(chat, branch, Role::User, "go");
    let run = history.start_run(project, chat, asked);
    let queued = message(Role::User, "next");
    history.branch_event(chat, branch, crate::testing::queued(&queued));
    caught_up(&history, &projections).await;
    let row = projections.branch(branch).unwrap().unwrap();
    assert_eq!(row.status(), BranchStatus::Running { run });
    assert_eq!(projections.queue(branch).unwrap(), std::slice::from_ref(&queued));
    assert_eq!(projections.unfinished().unwrap(), (vec![], vec![(chat, run)]));

    history.run_event(chat, run, ModelStepStarted { step: 1 });
    history.run_event(chat, run, RunStopped {});
    history.branch_event(chat, branch, TurnEnded { run, outcome: TurnOutcome::Stopped });
    caught_up(&history, &projections).await;
    let row = projections.branch(branch).unwrap().unwrap();
    assert_eq!(row.status(), BranchStatus::Paused { reason: PauseReason::Stopped });
    let row = projections.run(run).unwrap().unwrap();
    assert_eq!((row.status, row.step), (RunStatus::Stopped, 1));
    assert_eq!(projections.unfinished().unwrap(), (vec![], vec![]));
    assert_eq!(projections.run_ids(Some(project), None, Some(branch)).unwrap(), [run]);
    assert_eq!(projections.run_ids(None, None, None).unwrap(), [run]);

    let second = history.start_run(project, chat, queued.id);
    history.branch_event(chat, branch, TurnEnded { run: second, outcome: TurnOutcome::Completed });
    caught_up(&history, &projections).await;
    assert_eq!(projections.unfinished().unwrap().0, [(chat, branch)]);
    history.branch_event(chat, branch, MessageAppended { message: queued.clone() });
    caught_up(&history, &projections).await;
    assert!(projections.unfinished().unwrap().0.is_empty());
    assert!(projections.queue(branch).unwrap().is_empty());
    assert_eq!(projections.message(queued.id).unwrap().unwrap().place, 2);
    assert_eq!(projections.run_ids(None, Some(chat), None).unwrap(), [second, run]);
}

#[tokio::test]
async fn a_rebuild_equals_what_was_followed_live_and_a_restart_goes_on() {
    let history = History::new();
    let live_dir = tempfile::tempdir().unwrap();
    let live = history.open(live_dir.path());
    let Forked { project, chat, .. } = forked(&history);
    history.workspace();
    live.reach(history.head()).await.unwrap();
    let documents = live.workspace().unwrap();
    assert!(documents.default_connection().is_some_and(|it| it.revision == 2 && it.credential));
    let kept = belongings(&history, project);
    history.review(chat, "first look");
    live.reach(history.head()).await.unwrap();
    history.memory_event(None, kept, pinned(false));
    history.project_event(project, InstructionsReplaced { text: "Be long.".to_owned() });
    let asked = history.say(chat, chat.first_branch(), Role::User, "go");
    history.start_run(project, chat, asked);
    live.reach(history.head()).await.unwrap();
    let reached = history.head();
    live.close();
    drop(live);

    let resumed = history.open(live_dir.path());
    assert!(resumed.status().iter().all(|status| status.position == reached), "no restart at 0");
    history.say(chat, chat.first_branch(), Role::Assistant, "after the restart");
    resumed.reach(history.head()).await.unwrap();

    let fresh_dir = tempfile::tempdir().unwrap();
    let fresh = history.open(fresh_dir.path());
    fresh.reach(history.head()).await.unwrap();
    assert_eq!(resumed.dump(), fresh.dump());
    let query = SearchQuery { is_regex: true, ..SearchQuery::text(".") };
    let page = |it: &Projections| it.search(&query, None, 100).unwrap();
    assert_eq!(page(&resumed).hits.len(), 8);
    assert_eq!(page(&resumed), page(&fresh));
}

fn pinned(pinned: bool) -> MemoryUpdated {
    MemoryUpdated { title: None, text: None, tags: None, pinned: Some(pinned) }
}

/// Instructions, and memory of which one entry of the workspace stays.
fn belongings(history: &History, project: ProjectId) -> MemoryId {
    history.project_event(project, InstructionsReplaced { text: "Be brief.".to_owned() });
    let kept = history.memory(None, "kept", false);
    let deleted = history.memory(Some(project), "deleted", true);
    history.memory_event(None, kept, pinned(true));
    history.memory_event(Some(project), deleted, MemoryDeleted {});
    history.project_event(project, renamed("Renamed"));
    for path in ["/srv/a", "/srv/b"] {
        let resource = ResourceId::random();
        let kind = ResourceKind::File;
        history.project_event(project, ResourceCreated { resource, path: path.to_owned(), kind });
        history.project_event(project, ResourceRetired { resource });
    }
    kept
}

fn renamed(name: &str) -> ProjectUpdated {
    let connection = Some(ConnectionId("c".to_owned()));
    let name = Some(name.to_owned());
    ProjectUpdated { name, directories: None, default_connection: Some(connection) }
}

#[tokio::test]
async fn a_project_is_listed_by_its_new_name_and_its_resources_by_creation() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let (first, second) = (history.project("b"), history.project("c"));
    history.project_event(second, renamed("a"));
    let make = |project, path: &str| {
        let (resource, kind) = (ResourceId::random(), ResourceKind::Directory);
        history.project_event(project, ResourceCreated { resource, path: path.to_owned(), kind });
        resource
    };
    let (one, other, two) = (make(first, "/1"), make(second, "/o"), make(first, "/2"));
    history.project_event(first, ResourceRetired { resource: one });
    caught_up(&history, &projections).await;
    assert_eq!(projections.project_ids().unwrap(), [second, first]);
    let row = projections.project(second).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.revision), ("a", 2));
    assert_eq!(row.default_connection, Some(ConnectionId("c".to_owned())));
    assert_eq!(projections.resource_ids(Some(first)).unwrap(), [one, two]);
    assert_eq!(projections.resource_ids(None).unwrap(), [one, other, two]);
    let row = projections.resource(one).unwrap().unwrap();
    assert_eq!((row.path.as_str(), row.revision, row.retired_at.is_some()), ("/1", 2, true));
    assert!(projections.resource(two).unwrap().unwrap().retired_at.is_none());
}

#[tokio::test]
async fn reviews_are_listed_by_creation_and_follow_their_changes() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let chat = history.chat(history.project("p"), "c");
    let (one, two) = (history.review(chat, "one"), history.review(chat, "two"));
    let comment = ReviewComment { file: "a".to_owned(), line: Some(1), text: "Why?".to_owned() };
    let updated = ReviewUpdated { name: None, files: None, comments: Some(vec![comment.clone()]) };
    history.review_event(chat, one, updated);
    caught_up(&history, &projections).await;
    assert_eq!(projections.review_ids(chat).unwrap(), [one, two]);
    let row = projections.review(one).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.revision, row.comments), ("one", 2, vec![comment]));
    assert!(projections.review(two).unwrap().unwrap().comments.is_empty());
}

#[tokio::test]
async fn memory_is_listed_by_creation_and_told_the_pinned_first() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let plain = history.memory(Some(project), "plain", false);
    let kept = belongings(&history, project);
    let other = history.memory(Some(history.project("q")), "other", true);
    let late = history.memory(Some(project), "late", true);
    caught_up(&history, &projections).await;

    let told = |limit| {
        let rows = projections.memory_told(project, limit).unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert_eq!(told(10), [kept, late, plain]);
    assert_eq!(told(2), [kept, late]);
    assert_eq!(projections.memory_ids().unwrap(), [plain, kept, other, late]);
    assert_eq!(projections.memory_ids_of(Some(project)).unwrap(), [plain, late]);
    assert_eq!(projections.memory_ids_of(None).unwrap(), [kept]);
    let row = projections.memory(kept).unwrap().unwrap();
    assert_eq!((row.revision, row.pinned, row.deleted), (2, true, false));
    let instructions = projections.instructions(project).unwrap().unwrap();
    assert_eq!((instructions.text.as_str(), instructions.revision), ("Be brief.", 1));
}

#[tokio::test]
async fn projections_of_another_log_or_ahead_of_it_are_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let history = History::new();
    forked(&history);
    let projections = history.open(dir.path());
    caught_up(&history, &projections).await;
    drop(projections);

    let other = History::new();
    let project = other.project("Other");
    let chat = other.chat(project, "c");
    other.say(chat, chat.first_branch(), Role::User, "hello shared");
    let projections = other.open(dir.path());
    caught_up(&other, &projections).await;
    assert_eq!(projections.project_ids().unwrap(), [project]);
    let page = projections.search(&SearchQuery::text("shared"), None, 10).unwrap();
    assert_eq!(page.hits.len(), 1);
    assert_eq!(page.hits[0].project_name, "Other");
}

/// Damages the folders of projections that followed a history, and checks that they come back.
async fn comes_back_after(damage: impl FnOnce(&std::path::Path)) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let history = History::new();
    let Forked { project, .. } = forked(&history);
    let projections = history.open(dir.path());
    caught_up(&history, &projections).await;
    drop(projections);
    damage(dir.path());

    let projections = history.open(dir.path());
    caught_up(&history, &projections).await;
    assert_eq!(projections.project_ids().unwrap(), [project]);
    let page = projections.search(&SearchQuery::text("shared"), None, 10).unwrap();
    assert_eq!(page.hits.len(), 2);
    dir
}

#[tokio::test]
async fn folders_that_do_not_open_are_set_aside() {
    let dir = comes_back_after(|dir| {
        let file = dir.join("rows").join("db");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        std::fs::write(dir.join("search").join("meta.json"), b"nonsense").unwrap();
    })
    .await;
    assert!(dir.path().join("rows.damaged").exists());
    assert!(dir.path().join("search.damaged").exists());
}

#[tokio::test]
async fn damaged_rows_and_missing_segments_come_back_from_the_log() {
    comes_back_after(|dir| {
        let file = dir.join("rows").join("db");
        let length = std::fs::metadata(&file).unwrap().len();
        std::fs::write(&file, vec![0xa5; usize::try_from(length).unwrap()]).unwrap();
        for entry in std::fs::read_dir(dir.join("search")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "store") {
                std::fs::remove_file(path).unwrap();
            }
        }
    })
    .await;
}

#[tokio::test]
async fn deleted_folders_come_back_from_the_log() {
    comes_back_after(|dir| std::fs::remove_dir_all(dir).unwrap()).await;
}

#[tokio::test]
async fn a_folder_in_use_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let history = History::new();
    let projections = history.open(dir.path());
    let second = Projections::open(history.shared(), dir.path(), crate::Options::default());
    assert!(matches!(second.map(|_| ()), Err(crate::OpenError::InUse { .. })));
    let project = history.project("still here");
    caught_up(&history, &projections).await;
    assert_eq!(projections.project_ids().unwrap(), [project]);
}

#[tokio::test]
async fn an_event_that_is_not_known_stops_its_projection_alone() {
    let dir = tempfile::tempdir().unwrap();
    let history = History::new();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let chat = history.chat(project, "c");
    let before = history.head();
    history.unknown(RunId::random().stream(chat));
    history.say(chat, chat.first_branch(), Role::User, "goes on");

    let error = projections.reach(history.head()).await.unwrap_err();
    let WaitError::Stopped { projection: "runs", reached, reason } = error else {
        panic!("{error}");
    };
    assert_eq!(reached, before);
    assert!(reason.contains("0x7fff") && reason.contains("position 4"), "{reason}");
    // Reads of the others wait for the others only.
    let others = [ProjectionName::Projects, ProjectionName::Chats, ProjectionName::Search];
    projections.reach_in(&others, history.head()).await.unwrap();
    for status in projections.status() {
        assert_eq!(status.stopped.is_some(), status.name == "runs", "{status:?}");
    }
    assert_eq!(projections.chain_length(chat.first_branch()).unwrap(), 1);
    let page = projections.search(&SearchQuery::text("goes on"), None, 10).unwrap();
    assert_eq!(page.hits.len(), 1);
}
