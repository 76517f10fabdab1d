//! What can happen to a chat and to its project.

use proptest::prelude::*;
use scripta_events::domain::{BranchId, MessageId};
use uuid::Uuid;

use super::super::Given;
use super::model::{BranchModel, ChatModel, Model};
use crate::{ChatCommand, ProjectCommand, Refusal};

#[derive(Clone, Debug)]
pub(super) enum Change {
    Fork { branch: usize, place: usize },
    RenameBranch { branch: usize, title: char },
    DeleteBranch { branch: usize, keep_forks: bool },
    Rename { title: char },
    Pin { pinned: bool },
    Delete,
    DeleteProject { stop_runs: bool },
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    let (at, title) = (any::<usize>(), prop::sample::select(vec!['a', 'b']));
    prop_oneof![
        8 => (at, at_most(40)).prop_map(|(branch, place)| Change::Fork { branch, place }),
        2 => (any::<usize>(), title.clone())
            .prop_map(|(branch, title)| Change::RenameBranch { branch, title }),
        4 => (any::<usize>(), any::<bool>())
            .prop_map(|(branch, keep_forks)| Change::DeleteBranch { branch, keep_forks }),
        2 => title.prop_map(|title| Change::Rename { title }),
        2 => any::<bool>().prop_map(|pinned| Change::Pin { pinned }),
        1 => Just(Change::Delete),
        1 => any::<bool>().prop_map(|stop_runs| Change::DeleteProject { stop_runs }),
    ]
}

fn at_most(most: usize) -> impl Strategy<Value = usize> {
    0..=most
}

pub(super) fn apply(given: &mut Given, model: &mut ChatModel, change: Change) {
    let count = model.branches.len();
    match change {
        Change::Fork { branch, place } => fork(given, model, branch % count, place),
        Change::RenameBranch { branch, title } => {
            rename_branch(given, model, branch % count, title);
        }
        Change::DeleteBranch { branch, keep_forks } => {
            delete_branch(given, model, branch % count, keep_forks);
        }
        Change::Rename { title } => {
            let title = title.to_string();
            let command = ChatCommand::Rename { title: title.clone(), expected_revision: 1 };
            let done = given.when_chat(command);
            if expect(model.gone_chat(), &done) && model.title != title {
                (model.title, model.revision) = (title, model.revision + 1);
            }
        }
        Change::Pin { pinned } => {
            let done = given.when_chat(ChatCommand::Pin { pinned, expected_revision: 1 });
            if expect(model.gone_chat(), &done) && model.pinned != pinned {
                (model.pinned, model.revision) = (pinned, model.revision + 1);
            }
        }
        Change::Delete => {
            let done = given.when_chat(ChatCommand::Delete { expected_revision: 1 });
            if expect(model.gone_chat(), &done) {
                model.deleted = true;
                model.branches.iter_mut().for_each(BranchModel::close);
            }
        }
        Change::DeleteProject { stop_runs } => delete_project(given, model, stop_runs),
    }
}

/// Whether the command was carried out: it must have been, unless that is gone.
fn expect(gone: Option<Refusal>, done: &Result<usize, Refusal>) -> bool {
    assert_eq!(done.as_ref().err(), gone.as_ref());
    gone.is_none()
}

fn fork(given: &mut Given, model: &mut ChatModel, at: usize, place: usize) {
    let history = model.history(given, at);
    let branch = model.branches[at].id;
    let from = history.get(place).copied();
    let message = given.message("fork");
    let id = message.id;
    let command = ChatCommand::Fork { branch, from, title: None, message };
    let known: Vec<BranchId> = given.branches.keys().copied().collect();
    let done = given.when_chat(command);
    if let Some(gone) = model.gone_chat().or_else(|| model.gone_branch(at)) {
        assert_eq!(done, Err(gone));
        return;
    }
    let after = from.or(history.last().copied());
    if after.is_some_and(|after| open_calls(given, after) > 0) {
        let Err(Refusal::SeparatesToolCalls { nearest, .. }) = done else {
            panic!("a fork parts calls from their results: {done:?}")
        };
        // The nearest that it names would do.
        let nearest = MessageId(nearest.unwrap());
        assert!(history.contains(&nearest) && open_calls(given, nearest) == 0);
        return;
    }
    done.unwrap();
    let new = given.branches.keys().find(|id| !known.contains(id)).copied().unwrap();
    let shared = after.map_or(0, |after| history.iter().position(|id| *id == after).unwrap() + 1);
    let mut queue = Model::default();
    queue.begin(id);
    let inherited = history[..shared].to_vec();
    model.branches.push(BranchModel { id: new, inherited, deleted: false, title: None, queue });
}

/// How many of a model's tool calls have no result right after this message.
fn open_calls(given: &Given, message: MessageId) -> u32 {
    let mut all = given.branches.values().flat_map(|branch| &branch.messages);
    all.find(|known| known.id == message).unwrap().open_calls
}

fn rename_branch(given: &mut Given, model: &mut ChatModel, at: usize, title: char) {
    let title = title.to_string();
    let branch = model.branches[at].id;
    let done = given.when_chat(ChatCommand::RenameBranch { branch, title: title.clone() });
    if expect(model.gone_chat().or_else(|| model.gone_branch(at)), &done) {
        let known = model.branches[at].title.replace(title.clone());
        assert_eq!(done, Ok(usize::from(known != Some(title))));
    }
}

fn delete_branch(given: &mut Given, model: &mut ChatModel, at: usize, keep_forks: bool) {
    let branch = model.branches[at].id;
    let command = ChatCommand::DeleteBranch { branch, keep_forks, expected_revision: 1 };
    let done = given.when_chat(command);
    if let Some(gone) = model.gone_chat().or_else(|| model.gone_branch(at)) {
        assert_eq!(done, Err(gone));
        return;
    }
    let own: Vec<MessageId> = given.branches[&branch].messages.iter().map(|own| own.id).collect();
    let in_the_way = model.branches.iter().filter(|other| {
        !other.deleted && other.inherited.iter().any(|shared| own.contains(shared))
    });
    let in_the_way: Vec<BranchId> = in_the_way.map(|other| other.id).collect();
    if at == 0 || (!keep_forks && !in_the_way.is_empty()) {
        let refused = done.unwrap_err().to_string();
        // Those that hang on others that are named go with them.
        let named = |id: &BranchId| refused.contains(&id.to_string());
        assert!(at == 0 || in_the_way.iter().any(named), "{refused}");
        return;
    }
    done.unwrap();
    model.branches[at].deleted = true;
    model.branches[at].close();
}

fn delete_project(given: &mut Given, model: &mut ChatModel, stop_runs: bool) {
    let id = Uuid::from_u128(1);
    let running = model.branches.iter().any(|branch| branch.queue.running.is_some());
    let done = given.when_project(ProjectCommand::Delete { stop_runs, expected_revision: 1 });
    if model.project_deleted {
        assert_eq!(done, Err(Refusal::Gone { what: "project", id }));
        // What its deletion led to.
        given.when_chat(ChatCommand::Sweep).unwrap();
        model.deleted = true;
        model.branches.iter_mut().for_each(BranchModel::close);
    } else if running && !stop_runs {
        assert!(done.unwrap_err().to_string().contains("stopRuns"));
    } else {
        done.unwrap();
        model.project_deleted = true;
    }
}
