//! Turns: the loop, the queue, stops, failures, restarts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use scripta_actors::{
    Branch, BranchCommand, BranchStatus, ExecuteError, LoadError, ModelError, Options, PauseReason,
    Refusal, RunKey, RunStatus, WaitError,
};
use scripta_events::OperationId;
use scripta_events::domain::{MessageId, MessageStatus, Role, TurnOutcome};

use crate::world::Line::{Break, Call, Fail, Hang, Panic, Say};
use crate::world::{PATIENCE, World, meta, texts};

#[tokio::test]
async fn a_turn_streams_an_answer_and_ends() {
    let world = World::new(vec![vec![Say("Hello "), Say("there")]]).await;
    let (id, done) = world.submit("hi").await;
    assert_eq!(done.state.status(), BranchStatus::Running);
    let status = world.finish(id).await;
    assert_eq!((status.status, status.timed_out), (RunStatus::Completed, false));
    let messages = world.messages(world.branch()).await;
    assert_eq!(texts(&messages), ["hi", "Hello there"]);
    assert_eq!(messages[1].run, status.run);
    assert_eq!(world.branch_state().await.status(), BranchStatus::Idle);
}

#[tokio::test]
async fn tool_calls_are_made_one_after_the_other_and_each_has_a_result() {
    let calls = vec![
        Say("Let me see."),
        Call("mcp_app__app_read", r#"{"a":1}"#),
        Call("mcp_app__nothing", "{}"),
        Call("mcp_app__app_read", "not json"),
        Call("mcp_app__app_read", ""),
    ];
    let world = World::new(vec![calls, vec![Say("Done.")]]).await;
    let (id, _) = world.submit("look").await;
    assert_eq!(world.finish(id).await.status, RunStatus::Completed);
    let messages = world.messages(world.branch()).await;
    let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
    use Role::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, Tool, Tool, Tool, Assistant]);
    let texts = texts(&messages);
    assert_eq!((texts[2].as_str(), texts[5].as_str()), (r#"read {"a":1}"#, "read {}"));
    assert!(texts[3].contains("there is no tool"), "{}", texts[3]);
    assert!(texts[4].contains("not valid JSON"), "{}", texts[4]);
    let called = world.script.called.lock().unwrap();
    assert_eq!(called.len(), 2);
    assert_ne!(called[0].operation, called[1].operation);
    // The second step saw all results.
    assert_eq!(world.script.asked.lock().unwrap()[1].messages.len(), 6);
}

#[tokio::test]
async fn a_stop_keeps_the_text_so_far_and_is_effect_once() {
    let world = World::new(vec![vec![Say("So far "), Say("so good"), Hang]]).await;
    let (id, _) = world.submit("hi").await;
    let (queued, _) = world.submit("then").await;
    world.script.reached.notified().await;
    let operation = Some(OperationId::random());
    let stopped = world.handle.stop_turn(world.branch(), meta(operation)).await.unwrap();
    let paused = BranchStatus::Paused { reason: PauseReason::Stopped };
    assert_eq!(stopped.state.status(), paused);
    assert_eq!(world.finish(id).await.status, RunStatus::Stopped);
    let messages = world.messages(world.branch()).await;
    assert_eq!(texts(&messages), ["hi", "So far so good"]);
    assert_eq!(messages[1].status, MessageStatus::Stopped);
    // What waits is told at once that only a person lets it go on.
    let waits = world.finish(queued).await;
    assert_eq!((waits.status, waits.paused), (RunStatus::Queued, Some(PauseReason::Stopped)));
    let skip = BranchCommand::SkipFailed;
    world.handle.execute::<Branch>(world.branch(), skip.clone(), meta(None)).await.unwrap();
    assert_eq!(world.finish(queued).await.status, RunStatus::Completed);
    // The repeated stop answers as it did, and stops nothing that came later.
    let again = world.handle.stop_turn(world.branch(), meta(operation)).await.unwrap();
    assert!(again.receipt.replayed);
    assert_eq!(again.state.status(), paused);
    let nothing = world.handle.stop_turn(world.branch(), meta(None)).await.unwrap();
    assert_eq!(nothing.receipt.events, 0);
    let refused = world.handle.execute::<Branch>(world.branch(), skip, meta(None)).await;
    assert!(matches!(refused, Err(ExecuteError::Refused(Refusal::Refused { .. }))));
}

#[tokio::test]
async fn a_stop_during_a_tool_call_gives_every_open_call_a_result() {
    let calls = vec![Call("mcp_app__app_read", "{}"), Call("mcp_app__app_read", "{}")];
    let world = World::with(vec![calls], Options::default(), true).await;
    let (id, _) = world.submit("look").await;
    world.script.reached.notified().await;
    world.handle.stop_turn(world.branch(), meta(None)).await.unwrap();
    assert_eq!(world.finish(id).await.status, RunStatus::Stopped);
    let texts = texts(&world.messages(world.branch()).await);
    assert!(texts[2].contains("may have taken effect"), "{}", texts[2]);
    assert_eq!(texts[3], "not run: the run was stopped");
    assert_eq!(world.branch_state().await.messages.last().unwrap().open_calls, 0);
}

#[tokio::test]
async fn a_tool_that_is_silent_gets_an_error_as_its_result() {
    let options = Options { tool_timeout: Duration::from_millis(20), ..Options::default() };
    let world = World::with(vec![vec![Call("mcp_app__app_read", "{}")]], options, true).await;
    let (id, _) = world.submit("look").await;
    assert_eq!(world.finish(id).await.status, RunStatus::Completed);
    let texts = texts(&world.messages(world.branch()).await);
    assert!(texts[2].contains("didn't answer within 20ms"), "{}", texts[2]);
}

#[tokio::test]
async fn failures_are_told_and_what_was_received_is_kept() {
    let answers = vec![
        vec![Say("half"), Break],
        vec![Fail(ModelError::permanent("no such model"))],
        vec![Panic],
        vec![Call("a", "{}"), Say("x"), Hang],
    ];
    let options = Options { model_silence: Duration::from_millis(20), ..Options::default() };
    let world = World::with(answers, options, false).await;
    let wanted = ["broke off", "no such model", "internal error", "said nothing"];
    for reason in wanted {
        let (id, _) = world.submit(reason).await;
        let status = world.finish(id).await.status;
        let RunStatus::Failed { reason: told } = &status else { panic!("{status:?}") };
        assert!(told.contains(reason), "{told}");
        assert_eq!(world.branch_state().await.status(), BranchStatus::Idle);
    }
    let messages = world.messages(world.branch()).await;
    assert_eq!((texts(&messages)[1].as_str(), messages[1].status), ("half", MessageStatus::Failed));
    let last = world.branch_state().await;
    assert!(matches!(&last.last, Some(TurnOutcome::Failed { .. })));
}

#[tokio::test]
async fn an_error_that_may_pass_is_tried_again() {
    let busy = || vec![Fail(ModelError::retryable("busy"))];
    let options = Options { retry_pause: Duration::from_millis(1), ..Options::default() };
    let answers = vec![busy(), busy(), vec![Say("now")], busy(), busy(), busy(), busy()];
    let world = World::with(answers, options, false).await;
    let (id, _) = world.submit("hi").await;
    assert_eq!(world.finish(id).await.status, RunStatus::Completed);
    let (id, _) = world.submit("again").await;
    let failed = RunStatus::Failed { reason: "busy".to_owned() };
    assert_eq!(world.finish(id).await.status, failed);
}

/// Another process takes over in the middle of a turn.
async fn restart(world: &mut World) {
    world.script.reached.notified().await;
    world.handle.shutdown(Duration::ZERO).await;
    world.handle = world.another();
    world.script.tool_hangs.store(false, Ordering::Relaxed);
}

/// Has the new process pick up what the last one left.
async fn wake(world: &World) {
    let run = world.branch_state().await.turn.unwrap().run;
    world.handle.wake(vec![world.branch()], vec![RunKey { chat: world.chat, run }]).await;
}

#[tokio::test]
async fn a_call_that_a_restart_interrupts_is_made_again_if_that_does_no_harm() {
    for (name, again) in [
        ("mcp_app__app_read", true),
        ("mcp_app__app_memory", true),
        ("mcp_bank__balance", true),
        ("mcp_bank__pay", false),
    ] {
        let calls = vec![Call(name, "{}"), Call("mcp_bank__pay", "{}")];
        let mut world = World::with(vec![calls], Options::default(), true).await;
        let (id, _) = world.submit("look").await;
        let (queued, _) = world.submit("then").await;
        restart(&mut world).await;
        wake(&world).await;
        assert_eq!(world.finish(id).await.status, RunStatus::Completed, "{name}");
        let called: Vec<_> = std::mem::take(&mut *world.script.called.lock().unwrap());
        let made = called.iter().filter(|call| call.operation == called[0].operation).count();
        assert_eq!((made, called.len()), if again { (2, 3) } else { (1, 2) }, "{name}");
        let results = texts(&world.messages(world.branch()).await);
        assert_eq!(results[2].contains("it may have taken effect"), !again, "{name}: {results:?}");
        assert_eq!(results[3], "read {}", "the one that had not gone out goes out now");
        // What waited behind it goes on, too; and a repeat of what was acknowledged is known.
        assert_eq!(world.finish(queued).await.status, RunStatus::Completed);
        assert!(world.submit_as(id, "look").await.unwrap().receipt.replayed);
    }
}

#[tokio::test]
async fn a_step_that_a_restart_interrupts_is_asked_again() {
    let mut world = World::new(vec![vec![Say("half an"), Hang]]).await;
    let (id, _) = world.submit("hi").await;
    restart(&mut world).await;
    let gone = world.script.asked.lock().unwrap().len();
    wake(&world).await;
    assert_eq!(world.finish(id).await.status, RunStatus::Completed);
    assert_eq!(world.script.asked.lock().unwrap().len(), gone + 1);
    assert_eq!(texts(&world.messages(world.branch()).await), ["hi", "echo hi"]);
    // What this process began itself is not taken for interrupted.
    let (next, done) = world.submit("more").await;
    let run = done.state.turn.as_ref().unwrap().run;
    world.handle.wake(vec![], vec![RunKey { chat: world.chat, run }]).await;
    assert_eq!(world.finish(next).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_run_that_ends_the_process_each_time_is_given_up() {
    let hang = || vec![Hang];
    let mut world = World::new(std::iter::repeat_with(hang).take(9).collect()).await;
    let (id, _) = world.submit("hi").await;
    for _ in 0..6 {
        restart(&mut world).await;
        wake(&world).await;
    }
    let status = world.finish(id).await.status;
    assert!(
        matches!(&status, RunStatus::Failed { reason } if reason.contains("5 times")),
        "{status:?}"
    );
    assert!(world.branch_state().await.turn.is_none());
}

#[tokio::test]
async fn a_shutdown_ends_the_waits_for_turns() {
    let world = World::new(vec![vec![Hang]]).await;
    let (id, _) = world.submit("hi").await;
    world.script.reached.notified().await;
    let wait = world.handle.wait_for_turn(world.branch(), id, PATIENCE);
    let (ended, ()) = tokio::join!(wait, world.handle.shutdown(Duration::ZERO));
    assert!(matches!(ended, Err(WaitError::Load(LoadError::ShuttingDown))), "{ended:?}");
}

#[tokio::test]
async fn waiting_runs_out_of_time_with_the_last_known_status() {
    let world = World::new(vec![vec![Hang]]).await;
    let (id, _) = world.submit("hi").await;
    let waited = world.handle.wait_for_turn(world.branch(), id, Duration::from_millis(10)).await;
    let status = waited.unwrap();
    assert_eq!((status.status, status.timed_out), (RunStatus::Running, true));
    let unknown = world.handle.wait_for_turn(world.branch(), MessageId::random(), Duration::ZERO);
    assert!(unknown.await.is_err());
}
