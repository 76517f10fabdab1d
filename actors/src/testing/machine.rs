//! The branch, its queue and its runs against a small model, under any order of what can happen.

use std::collections::VecDeque;

use proptest::prelude::*;
use scripta_events::domain::{MessageId, Role, ToolCall};
use uuid::Uuid;

use super::Given;
use crate::{
    BranchCommand, BranchStatus, Effect, Partial, PauseReason, RunCommand, RunKey, RunStatus,
    SubmitMode, ToolOutcome,
};

#[derive(Clone, Debug)]
enum Happening {
    Submit {
        mode: SubmitMode,
        head: Head,
    },
    Update {
        place: usize,
    },
    Remove {
        place: usize,
    },
    Clear,
    StartNext,
    Stop {
        partial: bool,
    },
    Skip,
    Resume,
    Rebase,
    MarkRead {
        place: usize,
    },
    AppendAsides,
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

/// Which head a message is meant for.
#[derive(Clone, Copy, Debug)]
enum Head {
    Any,
    Present,
    Another,
}

fn happening() -> impl Strategy<Value = Happening> {
    let mode = prop_oneof![
        5 => Just(SubmitMode::Enqueue),
        2 => Just(SubmitMode::Aside),
        1 => Just(SubmitMode::Interrupt),
        1 => Just(SubmitMode::Reject),
    ];
    let head =
        prop_oneof![4 => Just(Head::Any), 2 => Just(Head::Present), 1 => Just(Head::Another)];
    let submit = (mode, head).prop_map(|(mode, head)| Happening::Submit { mode, head });
    let of_person = prop_oneof![
        8 => submit,
        1 => (0..4usize).prop_map(|place| Happening::Update { place }),
        1 => (0..4usize).prop_map(|place| Happening::Remove { place }),
        1 => Just(Happening::Clear),
        2 => any::<bool>().prop_map(|partial| Happening::Stop { partial }),
        1 => Just(Happening::Skip),
        2 => Just(Happening::Resume),
        2 => Just(Happening::Rebase),
        1 => (0..20usize).prop_map(|place| Happening::MarkRead { place }),
    ];
    let of_world = prop_oneof![
        3 => Just(Happening::StartNext),
        1 => Just(Happening::AppendAsides),
        4 => Just(Happening::Prepared),
        5 => (0..3u32).prop_map(|calls| Happening::Answered { calls }),
        3 => (0..3u32).prop_map(|index| Happening::Started { index }),
        5 => (0..3u32).prop_map(|index| Happening::Finished { index }),
        1 => Just(Happening::Failed),
        1 => Just(Happening::Late),
    ];
    prop_oneof![of_person, of_world]
}

/// What a branch has to look like, told in the simplest way.
#[derive(Default)]
struct Model {
    queue: VecDeque<Waiting>,
    /// Asides that nobody has read yet.
    asides: Vec<MessageId>,
    /// What people said, in the order of the history.
    taken: Vec<MessageId>,
    asides_taken: usize,
    running: Option<MessageId>,
    /// The turn that was stopped or failed, and that nothing came after.
    broken: Option<MessageId>,
    /// Whether that holds up the queue.
    holds: bool,
    needs_rebase: Option<MessageId>,
    read: Option<MessageId>,
    /// How many runs there were.
    runs: usize,
    /// Whether somebody is about to start what waits.
    start_is_due: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: MessageId,
    /// How long the history was, asides not counted, that it was meant for.
    after: Option<usize>,
}

impl Model {
    fn status(&self) -> &'static str {
        let Some(next) = self.queue.front() else {
            return if self.running.is_some() { "running" } else { "idle" };
        };
        match self.running {
            Some(_) => "running",
            None if self.holds || self.needs_rebase == Some(next.id) => "paused",
            None => "idle",
        }
    }

    /// How long the history is, asides not counted.
    fn length(&self, given: &Given) -> usize {
        given.branch().messages.len() - self.asides_taken
    }

    fn begin(&mut self, message: MessageId) {
        self.running = Some(message);
        self.taken.push(message);
        (self.broken, self.holds) = (None, false);
        self.runs += 1;
    }

    fn end(&mut self) {
        self.broken = self.running.take();
        self.holds = true;
    }

    /// The turn of the first in the queue has come.
    fn start(&mut self, length: usize) {
        let Some(next) = self.queue.front().copied() else { return };
        if next.after.is_some_and(|after| after != length) {
            self.needs_rebase = Some(next.id);
            self.holds = false;
        } else {
            self.queue.pop_front();
            self.begin(next.id);
        }
    }

    /// Unread asides come next in the history.
    fn flush(&mut self) {
        self.asides_taken += self.asides.len();
        self.taken.append(&mut self.asides);
    }
}

fn apply(given: &mut Given, model: &mut Model, happening: Happening) {
    match happening {
        Happening::Submit { mode, head } => submit(given, model, mode, head),
        Happening::Update { .. } | Happening::Remove { .. } | Happening::Clear => {
            change_queue(given, model, &happening);
        }
        Happening::StartNext | Happening::Skip | Happening::Rebase | Happening::Resume => {
            go_on(given, model, &happening);
        }
        Happening::Stop { partial } => {
            let step = given.branch().turn.map_or(0, |_| given.run().step);
            let text = "so far".to_owned();
            given.partial = partial.then(|| Partial { step, text, ..Partial::default() });
            given.when_branch(BranchCommand::Stop).unwrap();
            if model.running.is_some() {
                model.end();
            }
            model.flush();
        }
        Happening::MarkRead { place } => {
            let own = given.branch().messages.get(place).map(|message| message.id);
            let head = given.branch().head();
            given.when_branch(BranchCommand::MarkRead { message: own }).unwrap();
            model.read = own.or(head).or(model.read);
            flush_if_idle(model);
        }
        Happening::AppendAsides => {
            given.when_branch(BranchCommand::AppendAsides).unwrap();
            if model.running.is_none() || given.branch().messages.last().unwrap().open_calls == 0 {
                model.flush();
            }
        }
        happening => answer_run(given, model, happening),
    }
}

fn flush_if_idle(model: &mut Model) {
    if model.running.is_none() {
        model.flush();
    }
}

fn submit(given: &mut Given, model: &mut Model, mode: SubmitMode, head: Head) {
    let length = model.length(given);
    let only_if_head = match head {
        Head::Any => None,
        Head::Present => given.branch().head(),
        Head::Another => Some(MessageId(Uuid::from_u128(7))),
    };
    let after = match head {
        Head::Another => Some(usize::MAX),
        _ => only_if_head.map(|_| length),
    };
    let message = given.message("text");
    let waiting = Waiting { id: message.id, after };
    let idle = model.status() == "idle" && model.queue.is_empty();
    let command = BranchCommand::Submit { message, mode, only_if_head };
    let taken = given.when_branch(command);
    if mode == SubmitMode::Reject && !idle {
        assert!(taken.is_err());
        return;
    }
    taken.unwrap();
    match mode {
        SubmitMode::Aside => {
            flush_if_idle(model);
            model.asides.push(waiting.id);
            flush_if_idle(model);
        }
        SubmitMode::Interrupt => {
            if model.running.is_some() {
                model.end();
            }
            model.flush();
            model.queue.push_front(waiting);
            model.start(length);
        }
        SubmitMode::Enqueue | SubmitMode::Reject => {
            flush_if_idle(model);
            model.queue.push_back(waiting);
            if idle {
                model.start(length);
            }
        }
    }
}

fn change_queue(given: &mut Given, model: &mut Model, happening: &Happening) {
    let id = |place: usize| model.queue.get(place).map(|waiting| waiting.id);
    let nobody = MessageId(Uuid::from_u128(8));
    match *happening {
        Happening::Update { place } => {
            let message = id(place).unwrap_or(nobody);
            let update = BranchCommand::UpdateQueued { message, text: format!("text {place}") };
            let done = given.when_branch(update);
            assert_eq!(done.is_ok(), message != nobody);
            if done.is_ok() {
                flush_if_idle(model);
            }
        }
        Happening::Remove { place } => {
            let message = id(place).unwrap_or(nobody);
            let done = given.when_branch(BranchCommand::RemoveQueued { message });
            assert_eq!(done.is_ok(), message != nobody);
            if done.is_ok() {
                model.queue.remove(place);
                flush_if_idle(model);
            }
        }
        _ => {
            given.when_branch(BranchCommand::ClearQueue).unwrap();
            model.queue.clear();
            flush_if_idle(model);
        }
    }
}

fn go_on(given: &mut Given, model: &mut Model, happening: &Happening) {
    let length = model.length(given);
    let status = model.status();
    let rebase = status == "paused" && model.needs_rebase == model.queue.front().map(|it| it.id);
    let (command, allowed) = match happening {
        Happening::StartNext => (BranchCommand::StartNext, true),
        Happening::Skip => (BranchCommand::SkipFailed, status == "paused" && !rebase),
        Happening::Rebase => (BranchCommand::Rebase, rebase),
        _ => (BranchCommand::Resume, model.running.is_none() && model.broken.is_some()),
    };
    let resumes = command == BranchCommand::Resume;
    let starts = command == BranchCommand::StartNext;
    let done = given.when_branch(command);
    assert_eq!(done.is_ok(), allowed, "{happening:?} in {status}: {done:?}");
    if done.is_err() {
        return;
    }
    flush_if_idle(model);
    if resumes {
        model.running = model.broken.take();
        model.holds = false;
    } else if rebase && !starts {
        let next = model.queue.pop_front().unwrap();
        model.begin(next.id);
    } else if !starts || status == "idle" {
        model.start(length);
    }
    model.start_is_due &= !starts;
}

fn answer_run(given: &mut Given, model: &mut Model, happening: Happening) {
    if let Happening::Late = happening {
        let over = given.runs.values().find(|(run, _)| run.is_over()).map(|(run, _)| run.id);
        if let Some(run) = over {
            let key = RunKey { chat: given.chat_id(), run };
            let failed = RunCommand::Failed { reason: "late".to_owned(), partial: None };
            assert_eq!(given.when_run(key, failed), Ok(0));
        }
        return;
    }
    if given.branch().turn.is_none() {
        return;
    }
    let step = given.run().step;
    match happening {
        Happening::Prepared => drop(given.tell(RunCommand::Prepared { tools: vec![] })),
        Happening::Answered { calls } => answer(given, model, step, calls),
        Happening::Started { index } => {
            given.tell(RunCommand::CallStarted { step, index });
        }
        Happening::Finished { index } => {
            let outcome = ToolOutcome::error("x");
            given.tell(RunCommand::CallFinished { step, index, outcome });
        }
        _ => {
            given.tell(RunCommand::Failed { reason: "broken".to_owned(), partial: None });
            model.end();
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
    assert_eq!(branch.read, model.read);
    // No message is lost, doubled or out of its order.
    assert_eq!(given.queue(), model.queue.iter().map(|it| it.id).collect::<Vec<_>>());
    assert_eq!(branch.asides.iter().map(|it| it.id).collect::<Vec<_>>(), model.asides);
    let users = branch.messages.iter().filter(|message| message.role == Role::User);
    assert_eq!(users.map(|message| message.id).collect::<Vec<_>>(), model.taken);
    // At most one run is under way, and it is the turn's.
    let under_way = given.runs.values().filter(|(run, _)| run.status == RunStatus::Running);
    let under_way: Vec<_> = under_way.map(|(run, _)| run.id).collect();
    assert_eq!(under_way, branch.turn.iter().map(|turn| turn.run).collect::<Vec<_>>());
    assert_eq!(given.runs.len(), model.runs);
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
fn check_ways_out(given: &Given) {
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

/// Whoever carries runs out is told of each that begins, goes on or is over.
fn check_effects(before: &Given, given: &Given) {
    let new = &given.effects[before.effects.len()..];
    let key = |run| RunKey { chat: given.chat_id(), run };
    let (old, now) = (before.branch().turn, given.branch().turn);
    if old != now {
        if let Some(turn) = now {
            assert!(new.contains(&Effect::Drive(key(turn.run))), "{new:?}");
        }
        let stopped = old.filter(|turn| given.runs[&turn.run].0.status == RunStatus::Stopped);
        if let Some(turn) = stopped {
            assert!(new.contains(&Effect::Cancel(key(turn.run))), "{new:?}");
        }
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
            let before = given.clone();
            apply(&mut given, &mut model, happening);
            let new = &given.effects[before.effects.len()..];
            model.start_is_due |= new.iter().any(|effect| matches!(effect, Effect::StartNext(_)));
            check(&given, &model);
            check_effects(&before, &given);
        }
        check_ways_out(&given);
    }
}
