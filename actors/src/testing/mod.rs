//! Given events, when a command, then a decision: a chat's streams without a log.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod deciders;
mod deletion;
mod machine;

use std::collections::BTreeMap;
use std::sync::Arc;

use scripta_events::domain::{
    BranchEvent, BranchId, ChatId, ConnectionId, MessageId, ProjectCreated, ProjectId, RunEvent,
    Sender,
};
use scripta_events::{Revision, Timestamp};
use uuid::Uuid;

use crate::{
    Aggregate, Branch, BranchCommand, BranchFacts, BranchKey, BranchState, Chat, ChatCommand,
    ChatFacts, ChatState, Decision, Effect, Endpoint, Ids, NewMessage, OpenBranch, Partial,
    Project, ProjectCommand, ProjectFacts, ProjectState, Refusal, Run, RunCommand, RunFacts,
    RunKey, RunState, Write,
};

/// A chat with its branches and runs, folded from what was decided.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) chat: Option<ChatState>,
    pub(crate) branches: BTreeMap<BranchId, BranchState>,
    pub(crate) runs: BTreeMap<scripta_events::domain::RunId, (RunState, u64)>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) partial: Option<Partial>,
    pub(crate) problem: Option<String>,
    /// The chat's project, where it matters.
    pub(crate) project: Option<ProjectState>,
    /// The branch that is spoken to; the first one if none.
    pub(crate) here: Option<BranchId>,
    count: u128,
}

/// A project like any other.
pub(crate) fn project() -> ProjectState {
    let made = ProjectCreated {
        project: ProjectId(Uuid::from_u128(1)),
        name: "Project".to_owned(),
        directories: vec![],
    };
    Project::evolve(None, &made.into(), Timestamp(1)).unwrap()
}

impl Given {
    /// A chat with an idle first branch.
    pub(crate) fn chat() -> Given {
        let mut given = Given::default();
        let create = ChatCommand::Create {
            project: ProjectId(Uuid::from_u128(1)),
            title: "First".to_owned(),
            connection: None,
            model: None,
        };
        given.when_chat(create).unwrap();
        given
    }

    pub(crate) fn chat_id(&self) -> ChatId {
        ChatId(Uuid::from_u128(2))
    }

    pub(crate) fn first(&self) -> BranchId {
        self.chat_id().first_branch()
    }

    fn here(&self) -> BranchId {
        self.here.unwrap_or_else(|| self.first())
    }

    pub(crate) fn branch(&self) -> &BranchState {
        &self.branches[&self.here()]
    }

    /// A branch, its parent, and so on to the root.
    fn chain(&self, branch: BranchId) -> Vec<Arc<BranchState>> {
        let mut chain = vec![];
        let mut next = self.branches.get(&branch);
        while let Some(state) = next {
            chain.push(Arc::new(state.clone()));
            next = state.fork.and_then(|fork| self.branches.get(&fork.parent));
        }
        chain
    }

    /// The messages of a branch's history, from the root to its head.
    pub(crate) fn history(&self, branch: BranchId) -> Vec<MessageId> {
        let mut count = usize::MAX;
        let mut history = vec![];
        for link in self.chain(branch) {
            let own = link.messages.iter().take(count).map(|message| message.id);
            history.splice(0..0, own);
            count = link.fork.map_or(0, |fork| usize::try_from(fork.own_messages).unwrap());
        }
        history
    }

    /// What waits in the branch.
    pub(crate) fn queue(&self) -> Vec<MessageId> {
        self.branch().queue.iter().map(|queued| queued.message.id).collect()
    }

    /// The state of the run of the branch's turn.
    pub(crate) fn run(&self) -> &RunState {
        &self.runs[&self.branch().turn.unwrap().run].0
    }

    pub(crate) fn id(&mut self) -> Uuid {
        self.count += 1;
        Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + (self.count << 16))
    }

    pub(crate) fn message(&mut self, text: &str) -> NewMessage {
        NewMessage::new(MessageId(self.id()), text, Sender::User)
    }

    pub(crate) fn submit(&mut self, text: &str) -> MessageId {
        let message = self.message(text);
        let id = message.id;
        self.when_branch(BranchCommand::enqueue(message)).unwrap();
        id
    }

    pub(crate) fn submit_refused(&mut self, text: &str) -> Refusal {
        let message = self.message(text);
        self.when_branch(BranchCommand::enqueue(message)).unwrap_err()
    }

    fn ids(&mut self) -> Ids {
        Ids::from_base(self.id())
    }

    fn endpoint(&self) -> Option<Endpoint> {
        let connection = ConnectionId("script".to_owned());
        Some(Endpoint { connection, model: None, problem: self.problem.clone() })
    }

    pub(crate) fn when_chat(&mut self, command: ChatCommand) -> Result<usize, Refusal> {
        let chain = match &command {
            ChatCommand::Fork { branch, .. } | ChatCommand::ForkImported { parent: branch, .. } => {
                self.chain(*branch)
            }
            _ => vec![],
        };
        let endpoint = self.endpoint();
        let (now, ids) = (Timestamp(5), self.ids());
        let open = self.branches.values().map(|state| OpenBranch {
            state: Arc::new(state.clone()),
            revision: Revision(1),
            run: state
                .turn
                .and_then(|turn| self.runs.get(&turn.run))
                .map(|(run, revision)| (Arc::new(run.clone()), Revision(*revision))),
        });
        let wanted = |open: &OpenBranch| match &command {
            ChatCommand::DeleteBranch { branch, .. } => open.state.id == *branch,
            _ => true,
        };
        let open = open.filter(wanted).collect();
        let project = Some(Arc::new(self.project.clone().unwrap_or_else(project)));
        let mut facts = ChatFacts {
            now,
            ids,
            project,
            open,
            chain,
            endpoint,
            unattachable: None,
            workspace: Arc::default(),
        };
        let decision = Chat::decide(self.chat_id(), self.chat.as_ref(), &command, &mut facts)?;
        for event in &decision.events {
            self.chat = Chat::evolve(self.chat.take(), event, now);
        }
        Ok(self.then(decision))
    }

    pub(crate) fn when_branch(&mut self, command: BranchCommand) -> Result<usize, Refusal> {
        let here = self.here();
        let key = BranchKey { chat: self.chat_id(), branch: here };
        let turn = self.branch().turn.or(self.branch().resumable);
        let run = turn.and_then(|turn| self.runs.get(&turn.run).cloned());
        let mut facts = BranchFacts {
            now: Timestamp(6),
            ids: self.ids(),
            chat: self.chat.clone().map(Arc::new),
            chat_revision: Revision(1),
            project_deleted: self.project.as_ref().is_some_and(|project| project.deleted),
            endpoint: self.endpoint(),
            run: run.map(|(state, revision)| (Arc::new(state), Revision(revision))),
            partial: self.partial.clone(),
            unattachable: None,
            chain: self.chain(here),
        };
        let state = self.branches.get(&here);
        let decision = Branch::decide(key, state, &command, &mut facts)?;
        self.evolve_branch(here, &decision.events);
        Ok(self.then(decision))
    }

    pub(crate) fn when_project(&mut self, command: ProjectCommand) -> Result<usize, Refusal> {
        let state = self.project.clone().unwrap_or_else(project);
        let under_way = self.runs.values().filter(|(run, _)| !run.is_over());
        let running = under_way.map(|(run, _)| RunKey { chat: self.chat_id(), run: run.id });
        let mut facts = ProjectFacts { running: running.collect(), ..ProjectFacts::new() };
        let decision = Project::decide(state.id, Some(&state), &command, &mut facts)?;
        self.project = Some(state);
        for event in &decision.events {
            self.project = Project::evolve(self.project.take(), event, Timestamp(8));
        }
        Ok(self.then(decision))
    }

    pub(crate) fn when_run(&mut self, key: RunKey, command: RunCommand) -> Result<usize, Refusal> {
        let mut facts = RunFacts { now: Timestamp(7), ids: self.ids() };
        let state = self.runs.get(&key.run).map(|(state, _)| state);
        let decision = Run::decide(key, state, &command, &mut facts)?;
        self.evolve_run(key, &decision.events);
        Ok(self.then(decision))
    }

    /// The present turn's run gets this answer from the world.
    pub(crate) fn tell(&mut self, command: RunCommand) -> usize {
        let run = self.branch().turn.unwrap().run;
        self.when_run(RunKey { chat: self.chat_id(), run }, command).unwrap()
    }

    /// Folds what a decision writes elsewhere, checks what it expects there, and returns how
    /// many events it has.
    fn then<A: Aggregate>(&mut self, decision: Decision<A>) -> usize {
        let mut count = decision.events.len();
        for write in decision.others {
            match write {
                Write::Branch { key, expected, events } => {
                    let there = Revision(self.branches.contains_key(&key.branch).into());
                    assert!(expected.holds(there), "{expected:?} of {there:?}");
                    count += events.len();
                    self.evolve_branch(key.branch, &events);
                }
                Write::Run { key, expected, events } => {
                    let there = self.runs.get(&key.run).map_or(0, |(_, revision)| *revision);
                    assert!(expected.holds(Revision(there)), "{expected:?} of {there}");
                    count += events.len();
                    self.evolve_run(key, &events);
                }
                Write::Named { .. } => {}
            }
        }
        for check in decision.checks {
            assert!(check.expected.holds(Revision(1)), "{check:?}");
        }
        self.effects.extend(decision.effects);
        count
    }

    fn evolve_branch(&mut self, id: BranchId, events: &[BranchEvent]) {
        for event in events {
            let state = Branch::evolve(self.branches.remove(&id), event, Timestamp(0)).unwrap();
            self.branches.insert(id, state);
        }
    }

    fn evolve_run(&mut self, key: RunKey, events: &[RunEvent]) {
        for event in events {
            let (state, revision) = self.runs.remove(&key.run).unzip();
            let state = Run::evolve(state, event, Timestamp(0)).unwrap();
            self.runs.insert(key.run, (state, revision.unwrap_or(0) + 1));
        }
    }
}
