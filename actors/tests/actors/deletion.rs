//! Deleting chats and projects through the actors.

use scripta_actors::{
    Branch, Chat, ChatCommand, ExecuteError, Project, ProjectCommand, Refusal, RunStatus, WaitError,
};
use scripta_events::OperationId;
use scripta_events::domain::ChatId;

use crate::world::{Line, PATIENCE, World, create_chat, meta};

fn hanging() -> Vec<Vec<Line>> {
    vec![vec![Line::Say("so far"), Line::Hang]]
}

async fn delete(world: &World) -> Result<(), ExecuteError<Chat>> {
    let delete = ChatCommand::Delete { expected_revision: 1 };
    world.handle.execute::<Chat>(world.chat, delete, meta(None)).await.map(drop)
}

#[tokio::test]
async fn a_chat_goes_with_its_running_turn_and_whoever_waits_hears_of_it() {
    let world = World::new(hanging()).await;
    let (one, _) = world.submit("one").await;
    world.script.reached.notified().await;
    let (two, _) = world.submit("two").await;
    let queued = world.handle.wait_for_turn(world.branch(), two, PATIENCE);
    let (queued, deleted) = tokio::join!(queued, delete(&world));
    deleted.unwrap();
    let WaitError::Refused(Refusal::Gone { .. }) = queued.unwrap_err() else { panic!() };
    assert_eq!(world.finish(one).await.status, RunStatus::Stopped);
    assert!(world.chat_state().await.deleted);
    let again = world.submit_as(one, "one").await;
    // The same operation as before is answered as before, whatever became of the chat.
    assert!(again.unwrap().receipt.replayed);
    let refused = world.submit_as(scripta_events::domain::MessageId::random(), "three").await;
    assert!(matches!(refused, Err(ExecuteError::Refused(Refusal::Gone { .. }))), "{refused:?}");
    let again = delete(&world).await.unwrap_err();
    assert!(matches!(again, ExecuteError::Refused(Refusal::Gone { what: "chat", .. })), "{again}");
}

#[tokio::test]
async fn a_creation_is_answered_as_before_after_the_deletion() {
    let world = World::new(vec![]).await;
    let operation = Some(OperationId::random());
    let (chat, create) = (ChatId::random(), create_chat(world.project, "Once"));
    world.handle.execute::<Chat>(chat, create.clone(), meta(operation)).await.unwrap();
    let delete = ChatCommand::Delete { expected_revision: 1 };
    let before = world.count().await;
    world.handle.rehearse::<Chat>(chat, delete.clone()).await.unwrap();
    assert_eq!(world.count().await, before);
    world.handle.execute::<Chat>(chat, delete, meta(None)).await.unwrap();
    let again = world.handle.execute::<Chat>(ChatId::random(), create, meta(operation)).await;
    let again = again.unwrap();
    assert!(again.receipt.replayed && !again.state.deleted);
    assert_eq!(again.id, chat);
}

#[tokio::test]
async fn a_sweep_that_never_came_is_made_up_for_after_a_restart() {
    let world = World::new(hanging()).await;
    world.submit("one").await;
    world.script.reached.notified().await;
    // Without lists the turns in a project can't be told, and nothing can be swept.
    let delete = |stop_runs| ProjectCommand::Delete { stop_runs, expected_revision: 1 };
    let refused = world.handle.execute::<Project>(world.project, delete(false), meta(None)).await;
    assert!(matches!(refused, Err(ExecuteError::Load(_))), "{refused:?}");
    world.handle.execute::<Project>(world.project, delete(true), meta(None)).await.unwrap();
    let create = create_chat(world.project, "late");
    let late = world.handle.execute::<Chat>(ChatId::random(), create, meta(None)).await;
    let Err(ExecuteError::Refused(Refusal::Gone { what: "project", .. })) = late else {
        panic!("{late:?}");
    };
    assert!(!world.chat_state().await.deleted);

    world.another().sweep(vec![world.chat]).await;
    assert!(world.chat_state().await.deleted);
    let branch = world.handle.state::<Branch>(world.branch()).await.unwrap().unwrap();
    assert_eq!(branch.turn, None);
    // Once more changes nothing.
    let before = world.count().await;
    world.another().sweep(vec![world.chat]).await;
    assert_eq!(world.count().await, before);
}
