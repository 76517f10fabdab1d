//! What can happen to one branch that is there: what people ask of it, and what models and tools
//! answer.

use proptest::prelude::*;
use scripta_events::domain::{MessageId, ToolCall};
use uuid::Uuid;

use super::super::Given;
use super::model::{Model, Waiting};
use crate::{BranchCommand, Partial, Refusal, RunCommand, RunKey, SubmitMode, ToolOutcome};

#[derive(Clone, Debug)]
pub(super) enum Happening {
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
pub(super) enum Head {
    Any,
    Present,
    Another,
}

pub(super) fn happening() -> impl Strategy<Value = Happening> {
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

pub(super) fn apply(given: &mut Given, model: &mut Model, happening: Happening) {
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
            // Of what it shares, too.
            let wanted = given.history(given.branch().id).get(place).copied();
            let head = given.branch().head();
            given.when_branch(BranchCommand::MarkRead { message: wanted }).unwrap();
            model.read = wanted.or(head).or(model.read);
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

/// The branch was deleted, or what it belongs to: it takes nothing more from people. A turn that
/// no sweep has come to yet goes on, and what it ends with leads to nothing.
pub(super) fn refuse(given: &mut Given, model: &mut Model, happening: Happening) {
    let gone = Refusal::Gone { what: "branch", id: given.branch().id.0 };
    let message = MessageId(Uuid::from_u128(8));
    let command = match happening {
        Happening::Submit { mode, .. } => {
            let message = given.message("text");
            BranchCommand::Submit { message, mode, only_if_head: None }
        }
        Happening::Update { .. } => {
            BranchCommand::UpdateQueued { message, text: "text".to_owned() }
        }
        Happening::Remove { .. } => BranchCommand::RemoveQueued { message },
        Happening::Clear => BranchCommand::ClearQueue,
        Happening::Stop { .. } => BranchCommand::Stop,
        Happening::Skip => BranchCommand::SkipFailed,
        Happening::Resume => BranchCommand::Resume,
        Happening::Rebase => BranchCommand::Rebase,
        Happening::MarkRead { .. } => BranchCommand::MarkRead { message: None },
        Happening::AppendAsides => BranchCommand::AppendAsides,
        Happening::StartNext => {
            assert_eq!(given.when_branch(BranchCommand::StartNext), Ok(0));
            return;
        }
        answer => return answer_run(given, model, answer),
    };
    assert_eq!(given.when_branch(command), Err(gone));
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
