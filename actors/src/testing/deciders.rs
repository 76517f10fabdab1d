//! Each decider: given, when, then.

use scripta_events::domain::{
    ImportSource, Message, MessageId, ProjectId, Role, ToolCall, TurnOutcome,
};
use scripta_events::{OperationId, Timestamp};
use uuid::Uuid;

use super::Given;
use crate::{
    BranchCommand, BranchStatus, ChatCommand, Effect, MAX_IMPORT_MESSAGES, MAX_MESSAGE_BYTES,
    MAX_QUEUED, MAX_TITLE_CHARS, Partial, PauseReason, Refusal, RunCommand, RunStatus, ToolOutcome,
};

fn answer(step: u32, text: &str, calls: &[&str]) -> RunCommand {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        server: "app".to_owned(),
        tool: "app_read".to_owned(),
        arguments: "{}".to_owned(),
    };
    let calls = calls.iter().map(call).collect();
    let (text, reasoning) = (text.to_owned(), String::new());
    RunCommand::Answered { step, text, reasoning, calls, usage: None }
}

fn finished(step: u32, index: u32) -> RunCommand {
    let outcome = ToolOutcome { is_error: false, text: "ok".to_owned(), structured: None };
    RunCommand::CallFinished { step, index, outcome }
}

fn prepared(given: &mut Given) {
    given.tell(RunCommand::Prepared { tools: vec![] });
}

fn imported(id: u128) -> Message {
    Message::new(MessageId(Uuid::from_u128(id)), Role::User, vec![], Timestamp(1))
}

#[test]
fn submit_starts_an_idle_branch_and_queues_in_a_running_one() {
    let mut given = Given::chat();
    let one = given.submit("one");
    assert_eq!(given.branch().turn.unwrap().message, one);
    assert!(matches!(given.effects[..], [Effect::Drive(_)]));
    let two = given.submit("two");
    assert_eq!(given.branch().queue.front().unwrap().message.id, two);
    assert_eq!(given.runs.len(), 1);
    let again = given.message("x");
    let again = crate::NewMessage { id: one, ..again };
    let refused = given.when_branch(BranchCommand::enqueue(again));
    assert_eq!(refused, Err(Refusal::AlreadyExists { what: "message", id: one.0 }));
}

#[test]
fn submit_goes_behind_what_waits_between_two_turns() {
    let mut given = Given::chat();
    given.submit("one");
    let two = given.submit("two");
    prepared(&mut given);
    given.tell(answer(1, "done", &[]));
    // The turn has ended, and nobody has started the next yet.
    let three = given.submit("three");
    let waiting = given.queue();
    assert_eq!(waiting, [two, three]);
    given.when_branch(BranchCommand::StartNext).unwrap();
    assert_eq!(given.branch().turn.unwrap().message, two);
    assert_eq!(given.when_branch(BranchCommand::StartNext), Ok(0));
}

#[test]
fn submit_has_bounds() {
    let mut given = Given::chat();
    let submit = |text: &str, given: &mut Given| {
        let message = given.message(text);
        given.when_branch(BranchCommand::enqueue(message))
    };
    assert!(matches!(submit(" \n", &mut given), Err(Refusal::Invalid { field: "text", .. })));
    let long = "x".repeat(MAX_MESSAGE_BYTES + 1);
    assert!(matches!(submit(&long, &mut given), Err(Refusal::Invalid { field: "text", .. })));
    for _ in 0..=MAX_QUEUED {
        submit("x", &mut given).unwrap();
    }
    assert!(matches!(submit("x", &mut given), Err(Refusal::Full { .. })));
}

#[test]
fn a_run_goes_from_tools_to_calls_to_its_last_answer() {
    let mut given = Given::chat();
    given.submit("one");
    assert_eq!(given.tell(answer(1, "too early", &[])), 0);
    prepared(&mut given);
    assert_eq!(given.tell(RunCommand::Prepared { tools: vec![] }), 0);
    given.tell(answer(1, "", &["a", "b"]));
    assert_eq!(given.tell(answer(1, "twice", &[])), 0);
    assert_eq!(given.tell(RunCommand::CallStarted { step: 1, index: 0 }), 1);
    assert_eq!(given.tell(RunCommand::CallStarted { step: 1, index: 0 }), 0);
    assert_eq!(given.tell(finished(1, 0)), 2);
    assert_eq!(given.tell(finished(1, 0)), 0);
    assert_eq!(given.tell(finished(1, 7)), 0);
    // The last result begins the next step in the same commit.
    assert_eq!(given.tell(finished(1, 1)), 3);
    assert_eq!((given.run().step, given.run().calls_made), (2, 1));
    let run = given.branch().turn.unwrap().run;
    given.tell(answer(2, "done", &[]));
    assert_eq!(given.runs[&run].0.status, RunStatus::Completed);
    assert_eq!(given.branch().last, Some(TurnOutcome::Completed));
    assert_eq!(given.branch().status(), BranchStatus::Idle);
    assert!(matches!(given.effects.last(), Some(Effect::StartNext(_))));
}

#[test]
fn stop_keeps_the_partial_answer_of_the_present_step_only() {
    for (step, messages) in [(1, 2), (2, 1)] {
        let mut given = Given::chat();
        given.submit("one");
        prepared(&mut given);
        let text = "so far".to_owned();
        given.partial = Some(Partial { step, text, reasoning: String::new() });
        given.when_branch(BranchCommand::Stop).unwrap();
        assert_eq!(given.branch().messages.len(), messages);
        assert_eq!(given.branch().last, Some(TurnOutcome::Stopped));
        assert!(matches!(given.effects.last(), Some(Effect::Cancel(_))));
        assert_eq!(given.when_branch(BranchCommand::Stop), Ok(0));
    }
}

#[test]
fn a_failure_pauses_what_waits_until_it_is_skipped() {
    let mut given = Given::chat();
    given.submit("one");
    let two = given.submit("two");
    let reason = "broken".to_owned();
    given.tell(RunCommand::Failed { reason: reason.clone(), partial: None });
    let paused = BranchStatus::Paused { reason: PauseReason::Failed { reason } };
    assert_eq!(given.branch().status(), paused);
    assert_eq!(given.when_branch(BranchCommand::StartNext), Ok(0));
    given.submit("three");
    assert_eq!(given.branch().queue.len(), 2);
    given.when_branch(BranchCommand::SkipFailed).unwrap();
    assert_eq!(given.branch().turn.unwrap().message, two);
    assert!(given.when_branch(BranchCommand::SkipFailed).is_err());
}

#[test]
fn a_queued_message_starts_even_where_its_connection_is_gone() {
    let mut given = Given::chat();
    given.submit("one");
    let two = given.submit("two");
    prepared(&mut given);
    given.tell(answer(1, "done", &[]));
    given.problem = Some("gone".to_owned());
    let three = given.submit_refused("three");
    assert_eq!(three, Refusal::Refused { reason: "gone".to_owned() });
    let effects = given.effects.len();
    given.when_branch(BranchCommand::StartNext).unwrap();
    // It fails in the commit that starts it: nobody is asked to carry it out.
    let run = &given.runs[&given.branch().runs[&two]].0;
    assert_eq!(run.status, RunStatus::Failed { reason: "gone".to_owned() });
    assert_eq!((given.branch().turn, given.effects.len()), (None, effects));
    assert_eq!(given.branch().last, Some(TurnOutcome::Failed { reason: "gone".to_owned() }));
}

#[test]
fn a_chat_is_not_made_with_a_connection_that_is_not_there() {
    let mut given = Given { problem: Some("there is no 'x'".to_owned()), ..Given::default() };
    let create = |connection: Option<&str>| ChatCommand::Create {
        project: ProjectId(Uuid::from_u128(1)),
        title: "First".to_owned(),
        connection: connection.map(|name| scripta_events::domain::ConnectionId(name.to_owned())),
        model: None,
    };
    let refused = Refusal::Refused { reason: "there is no 'x'".to_owned() };
    assert_eq!(given.when_chat(create(Some("x"))), Err(refused));
    // Without one of its own it takes the default of the moment, which may come later.
    assert_eq!(given.when_chat(create(None)), Ok(2));
}

#[test]
fn a_fork_never_parts_calls_from_their_results() {
    let mut given = Given::chat();
    let one = given.submit("one");
    prepared(&mut given);
    given.tell(answer(1, "", &["a", "b"]));
    given.tell(finished(1, 0));
    let parted = given.branch().messages[2].id;
    let fork = |from, given: &mut Given| {
        let (branch, message) = (given.first(), given.message("instead"));
        given.when_chat(ChatCommand::Fork { branch, from, title: None, message })
    };
    let nearest = Some(one.0);
    let refused = Err(Refusal::SeparatesToolCalls { message: parted.0, nearest });
    assert_eq!(fork(Some(parted), &mut given), refused);
    assert_eq!(fork(None, &mut given), refused);
    assert_eq!(fork(Some(one), &mut given), Ok(5));
    given.tell(finished(1, 1));
    let whole = given.branch().messages[3].id;
    let refused = Err(Refusal::SeparatesToolCalls { message: parted.0, nearest: Some(whole.0) });
    assert_eq!(fork(Some(parted), &mut given), refused);
    assert_eq!(fork(None, &mut given), Ok(5));
    let newest = given
        .branches
        .values()
        .find(|branch| branch.fork.is_some_and(|fork| fork.after == Some(whole)));
    let point = newest.unwrap().fork.unwrap();
    assert_eq!((point.parent, point.own_messages), (given.first(), 4));
}

#[test]
fn rename_changes_the_title_and_the_revision_or_nothing() {
    let mut given = Given::chat();
    let rename =
        |title: &str| ChatCommand::Rename { title: title.to_owned(), expected_revision: 1 };
    assert_eq!(given.when_chat(rename("First")), Ok(0));
    assert_eq!(given.when_chat(rename("Second")), Ok(1));
    assert_eq!(given.chat.as_ref().unwrap().revision, 2);
    assert!(given.when_chat(rename("")).is_err());
    assert!(given.when_chat(rename(&"x".repeat(MAX_TITLE_CHARS + 1))).is_err());
}

#[test]
fn pin_and_endpoint_change_the_revision_or_nothing() {
    let mut given = Given::chat();
    let pin = |pinned| ChatCommand::Pin { pinned, expected_revision: 1 };
    assert_eq!(given.when_chat(pin(false)), Ok(0));
    assert_eq!(given.when_chat(pin(true)), Ok(1));
    assert_eq!(given.when_chat(pin(true)), Ok(0));
    let set = |connection: &str, model: Option<&str>| ChatCommand::SetEndpoint {
        connection: scripta_events::domain::ConnectionId(connection.to_owned()),
        model: model.map(str::to_owned),
        expected_revision: 1,
    };
    assert_eq!(given.when_chat(set("c", Some("m"))), Ok(1));
    assert_eq!(given.when_chat(set("c", Some("m"))), Ok(0));
    assert_eq!(given.when_chat(set("c", None)), Ok(1));
    let chat = given.chat.clone().unwrap();
    assert_eq!((chat.pinned, chat.revision, chat.model), (true, 4, None));
    assert!(given.when_chat(set("c", Some(""))).is_err());
    given.problem = Some("there is no 'x'".to_owned());
    let refused = Refusal::Refused { reason: "there is no 'x'".to_owned() };
    assert_eq!(given.when_chat(set("x", None)), Err(refused));
}

#[test]
fn a_branch_gets_another_title_without_a_revision() {
    let mut given = Given::chat();
    let first = given.first();
    let rename =
        |branch, title: &str| ChatCommand::RenameBranch { branch, title: title.to_owned() };
    assert_eq!(given.when_chat(rename(first, "Main")), Ok(1));
    assert_eq!(given.when_chat(rename(first, "Main")), Ok(0));
    let chat = given.chat.clone().unwrap();
    assert_eq!((chat.branches[&first].title.as_deref(), chat.revision), (Some("Main"), 1));
    assert!(matches!(given.when_chat(rename(first, " ")), Err(Refusal::Invalid { .. })));
    let nowhere = scripta_events::domain::BranchId(Uuid::from_u128(77));
    let missing = Refusal::NotFound { what: "branch", id: nowhere.0 };
    assert_eq!(given.when_chat(rename(nowhere, "x")), Err(missing));
}

#[test]
fn importing_again_adds_nothing_and_a_newer_export_adds_what_is_new() {
    let mut given = Given::default();
    let source = ImportSource { format: "chatgpt".to_owned(), id: "c".to_owned() };
    let (project, title) = (ProjectId(Uuid::from_u128(1)), "Old".to_owned());
    let messages = vec![imported(10), imported(11)];
    let import = ChatCommand::Import { project, title, source, messages };
    assert_eq!(given.when_chat(import.clone()), Ok(4));
    assert_eq!(given.when_chat(import), Ok(0));
    let append = |ids: &[u128]| {
        let messages = ids.iter().copied().map(imported).collect();
        BranchCommand::AppendImported { messages }
    };
    assert_eq!(given.when_branch(append(&[10, 11, 12])), Ok(1));
    assert_eq!(given.when_branch(append(&[10, 11, 12])), Ok(0));
    assert!(given.when_branch(append(&[13, 13])).is_err());
    let many: Vec<_> = (100..=100 + MAX_IMPORT_MESSAGES as u128).collect();
    assert!(given.when_branch(append(&many)).is_err());
    let fork = ChatCommand::ForkImported {
        branch: scripta_events::domain::BranchId(Uuid::from_u128(50)),
        parent: given.first(),
        after: Some(MessageId(Uuid::from_u128(10))),
        title: None,
        messages: vec![imported(20)],
    };
    assert_eq!(given.when_chat(fork.clone()), Ok(3));
    assert_eq!(given.when_chat(fork), Ok(0));
}

#[test]
fn ids_of_a_decision_are_distinct_ordered_and_repeatable() {
    let base = OperationId::random().0;
    let take = || {
        let mut ids = crate::Ids::from_base(base);
        (0..100).map(|_| ids.take()).collect::<Vec<_>>()
    };
    let ids = take();
    assert_eq!(ids, take());
    assert!(ids.is_sorted_by(|one, next| one < next));
    assert!(ids.iter().all(|id| id.get_version_num() == 7));
}
