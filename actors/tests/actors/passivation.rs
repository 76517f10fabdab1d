//! Many submits at once, and actors that leave under load.

use std::collections::HashSet;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use scripta_actors::{Branch, BranchCommand, BranchStatus, Options, RunStatus};
use scripta_events::OperationId;
use scripta_events::domain::{BranchEvent, MessageId, Role};

use crate::world::{PATIENCE, World, message, meta};

/// Every submitted message is there once, in the order in which it was taken, and never did two
/// turns of the branch run at the same time.
async fn check(world: &World, submitted: &[MessageId]) {
    let mut running = None;
    let mut order = vec![];
    let mut queue = vec![];
    for event in world.branch_events(world.branch()).await {
        match event {
            BranchEvent::MessageQueued(queued) => queue.push(queued.message.id),
            BranchEvent::MessageAppended(appended) if appended.message.role == Role::User => {
                let id = appended.message.id;
                if !queue.is_empty() {
                    assert_eq!(queue.remove(0), id);
                }
                order.push(id);
            }
            BranchEvent::TurnStarted(started) => {
                assert_eq!(running.replace(started.run), None);
            }
            BranchEvent::TurnEnded(ended) => assert_eq!(running.take(), Some(ended.run)),
            _ => {}
        }
    }
    assert_eq!(order.len(), submitted.len());
    assert_eq!(order.iter().collect::<HashSet<_>>(), submitted.iter().collect());
    let state = world.branch_state().await;
    assert_eq!((state.status(), state.queue.len()), (BranchStatus::Idle, 0));
}

async fn submit_all(world: &World, count: usize, at_once: usize) -> Vec<MessageId> {
    let ids: Vec<_> = (0..count).map(|_| MessageId::random()).collect();
    let submits = ids.iter().map(|id| async {
        world.submit_as(*id, "hello").await.unwrap();
        // Repeated at once, as a client does that missed the answer.
        assert!(world.submit_as(*id, "hello").await.unwrap().receipt.replayed);
    });
    stream::iter(submits).buffer_unordered(at_once).collect::<Vec<()>>().await;
    for id in &ids {
        assert_eq!(world.finish(*id).await.status, RunStatus::Completed);
    }
    ids
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_submits_to_one_branch_are_each_there_once_and_in_one_order() {
    let world = World::new(vec![]).await;
    let ids = submit_all(&world, 300, 64).await;
    check(&world, &ids).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn actors_that_leave_under_load_lose_nothing() {
    let options = Options { idle_after: Duration::from_micros(1), ..Options::default() };
    let world = World::with(vec![], options, false).await;
    let ids = submit_all(&world, 150, 16).await;
    check(&world, &ids).await;
    let all_left = async {
        while world.handle.actors() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, all_left).await.unwrap();
    // And they come back from their streams.
    assert_eq!(world.branch_state().await.runs.len(), ids.len());
}

/// The log arbitrates: what one process moved, the other reloads and decides again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_branch_agree() {
    let world = World::new(vec![]).await;
    let other = world.another();
    let ids: Vec<_> = (0..60).map(|_| MessageId::random()).collect();
    let submits = ids.iter().enumerate().map(|(place, id)| {
        let handle = if place % 2 == 0 { &world.handle } else { &other };
        let command = BranchCommand::enqueue(message(*id, "hello"));
        handle.execute::<Branch>(world.branch(), command, meta(Some(OperationId(id.0))))
    });
    stream::iter(submits).buffer_unordered(8).for_each(async |done| drop(done.unwrap())).await;
    let settled = async {
        loop {
            let state = world.branch_state().await;
            if state.turn.is_none() && state.queue.is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.unwrap();
    check(&world, &ids).await;
}
