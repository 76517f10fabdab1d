//! What must hold at any time.

use scripta_events::domain::Role;

use super::super::Given;
use super::model::{ChatModel, Model};
use crate::{
    BranchCommand, BranchStatus, ChatCommand, Effect, PauseReason, ProjectCommand, RunKey,
    RunStatus,
};

pub(super) fn branch(given: &Given, model: &Model) {
    let branch = given.branch();
    let status = match branch.status() {
        BranchStatus::Idle => "idle",
        BranchStatus::Running => "running",
        BranchStatus::Paused { .. } => "paused",
    };
    assert_eq!(status, model.status());
    assert_eq!(branch.turn.map(|turn| turn.message), model.running);
    assert_eq!(branch.read, model.read);
    // No message is lost, doubled or out of its order.
    assert_eq!(given.queue(), model.queue.iter().map(|it| it.id).collect::<Vec<_>>());
    assert_eq!(branch.asides.iter().map(|it| it.id).collect::<Vec<_>>(), model.asides);
    let users = branch.messages.iter().filter(|message| message.role == Role::User);
    assert_eq!(users.map(|message| message.id).collect::<Vec<_>>(), model.taken);
    // At most one run is under way, and it is the turn's.
    let runs = || given.runs.values().map(|(run, _)| run).filter(|run| run.branch == branch.id);
    let under_way = runs().filter(|run| run.status == RunStatus::Running);
    let under_way: Vec<_> = under_way.map(|run| run.id).collect();
    assert_eq!(under_way, branch.turn.iter().map(|turn| turn.run).collect::<Vec<_>>());
    assert_eq!(runs().count(), model.runs);
    // What a person or a model says stands nowhere between a call and its result.
    let mut open = 0;
    for message in &branch.messages {
        assert!(open == 0 || message.role == Role::Tool, "{:?}", branch.messages);
        open = message.open_calls;
    }
    // Outside a turn every call has its result, and what may start is about to be started.
    if branch.turn.is_none() {
        assert!(branch.is_whole());
        let nothing_due = status != "idle" || branch.queue.is_empty();
        assert!(model.start_is_due || (nothing_due && branch.asides.is_empty()));
    }
}

/// From here to an idle branch, first at the price of what waits, then at no price.
pub(super) fn ways_out(given: &Given) {
    let mut short = given.clone();
    short.when_branch(BranchCommand::Stop).unwrap();
    short.when_branch(BranchCommand::ClearQueue).unwrap();
    assert_eq!(short.branch().status(), BranchStatus::Idle);
    let mut long = given.clone();
    let most = 3 * (long.branch().queue.len() + 1);
    for _ in 0..most {
        let next = match long.branch().status() {
            BranchStatus::Running => BranchCommand::Stop,
            BranchStatus::Paused { reason: PauseReason::NeedsRebase } => BranchCommand::Rebase,
            BranchStatus::Paused { .. } => BranchCommand::SkipFailed,
            BranchStatus::Idle => BranchCommand::StartNext,
        };
        long.when_branch(next).unwrap();
    }
    assert_eq!((long.branch().status(), long.queue()), (BranchStatus::Idle, vec![]));
}

/// Of all branches, also of those that were deleted; and of the chat.
pub(super) fn chat(given: &mut Given, model: &ChatModel) {
    for (at, told) in model.branches.iter().enumerate() {
        given.here = Some(told.id);
        if !model.is_gone(at) {
            branch(given, &told.queue);
        }
        let state = given.branch();
        assert_eq!(state.turn.map(|turn| turn.message), told.queue.running);
        // It shares what it was forked from, whatever became of that.
        let shared: Vec<_> = given.history(told.id);
        assert_eq!(shared, model.history(given, at));
    }
    assert_eq!(given.branches.len(), model.branches.len());
    let chat = given.chat.as_ref().unwrap();
    let (title, pinned) = (model.title.clone(), model.pinned);
    assert_eq!((&chat.title, chat.pinned, chat.revision), (&title, pinned, model.revision));
    assert_eq!(chat.deleted, model.deleted);
    let living = model.branches.iter().filter(|branch| !branch.deleted);
    let mut living: Vec<_> = living.map(|branch| (branch.id, branch.title.clone())).collect();
    living.sort();
    let known = chat.living().map(|(id, info)| (id, info.title.clone()));
    assert_eq!(known.collect::<Vec<_>>(), living);
}

/// Each branch that is there has a way out; and the chat and the project, whatever is in them, can
/// be deleted, after which nothing runs.
pub(super) fn ways_out_of_chat(given: &Given, model: &ChatModel) {
    let mut given = given.clone();
    for (at, told) in model.branches.iter().enumerate() {
        given.here = Some(told.id);
        if !model.is_gone(at) {
            ways_out(&given);
        }
    }
    if !model.deleted && !model.project_deleted {
        let mut given = given.clone();
        given.when_chat(ChatCommand::Delete { expected_revision: 1 }).unwrap();
        assert!(given.runs.values().all(|(run, _)| run.is_over()));
    }
    if !model.project_deleted {
        let delete = ProjectCommand::Delete { stop_runs: true, expected_revision: 1 };
        given.when_project(delete).unwrap();
    }
    given.when_chat(ChatCommand::Sweep).unwrap();
    assert!(given.runs.values().all(|(run, _)| run.is_over()));
}

/// Whoever carries runs out is told of each that begins, goes on or is over.
pub(super) fn effects(before: &Given, given: &Given) {
    let new = &given.effects[before.effects.len()..];
    let key = |run| RunKey { chat: given.chat_id(), run };
    for (id, branch) in &given.branches {
        let old = before.branches.get(id).and_then(|branch| branch.turn);
        if old == branch.turn {
            continue;
        }
        if let Some(turn) = branch.turn {
            assert!(new.contains(&Effect::Drive(key(turn.run))), "{new:?}");
        }
        let stopped = old.filter(|turn| given.runs[&turn.run].0.status == RunStatus::Stopped);
        if let Some(turn) = stopped {
            assert!(new.contains(&Effect::Cancel(key(turn.run))), "{new:?}");
        }
    }
}
