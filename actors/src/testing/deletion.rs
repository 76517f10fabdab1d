//! Deleting chats and branches: given, when, then.

use scripta_events::Timestamp;
use scripta_events::domain::{BranchId, MessageId, ProjectDeleted, TurnOutcome};
use uuid::Uuid;

use super::{Given, project};
use crate::{
    Aggregate, BranchCommand, ChatCommand, Effect, Project, ProjectState, Refusal, RunCommand,
    RunStatus,
};

const DELETE: ChatCommand = ChatCommand::Delete { expected_revision: 1 };

fn delete_branch(branch: BranchId, keep_forks: bool) -> ChatCommand {
    ChatCommand::DeleteBranch { branch, keep_forks, expected_revision: 1 }
}

fn gone(what: &'static str, id: Uuid) -> Refusal {
    Refusal::Gone { what, id }
}

/// Opens a branch from a message of another, and ends the turn that starts in it.
fn fork(given: &mut Given, branch: BranchId, from: MessageId) -> (BranchId, MessageId) {
    let known: Vec<_> = given.branches.keys().copied().collect();
    let message = given.message("fork");
    let id = message.id;
    given.when_chat(ChatCommand::Fork { branch, from: Some(from), title: None, message }).unwrap();
    let new = given.branches.keys().find(|id| !known.contains(id)).copied().unwrap();
    let run = given.branches[&new].turn.unwrap().run;
    let key = crate::RunKey { chat: given.chat_id(), run };
    let reason = "over".to_owned();
    given.when_run(key, RunCommand::Failed { reason, partial: None }).unwrap();
    (new, id)
}

fn deleted_project() -> ProjectState {
    Project::evolve(Some(project()), &ProjectDeleted {}.into(), Timestamp(2)).unwrap()
}

#[test]
fn a_deleted_chat_is_gone_for_everything_and_what_ran_is_stopped() {
    let mut given = Given::chat();
    given.submit("one");
    given.submit("two");
    let run = given.branch().turn.unwrap().run;
    // The chat's event, the run's and the branch's.
    assert_eq!(given.when_chat(DELETE), Ok(3));
    assert_eq!(given.runs[&run].0.status, RunStatus::Stopped);
    assert_eq!(given.branch().last, Some(TurnOutcome::Stopped));
    assert!(matches!(given.effects.last(), Some(Effect::Cancel(key)) if key.run == run));
    let (chat, first) = (given.chat_id(), given.first());
    assert_eq!(given.chat.as_ref().unwrap().revision, 1);
    let message = given.message("again");
    for command in [
        DELETE,
        ChatCommand::Pin { pinned: true, expected_revision: 1 },
        ChatCommand::RenameBranch { branch: first, title: "x".to_owned() },
        ChatCommand::Fork { branch: first, from: None, title: None, message },
    ] {
        assert_eq!(given.when_chat(command), Err(gone("chat", chat.0)));
    }
    assert_eq!(given.submit_refused("again"), gone("branch", first.0));
    for command in [BranchCommand::Stop, BranchCommand::SkipFailed] {
        assert_eq!(given.when_branch(command), Err(gone("branch", first.0)));
    }
    // What an ended turn leads to leads to nothing, and neither does a second sweep.
    assert_eq!(given.when_branch(BranchCommand::StartNext), Ok(0));
    assert_eq!(given.when_chat(ChatCommand::Sweep), Ok(0));
}

#[test]
fn a_deleted_projects_chats_take_nothing_but_the_sweep() {
    let mut given = Given::chat();
    given.submit("one");
    given.project = Some(deleted_project());
    let (chat, first) = (given.chat_id(), given.first());
    assert_eq!(given.when_chat(DELETE), Err(gone("chat", chat.0)));
    assert_eq!(given.submit_refused("two"), gone("branch", first.0));
    assert_eq!(given.when_chat(ChatCommand::Sweep), Ok(3));
    assert!(given.chat.as_ref().unwrap().deleted);

    let mut given = Given { project: Some(deleted_project()), ..Given::default() };
    let project = deleted_project().id;
    let create =
        ChatCommand::Create { project, title: "x".to_owned(), connection: None, model: None };
    assert_eq!(given.when_chat(create), Err(gone("project", project.0)));
}

#[test]
fn a_branch_goes_unless_others_fork_from_its_own_part() {
    let mut given = Given::chat();
    let first = given.first();
    let one = given.submit("one");
    let (outer, said) = fork(&mut given, first, one);
    // From the outer branch, but at a message of the first: it shares nothing of the outer's own.
    let (beside, _) = fork(&mut given, outer, one);
    let (inner, _) = fork(&mut given, outer, said);
    let refused = given.when_chat(delete_branch(first, true)).unwrap_err();
    assert!(refused.to_string().contains("first branch"), "{refused}");
    let refused = given.when_chat(delete_branch(outer, false)).unwrap_err().to_string();
    assert!(refused.contains(&inner.to_string()) && refused.contains("keepForks"), "{refused}");
    assert!(!refused.contains(&beside.to_string()), "{refused}");
    assert_eq!(given.when_chat(delete_branch(beside, false)), Ok(1));

    assert_eq!(given.when_chat(delete_branch(outer, true)), Ok(1));
    assert_eq!(given.when_chat(delete_branch(outer, true)), Err(gone("branch", outer.0)));
    let rename = ChatCommand::RenameBranch { branch: outer, title: "x".to_owned() };
    assert_eq!(given.when_chat(rename), Err(gone("branch", outer.0)));
    let chat = given.chat.clone().unwrap();
    assert_eq!((chat.living().count(), chat.revision), (2, 1));
    // The kept part can be forked from again, by way of the branch that keeps it.
    let (late, _) = fork(&mut given, inner, said);
    assert_eq!(given.branches[&late].fork.unwrap().parent, outer);
    let chat = given.chat.clone().unwrap();
    let rest: Vec<_> = chat.forks_of(outer).into_iter().map(|(id, _)| id).collect();
    assert_eq!(rest, [inner, late]);
    assert_eq!(given.when_chat(delete_branch(inner, false)), Ok(1));
    assert_eq!(given.when_chat(DELETE), Ok(3));
}

#[test]
fn forks_by_way_of_a_deleted_branch_are_in_the_way_too() {
    let mut given = Given::chat();
    let (first, one) = (given.first(), given.submit("one"));
    let (outer, said) = fork(&mut given, first, one);
    let (middle, heard) = fork(&mut given, outer, said);
    let (inner, _) = fork(&mut given, middle, heard);
    assert_eq!(given.when_chat(delete_branch(middle, true)), Ok(1));
    let refused = given.when_chat(delete_branch(outer, false)).unwrap_err().to_string();
    assert!(refused.contains(&inner.to_string()), "{refused}");
    assert_eq!(given.when_chat(delete_branch(inner, false)), Ok(1));
    assert_eq!(given.when_chat(delete_branch(outer, false)), Ok(1));
}
