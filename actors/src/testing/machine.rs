//! The branch, its queue and its runs against a small model, under any order of what can happen.

use std::collections::VecDeque;

use proptest::prelude::*;
use scripta_events::domain::{MessageId, Role, ToolCall};

use super::Given;
use crate::{BranchCommand, BranchStatus, Partial, RunCommand, RunKey, RunStatus, ToolOutcome};

#[derive(Clone, Debug)]
enum Happening {
    Submit,
    StartNext,
    Stop {
        partial: bool,
    },
    Skip,
    Prepared,
    Answered {
        calls: u32,
    },
    Started {
        index: u32,
    },
    Finished {
        index: u32,
    },
    Failed,
    /// An answer for the run before the present one.
    Late,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => Just(Happening::Submit),
        3 => Just(Happening::StartNext),
        1 => any::<bool>().prop_map(|partial| Happening::Stop { partial }),
        1 => Just(Happening::Skip),
        4 => Just(Happening::Prepared),
        5 => (0..3u32).prop_map(|calls| Happening::Answered { calls }),
        3 => (0..3u32).prop_map(|index| Happening::Started { index }),
        5 => (0..3u32).prop_map(|index| Happening::Finished { index }),
        1 => Just(Happening::Failed),
        1 => Just(Happening::Late),
    ]
}

/// What a branch has to look like, told in the simplest way.
#[derive(Default)]
struct Model {
    queue: VecDeque<MessageId>,
    taken: Vec<MessageId>,
    running: Option<MessageId>,
    broken: bool,
}

impl Model {
    fn start(&mut self) {
        self.running = self.queue.pop_front();
        self.taken.extend(self.running);
        self.broken = false;
    }

    fn status(&self) -> &'static str {
        match self.running {
            Some(_) => "running",
            None if self.broken && !self.queue.is_empty() => "paused",
            None => "idle",
        }
    }
}

fn apply(given: &mut Given, model: &mut Model, happening: Happening) {
    let step = given.branch().turn.map_or(0, |_| given.run().step);
    let running = given.branch().turn.is_some();
    match happening {
        Happening::Submit => {
            let at_once = model.status() == "idle" && model.queue.is_empty();
            model.queue.push_back(given.submit("text"));
            if at_once {
                model.start();
            }
        }
        Happening::StartNext => {
            given.when_branch(BranchCommand::StartNext).unwrap();
            if model.status() == "idle" {
                model.start();
            }
        }
        Happening::Skip => {
            let paused = model.status() == "paused";
            assert_eq!(given.when_branch(BranchCommand::SkipFailed).is_ok(), paused);
            if paused {
                model.start();
            }
        }
        Happening::Stop { partial } => {
            let text = "so far".to_owned();
            given.partial = partial.then(|| Partial { step, text, ..Partial::default() });
            given.when_branch(BranchCommand::Stop).unwrap();
            model.broken |= model.running.take().is_some();
        }
        Happening::Late => {
            let over = given.runs.values().find(|(run, _)| run.is_over()).map(|(run, _)| run.id);
            if let Some(run) = over {
                let key = RunKey { chat: given.chat_id(), run };
                let failed = RunCommand::Failed { reason: "late".to_owned(), partial: None };
                assert_eq!(given.when_run(key, failed), Ok(0));
            }
        }
        _ if !running => {}
        Happening::Prepared => drop(given.tell(RunCommand::Prepared { tools: vec![] })),
        Happening::Answered { calls } => answer(given, model, step, calls),
        Happening::Started { index } => {
            given.tell(RunCommand::CallStarted { step, index });
        }
        Happening::Finished { index } => {
            let outcome = ToolOutcome::error("x");
            given.tell(RunCommand::CallFinished { step, index, outcome });
        }
        Happening::Failed => {
            given.tell(RunCommand::Failed { reason: "broken".to_owned(), partial: None });
            model.running = None;
            model.broken = true;
        }
    }
}

fn answer(given: &mut Given, model: &mut Model, step: u32, calls: u32) {
    let ends = given.run().awaits_answer(step) && calls == 0;
    let call = |id: u32| ToolCall {
        id: id.to_string(),
        server: "app".to_owned(),
        tool: "app_read".to_owned(),
        arguments: "{}".to_owned(),
    };
    let calls = (0..calls).map(call).collect();
    let (text, reasoning) = ("said".to_owned(), String::new());
    given.tell(RunCommand::Answered { step, text, reasoning, calls, usage: None });
    if ends {
        model.running = None;
    }
}

fn check(given: &Given, model: &Model) {
    let branch = given.branch();
    let status = match branch.status() {
        BranchStatus::Idle => "idle",
        BranchStatus::Running => "running",
        BranchStatus::Paused { .. } => "paused",
    };
    assert_eq!(status, model.status());
    assert_eq!(branch.turn.map(|turn| turn.message), model.running);
    let queue: Vec<_> = branch.queue.iter().map(|message| message.id).collect();
    assert_eq!(queue, model.queue.iter().copied().collect::<Vec<_>>());
    let users = branch.messages.iter().filter(|message| message.role == Role::User);
    assert_eq!(users.map(|message| message.id).collect::<Vec<_>>(), model.taken);
    // At most one run is under way, and it is the turn's.
    let under_way = given.runs.values().filter(|(run, _)| run.status == RunStatus::Running);
    let under_way: Vec<_> = under_way.map(|(run, _)| run.id).collect();
    assert_eq!(under_way, branch.turn.iter().map(|turn| turn.run).collect::<Vec<_>>());
    assert_eq!(given.runs.len(), model.taken.len());
    // Outside a turn every call has its result.
    if branch.turn.is_none() {
        assert_eq!(branch.messages.last().map_or(0, |last| last.open_calls), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_branch_behaves_as_its_model(
        happenings in proptest::collection::vec(happening(), 1..80),
    ) {
        let (mut given, mut model) = (Given::chat(), Model::default());
        for happening in happenings {
            apply(&mut given, &mut model, happening);
            check(&given, &model);
        }
    }
}
