//! What is deleted is gone from listings, search, counts and reads, live and after a rebuild.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use scripta_events::domain::*;

use crate::testing::{History, message};
use crate::{Losses, Projections, SearchQuery, Thing};

fn found(projections: &Projections, branch: Option<BranchId>) -> Vec<(MessageId, BranchId)> {
    let query = SearchQuery { is_regex: true, branch, ..SearchQuery::text(".") };
    let page = projections.search(&query, None, 10_000).unwrap();
    page.hits.iter().map(|hit| (hit.message, hit.branch)).collect()
}

#[tokio::test]
async fn a_deleted_chat_is_gone_everywhere_and_its_ids_say_so() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let (chat, other) = (history.chat(project, "goes"), history.chat(project, "stays"));
    let first = chat.first_branch();
    let said = history.say(chat, first, Role::User, "hello");
    let run = history.start_run(project, chat, said);
    history.say(other, other.first_branch(), Role::User, "hello");
    let queued = message(Role::User, "next");
    history.branch_event(chat, first, crate::testing::queued(&queued));
    projections.reach(history.head()).await.unwrap();
    let losses = Losses { chats: 1, branches: 1, messages: 1, queued: 1, running: 1 };
    assert_eq!(projections.losses(Thing::Chat(chat)).unwrap(), losses);
    assert_eq!(projections.losses(Thing::Project(project)).unwrap().chats, 2);

    history.chat_event(chat, ChatDeleted {});
    // What a decider writes in the same commit.
    history.branch_event(chat, first, TurnEnded { run, outcome: TurnOutcome::Stopped });
    history.run_event(chat, run, RunStopped {});
    projections.reach(history.head()).await.unwrap();
    assert_eq!(projections.chat_ids(None).unwrap(), [other]);
    assert_eq!(projections.project(project).unwrap().unwrap().chats, 1);
    assert!(projections.run_ids(None, None, None).unwrap().is_empty());
    assert_eq!(projections.unfinished().unwrap(), (vec![], vec![]));
    assert_eq!(found(&projections, None).len(), 1);
    assert!(projections.chat(chat).unwrap().is_none());
    assert!(projections.branch(first).unwrap().is_none());
    assert!(projections.branches(chat).unwrap().is_empty());
    assert!(projections.queue(first).unwrap().is_empty());
    assert!(projections.messages(first, 1..=9).unwrap().is_empty());
    assert!(projections.message(said).unwrap().is_none());
    assert!(projections.run(run).unwrap().is_none());
    assert_eq!(projections.losses(Thing::Chat(chat)).unwrap(), Losses::default());
    let gone = [Thing::Chat(chat), Thing::Branch(first), Thing::Message(said), Thing::Run(run)];
    for thing in gone {
        assert!(projections.is_gone(thing).unwrap(), "{thing:?}");
    }
    assert_eq!(projections.chat_of(first).unwrap(), Some(chat));
    for thing in [Thing::Chat(other), Thing::Chat(ChatId::random()), Thing::Run(RunId::random())] {
        assert!(!projections.is_gone(thing).unwrap(), "{thing:?}");
    }
}

#[tokio::test]
async fn what_forks_keep_stays_with_them() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let project = history.project("p");
    let chat = history.chat(project, "c");
    let first = chat.first_branch();
    let a = history.say(chat, first, Role::User, "aaa");
    let outer = history.fork(project, chat, first, 1, a);
    let b = history.say(chat, outer, Role::User, "bbb");
    let c = history.say(chat, outer, Role::User, "ccc");
    let inner = history.fork(project, chat, outer, 1, b);
    let d = history.say(chat, inner, Role::User, "ddd");
    projections.reach(history.head()).await.unwrap();
    let lost = |branch| projections.losses(Thing::Branch(branch)).unwrap().messages;
    assert_eq!((lost(outer), lost(inner)), (1, 1));

    history.chat_event(chat, BranchDeleted { branch: outer });
    projections.reach(history.head()).await.unwrap();
    let row = projections.chat(chat).unwrap().unwrap();
    assert_eq!((row.branches, row.messages, row.revision), (2, 3, 1));
    let ids = |branch| -> Vec<MessageId> {
        let rows = projections.messages(branch, 1..=9).unwrap();
        rows.iter().map(|row| row.message.id).collect()
    };
    assert_eq!(ids(inner), [a, b, d]);
    assert!(ids(outer).is_empty());
    assert!(projections.message(b).unwrap().is_some());
    assert!(projections.is_gone(Thing::Message(c)).unwrap());
    assert!(projections.is_gone(Thing::Branch(outer)).unwrap());
    // A kept message is found under the branch that keeps it.
    assert_eq!(found(&projections, None), [(a, first), (b, inner), (d, inner)]);
    assert_eq!(found(&projections, Some(inner)), [(a, first), (b, inner), (d, inner)]);
    assert_eq!(lost(inner), 2);

    history.chat_event(chat, BranchDeleted { branch: inner });
    projections.reach(history.head()).await.unwrap();
    let row = projections.chat(chat).unwrap().unwrap();
    assert_eq!((row.branches, row.messages), (1, 1));
    assert_eq!(found(&projections, None), [(a, first)]);
}

#[tokio::test]
async fn a_deleted_projects_chats_are_gone_before_the_sweep_and_left_for_it() {
    let history = History::new();
    let dir = tempfile::tempdir().unwrap();
    let projections = history.open(dir.path());
    let (project, other) = (history.project("p"), history.project("q"));
    let (one, two) = (history.chat(project, "one"), history.chat(project, "two"));
    let stays = history.chat(other, "stays");
    let said = history.say(one, one.first_branch(), Role::User, "hello");
    let run = history.start_run(project, one, said);
    history.delete_project(project);
    // One that was being made meanwhile.
    let late = history.chat(project, "late");
    projections.reach(history.head()).await.unwrap();
    assert_eq!(projections.project_ids().unwrap(), [other]);
    assert_eq!(projections.chat_ids(None).unwrap(), [stays]);
    assert!(projections.chat_ids(Some(project)).unwrap().is_empty());
    assert!(found(&projections, None).is_empty());
    assert_eq!(projections.unfinished().unwrap(), (vec![], vec![]));
    let gone = [Thing::Project(project), Thing::Chat(late), Thing::Message(said), Thing::Run(run)];
    for thing in gone {
        assert!(projections.is_gone(thing).unwrap(), "{thing:?}");
    }
    assert_eq!(projections.unswept(Some(project)).unwrap(), [one, two, late]);
    for chat in [one, two, late] {
        history.chat_event(chat, ChatDeleted {});
    }
    projections.reach(history.head()).await.unwrap();
    assert!(projections.unswept(None).unwrap().is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Chat,
    Pin(usize, bool),
    Say(usize),
    Fork(usize, usize),
    DeleteBranch(usize),
    DeleteChat(usize),
    DeleteProject(usize),
    /// The projections have caught up here, so that batches end at different places.
    CatchUp,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Chat),
        1 => (0..9_usize, any::<bool>()).prop_map(|(at, pinned)| Step::Pin(at, pinned)),
        8 => (0..99_usize).prop_map(Step::Say),
        5 => (0..99_usize, 0..9_usize).prop_map(|(branch, at)| Step::Fork(branch, at)),
        3 => (0..99_usize).prop_map(Step::DeleteBranch),
        1 => (0..9_usize).prop_map(Step::DeleteChat),
        1 => (0..9_usize).prop_map(Step::DeleteProject),
        2 => Just(Step::CatchUp),
    ]
}

/// What there is, told in the simplest way: each branch that is there with its whole chain, and
/// who wrote each message, as which of its own.
#[derive(Default)]
struct Told {
    projects: Vec<ProjectId>,
    chats: BTreeMap<ChatId, (ProjectId, bool)>,
    chains: BTreeMap<BranchId, (ChatId, Vec<MessageId>)>,
    written: BTreeMap<MessageId, (BranchId, u64)>,
    own: BTreeMap<BranchId, u64>,
}

impl Told {
    fn branch(&self, at: usize) -> Option<(BranchId, ChatId)> {
        let count = self.chains.len().max(1);
        self.chains.iter().nth(at % count).map(|(branch, (chat, _))| (*branch, *chat))
    }

    fn chat(&self, at: usize) -> Option<ChatId> {
        self.chats.keys().nth(at % self.chats.len().max(1)).copied()
    }

    fn forget(&mut self, chat: ChatId) {
        self.chats.remove(&chat);
        self.chains.retain(|_, (of, _)| *of != chat);
    }

    fn apply(&mut self, history: &History, step: &Step) {
        match *step {
            Step::CatchUp => {}
            Step::Chat => {
                let project = self.projects.last().copied();
                let project = project.unwrap_or_else(|| history.project("more"));
                let chat = history.chat(project, "chat");
                self.projects.retain(|known| *known != project);
                self.projects.insert(0, project);
                self.chats.insert(chat, (project, false));
                self.chains.insert(chat.first_branch(), (chat, vec![]));
            }
            Step::Pin(at, pinned) => {
                let Some(chat) = self.chat(at) else { return };
                history.chat_event(chat, ChatPinned { pinned });
                self.chats.get_mut(&chat).unwrap().1 = pinned;
            }
            Step::Say(at) => {
                let Some((branch, chat)) = self.branch(at) else { return };
                let message = history.say(chat, branch, Role::User, "text");
                self.chains.get_mut(&branch).unwrap().1.push(message);
                let own = self.own.entry(branch).or_default();
                *own += 1;
                self.written.insert(message, (branch, *own));
            }
            Step::Fork(at, place) => {
                let Some((branch, chat)) = self.branch(at) else { return };
                let chain = self.chains[&branch].1.clone();
                if chain.is_empty() {
                    return;
                }
                let chain = &chain[..=place % chain.len()];
                let after = *chain.last().unwrap();
                let (parent, own) = self.written[&after];
                let project = self.chats[&chat].0;
                let new = history.fork(project, chat, parent, own, after);
                self.chains.insert(new, (chat, chain.to_vec()));
            }
            Step::DeleteBranch(at) => {
                let Some((branch, chat)) = self.branch(at) else { return };
                if branch != chat.first_branch() {
                    history.chat_event(chat, BranchDeleted { branch });
                    self.chains.remove(&branch);
                }
            }
            Step::DeleteChat(at) => {
                let Some(chat) = self.chat(at) else { return };
                history.chat_event(chat, ChatDeleted {});
                self.forget(chat);
            }
            Step::DeleteProject(at) => {
                if self.projects.is_empty() {
                    return;
                }
                let project = self.projects.remove(at % self.projects.len());
                history.delete_project(project);
                let of = |(chat, (of, _)): (&ChatId, &(ProjectId, bool))| {
                    (*of == project).then_some(*chat)
                };
                let chats: Vec<ChatId> = self.chats.iter().filter_map(of).collect();
                chats.into_iter().for_each(|chat| self.forget(chat));
            }
        }
    }

    fn check(&self, projections: &Projections) {
        let listed: BTreeSet<_> = projections.chat_ids(None).unwrap().into_iter().collect();
        assert_eq!(listed, self.chats.keys().copied().collect());
        let pins = projections.chat_ids(None).unwrap();
        assert!(pins.iter().map(|chat| !self.chats[chat].1).is_sorted());
        let mut there = BTreeSet::new();
        for chat in self.chats.keys() {
            let chains = || self.chains.iter().filter(|(_, (of, _))| of == chat);
            let messages: BTreeSet<_> = chains().flat_map(|(_, (_, chain))| chain).collect();
            let row = projections.chat(*chat).unwrap().unwrap();
            assert_eq!(
                (row.branches, row.messages),
                (chains().count() as u64, messages.len() as u64)
            );
            there.extend(messages.into_iter().copied());
        }
        for (branch, (_, chain)) in &self.chains {
            let rows = projections.messages(*branch, 1..=u64::MAX).unwrap();
            assert_eq!(rows.iter().map(|row| row.message.id).collect::<Vec<_>>(), *chain);
            let hits = found(projections, Some(*branch)).into_iter().map(|(message, _)| message);
            assert_eq!(hits.collect::<BTreeSet<_>>(), chain.iter().copied().collect());
        }
        for message in self.written.keys() {
            let gone = projections.is_gone(Thing::Message(*message)).unwrap();
            assert_eq!(gone, !there.contains(message));
            assert_eq!(projections.message(*message).unwrap().is_none(), gone);
        }
        let hits = found(projections, None);
        assert!(hits.iter().all(|(message, branch)| self.chains[branch].1.contains(message)));
        assert_eq!(hits.len(), there.len());
        assert_eq!(hits.into_iter().map(|(message, _)| message).collect::<BTreeSet<_>>(), there);
        for project in &self.projects {
            let chats = self.chats.values().filter(|(of, _)| of == project).count();
            assert_eq!(projections.project(*project).unwrap().unwrap().chats, chats as u64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_history_with_deletions_is_what_it_is_live_and_rebuilt(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let history = History::new();
        let dir = tempfile::tempdir().unwrap();
        let live = history.open(dir.path());
        let projects = vec![history.project("one"), history.project("two")];
        let mut told = Told { projects, ..Told::default() };
        for step in &steps {
            told.apply(&history, step);
            if matches!(step, Step::CatchUp) {
                runtime.block_on(live.reach(history.head())).unwrap();
                told.check(&live);
            }
        }
        runtime.block_on(live.reach(history.head())).unwrap();
        told.check(&live);
        let fresh_dir = tempfile::tempdir().unwrap();
        let fresh = history.open(fresh_dir.path());
        runtime.block_on(fresh.reach(history.head())).unwrap();
        prop_assert_eq!(live.dump(), fresh.dump());
        prop_assert_eq!(found(&live, None), found(&fresh, None));
    }
}
