//! Operation ids, revisions, conflicts, refusals.

use std::sync::atomic::Ordering;

use futures::FutureExt;
use scripta_actors::{
    Branch, BranchCommand, BranchKey, Chat, ChatCommand, ExecuteError, LoadError, Options, Project,
    ProjectCommand, Refusal,
};
use scripta_events::domain::{BranchId, ChatId, MessageId, ProjectId};
use scripta_events::{Fingerprint, OperationId};

use crate::world::{World, create_chat, create_chat_with, message, meta, texts};

fn rename(title: &str, expected_revision: u64) -> ChatCommand {
    ChatCommand::Rename { title: title.to_owned(), expected_revision }
}

#[tokio::test]
async fn a_repeated_creation_answers_with_the_first_id() {
    let world = World::new(vec![]).await;
    let operation = Some(OperationId::random());
    let create = ProjectCommand::Create { name: "Twice".to_owned(), directories: vec![] };
    let first = ProjectId::random();
    let one = world.handle.execute::<Project>(first, create.clone(), meta(operation)).await;
    let before = world.count().await;
    let other = ProjectId::random();
    let two = world.handle.execute::<Project>(other, create, meta(operation)).await.unwrap();
    assert!(!one.unwrap().receipt.replayed);
    assert!(two.receipt.replayed);
    assert_eq!((two.id, two.state.id), (first, first));
    assert_eq!(world.count().await, before);
    assert!(world.handle.state::<Project>(other).await.unwrap().is_none());
}

#[tokio::test]
async fn a_replay_shows_the_document_of_then() {
    let world = World::new(vec![]).await;
    let operation = Some(OperationId::random());
    let run =
        |command, operation| world.handle.execute::<Chat>(world.chat, command, meta(operation));
    run(rename("Second", 1), operation).await.unwrap();
    run(rename("Third", 2), None).await.unwrap();
    let again = run(rename("Second", 1), operation).await.unwrap();
    assert!(again.receipt.replayed);
    assert_eq!((again.state.title.as_str(), again.state.revision), ("Second", 2));
    assert_eq!(world.chat_state().await.title, "Third");
}

#[tokio::test]
async fn the_same_operation_with_other_arguments_is_refused() {
    let world = World::new(vec![]).await;
    let operation = OperationId::random();
    let mut asked = meta(Some(operation));
    world.handle.execute::<Chat>(world.chat, rename("Second", 1), asked.clone()).await.unwrap();
    asked.fingerprint = Fingerprint::of(b"other");
    let error =
        world.handle.execute::<Chat>(world.chat, rename("Third", 2), asked).await.unwrap_err();
    assert!(matches!(error, ExecuteError::OperationReused { operation: id } if id == operation));
}

#[tokio::test]
async fn a_stale_revision_conflicts_with_the_current_document() {
    let world = World::new(vec![]).await;
    let before = world.count().await;
    let stale = world.handle.execute::<Chat>(world.chat, rename("Second", 7), meta(None)).await;
    let Err(ExecuteError::Conflict { id, expected, revision, state }) = stale else {
        panic!("{stale:?}");
    };
    assert_eq!((id, expected, revision, state.title.as_str()), (world.chat, 7, 1, "First"));
    assert_eq!(world.count().await, before);
}

#[tokio::test]
async fn nothing_to_change_writes_nothing_but_a_receipt() {
    let world = World::new(vec![]).await;
    let before = world.count().await;
    let operation = Some(OperationId::random());
    let run = |title, revision, operation| {
        world.handle.execute::<Chat>(world.chat, rename(title, revision), meta(operation))
    };
    let same = run("First", 1, operation).await.unwrap();
    assert_eq!((same.receipt.events, same.state.revision), (0, 1));
    assert_eq!(world.count().await, before);
    run("Second", 1, None).await.unwrap();
    let again = run("First", 1, operation).await.unwrap();
    assert!(again.receipt.replayed);
    assert_eq!(again.state.title, "First");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let world = World::new(vec![]).await;
    let nowhere = ChatId::random();
    let error =
        world.handle.execute::<Chat>(nowhere, rename("x", 1), meta(None)).await.unwrap_err();
    let missing = Refusal::NotFound { what: "chat", id: nowhere.0 };
    assert!(matches!(error, ExecuteError::Refused(refusal) if refusal == missing));
    let create = create_chat(ProjectId::random(), "x");
    let error = world.handle.execute::<Chat>(nowhere, create, meta(None)).await.unwrap_err();
    assert!(matches!(error, ExecuteError::Refused(Refusal::NotFound { what: "project", .. })));
    assert!(world.handle.state::<Chat>(nowhere).await.unwrap().is_none());
}

#[tokio::test]
async fn more_commands_at_a_time_than_allowed_are_refused() {
    let options = Options { max_in_flight: 1, ..Options::default() };
    let world = World::with(vec![], options, false).await;
    let gate = world.script.gate.lock().unwrap();
    let mut submit = Box::pin(world.submit_as(MessageId::random(), "hello"));
    assert!((&mut submit).now_or_never().is_none());
    let busy = world.handle.state::<Chat>(world.chat).now_or_never().unwrap();
    assert!(matches!(busy, Err(LoadError::Busy { limit: 1 })));
    drop(gate);
    submit.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_operation_sent_many_times_at_once_takes_effect_once() {
    let world = World::new(vec![]).await;
    let (other, id) = (world.another(), MessageId::random());
    let submits = (0..16).map(|place| {
        let handle = if place % 2 == 0 { &world.handle } else { &other };
        let command = BranchCommand::enqueue(message(id, "once"));
        handle.execute::<Branch>(world.branch(), command, meta(Some(OperationId(id.0))))
    });
    let done = futures::future::join_all(submits).await;
    let fresh = done.iter().filter(|done| !done.as_ref().unwrap().receipt.replayed);
    assert_eq!(fresh.count(), 1);
    assert_eq!(world.messages(world.branch()).await[0].id, id);
}

#[tokio::test]
async fn a_connection_that_is_not_there_is_refused_before_anything_is_written() {
    let mut world = World::new(vec![]).await;
    world.chat = ChatId::random();
    let project = world.project;
    let create = |name: &str| create_chat_with(project, name);
    let before = world.count().await;
    let made = world.handle.execute::<Chat>(world.chat, create("gone"), meta(None)).await;
    assert_eq!(made.unwrap_err().to_string(), "no connection 'gone'");
    assert_eq!(world.count().await, before);
    // One that goes after the chat was made refuses its submits.
    world.handle.execute::<Chat>(world.chat, create("leaves"), meta(None)).await.unwrap();
    world.script.left.store(true, Ordering::Relaxed);
    let before = world.count().await;
    let refused = world.submit_as(MessageId::random(), "hello").await.unwrap_err();
    assert_eq!(refused.to_string(), "no connection 'leaves'");
    assert_eq!(world.count().await, before);
}

#[tokio::test]
async fn an_actor_that_fails_is_told_of_and_takes_no_other_with_it() {
    let world = World::new(vec![]).await;
    let create = create_chat_with(world.project, "panics");
    // As many as there are arbiters and more, so that each has its share.
    for _ in 0..8 {
        let failed = world.handle.execute::<Chat>(ChatId::random(), create.clone(), meta(None));
        let error = failed.await.unwrap_err();
        assert!(
            matches!(error, ExecuteError::Load(LoadError::Unanswered { what: "chat", .. })),
            "{error}"
        );
    }
    let (id, _) = world.submit("hello").await;
    assert_eq!(world.finish(id).await.status, scripta_actors::RunStatus::Completed);
}

#[tokio::test]
async fn a_fork_shares_the_chain_and_the_model_sees_it() {
    let world = World::new(vec![]).await;
    let (one, _) = world.submit("one").await;
    world.finish(one).await;
    let (two, _) = world.submit("two").await;
    world.finish(two).await;
    let id = MessageId::random();
    let fork = |branch, from, id: MessageId| ChatCommand::Fork {
        branch,
        from: Some(from),
        title: None,
        message: message(id, "instead"),
    };
    let operation = Some(OperationId(id.0));
    let first = world.chat.first_branch();
    let done =
        world.handle.execute::<Chat>(world.chat, fork(first, one, id), meta(operation)).await;
    let done = done.unwrap();
    let (branch, info) = done.state.branches.iter().find(|(id, _)| **id != first).unwrap();
    assert_eq!((info.parent, info.after, done.state.revision), (Some(first), Some(one), 1));
    let key = BranchKey { chat: world.chat, branch: *branch };
    let status = world.handle.wait_for_turn(key, id, crate::world::PATIENCE).await.unwrap();
    assert_eq!(status.status, scripta_actors::RunStatus::Completed);
    let seen = world.script.asked.lock().unwrap().last().unwrap().messages.clone();
    assert_eq!(texts(&seen), ["one", "instead"]);
    assert_eq!(seen[0].id, one);
    // From the fork, at a message that the first branch wrote: the first branch is the parent.
    let next = MessageId::random();
    let again = fork(*branch, one, next);
    let done = world.handle.execute::<Chat>(world.chat, again, meta(None)).await.unwrap();
    assert!(done.state.branches.values().all(|info| info.parent.is_none_or(|id| id == first)));
    let (unknown, nowhere) = (BranchId(uuid::Uuid::now_v7()), MessageId::random());
    for command in [fork(unknown, one, nowhere), fork(first, nowhere, nowhere)] {
        let error =
            world.handle.execute::<Chat>(world.chat, command, meta(None)).await.unwrap_err();
        assert!(matches!(error, ExecuteError::Refused(Refusal::NotFound { .. })), "{error}");
    }
    let state = world.handle.state::<Branch>(key).await.unwrap().unwrap();
    assert_eq!(state.messages.len(), 2);
}
