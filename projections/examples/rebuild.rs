//! How fast the projections are rebuilt from a log in memory:
//! `cargo run --release -p scripta-projections --example rebuild -- [TURNS] [MESSAGES]`.
//!
//! Once with whole turns and hardly any text, which is the read models' work, and once with
//! messages of 400 bytes, which is the message index's. Each is then opened again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::executor::block_on;
use scripta_events::codec::Event;
use scripta_events::domain::*;
use scripta_events::log::memory::MemoryLog;
use scripta_events::log::{Append, Commit, EventData, EventLog, Expectation};
use scripta_events::{Fingerprint, OperationId, RootId, StreamId, Timestamp};
use scripta_projections::{Options, Projections};

type Failure = Box<dyn std::error::Error>;

/// How many chats the turns and messages are spread over.
const CHATS: usize = 200;

/// The bytes of each message of the second log, about.
const TEXT_BYTES: usize = 400;

/// How many words the messages are made of.
const VOCABULARY: u64 = 20_000;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let turns = arguments.next().transpose()?.unwrap_or(20_000);
    let messages = arguments.next().transpose()?.unwrap_or(60_000);
    let log = MemoryLog::new();
    let chats = chats(&log)?;
    for (_, chat) in chats.iter().cycle().zip(0..turns).map(|(chat, turn)| (turn, chat)) {
        turn(&log, chat)?;
    }
    measure("whole turns, hardly any text", &log, None)?;
    let log = MemoryLog::new();
    let chats = self::chats(&log)?;
    for (number, chat) in (0..messages).zip(chats.iter().cycle()) {
        let text = text(number);
        append(&log, chat.branch, vec![MessageAppended { message: message(&text) }.into()])?;
    }
    measure("messages of 400 bytes", &log, Some(messages))
}

/// Builds the projections of a log in an empty folder, then opens them again.
fn measure(what: &str, log: &MemoryLog, messages: Option<usize>) -> Result<(), Failure> {
    let head = *log.head().borrow();
    let folder = tempfile::tempdir()?;
    println!("{what}: {head} events");
    let mut closed = Duration::ZERO;
    for round in ["rebuilt", "opened again"] {
        let start = Instant::now();
        let projections =
            Projections::open(Arc::new(log.clone()), folder.path(), Options::default())?;
        let mut left: Vec<&str> = projections.status().iter().map(|it| it.name).collect();
        let mut times = Vec::new();
        while !left.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
            for status in projections.status() {
                if let Some(reason) = status.stopped {
                    return Err(reason.into());
                }
                if status.position == head && left.contains(&status.name) {
                    left.retain(|name| *name != status.name);
                    times.push(format!("{} {:?}", status.name, start.elapsed()));
                }
            }
        }
        let all = start.elapsed();
        let rate = head.0 as f64 / all.as_secs_f64();
        let messages = messages
            .filter(|_| round == "rebuilt")
            .map(|messages| format!(", {:.0} messages/s", messages as f64 / all.as_secs_f64()));
        println!("  {round} in {all:?}: {rate:.0} events/s{}", messages.unwrap_or_default());
        println!("    {}", times.join(", "));
        let start = Instant::now();
        projections.close();
        closed += start.elapsed();
    }
    println!("  closed in {closed:?} altogether");
    Ok(())
}

struct Chat {
    project: ProjectId,
    branch: (ChatId, StreamId),
}

fn chats(log: &MemoryLog) -> Result<Vec<Chat>, Failure> {
    let project = ProjectId::random();
    let created = ProjectCreated { project, name: "Project".to_owned(), directories: Vec::new() };
    let data = ProjectEvent::from(created).encode()?;
    commit(log, project.stream().root, vec![(project.stream(), vec![data])])?;
    (0..CHATS).map(|number| chat(log, project, number)).collect()
}

fn chat(log: &MemoryLog, project: ProjectId, number: usize) -> Result<Chat, Failure> {
    let chat = ChatId::random();
    let branch = chat.first_branch();
    let created = ChatCreated {
        chat,
        project,
        title: format!("Chat {number}"),
        connection: None,
        model: None,
        source: None,
    };
    let opened = BranchOpened { branch, chat, project, fork: None, title: None };
    let own = (chat.stream(), vec![ChatEvent::from(created).encode()?]);
    let first = (branch.stream(chat), vec![BranchEvent::from(opened).encode()?]);
    commit(log, chat.root(), vec![own, first])?;
    Ok(Chat { project, branch: (chat, branch.stream(chat)) })
}

/// A turn as the actors write it: four commits, eleven events.
fn turn(log: &MemoryLog, place: &Chat) -> Result<(), Failure> {
    let (chat, branch) = place.branch;
    let run = RunId::random();
    let asked = message("?");
    let started = RunStarted {
        run,
        chat,
        branch: BranchId(branch.id),
        project: place.project,
        message: asked.id,
        connection: ConnectionId("builtin:demo".to_owned()),
        model: None,
        submitter: Sender::User,
        interactive: true,
    };
    let turn = TurnStarted { run, message: asked.id };
    let write = |own: Vec<BranchEvent>, runs: Vec<RunEvent>| -> Result<(), Failure> {
        let own = own.iter().map(Event::encode).collect::<Result<_, _>>()?;
        let runs = runs.iter().map(Event::encode).collect::<Result<_, _>>()?;
        commit(log, chat.root(), vec![(branch, own), (run.stream(chat), runs)])
    };
    write(vec![MessageAppended { message: asked }.into(), turn.into()], vec![started.into()])?;
    let tools = ToolsetRecorded { tools: Vec::new() };
    write(vec![], vec![tools.into(), ModelStepStarted { step: 1 }.into()])?;
    let answer = message("!");
    let answered = ModelAnswered { step: 1, message: answer.id, calls: Vec::new(), usage: None };
    let ended = TurnEnded { run, outcome: TurnOutcome::Completed };
    write(
        vec![MessageAppended { message: answer }.into(), ended.into()],
        vec![answered.into(), RunCompleted {}.into()],
    )
}

fn append(
    log: &MemoryLog,
    (chat, branch): (ChatId, StreamId),
    events: Vec<BranchEvent>,
) -> Result<(), Failure> {
    let events = events.iter().map(Event::encode).collect::<Result<_, _>>()?;
    commit(log, chat.root(), vec![(branch, events)])
}

fn commit(
    log: &MemoryLog,
    root: RootId,
    appends: Vec<(StreamId, Vec<EventData>)>,
) -> Result<(), Failure> {
    let expected = Expectation::Any;
    let appends = appends.into_iter().map(|(stream, events)| Append { stream, expected, events });
    let commit = Commit {
        root,
        operation: OperationId::random(),
        fingerprint: Fingerprint::of(b"rebuild"),
        appends: appends.collect(),
        checks: Vec::new(),
        meta: Bytes::new(),
    };
    block_on(log.append(commit))?;
    Ok(())
}

/// Words of a vocabulary, the first ones far more often than the last, as in real text.
fn text(number: usize) -> String {
    let mut text = String::new();
    let mut chance = Chance(number as u64);
    while text.len() < TEXT_BYTES {
        let share = chance.below(1 << 20) as f64 / f64::from(1 << 20);
        text.push_str(&word((share * share * share * VOCABULARY as f64) as u64));
        text.push(' ');
    }
    text
}

/// A word of two to five syllables; the same number is the same word.
fn word(number: u64) -> String {
    const ONSETS: [&str; 16] =
        ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "st", "tr", "v"];
    const RIMES: [&str; 12] = ["a", "e", "i", "o", "u", "an", "en", "in", "on", "er", "ing", "al"];
    let mut chance = Chance(number);
    let syllables = (0..2 + chance.below(4)).flat_map(|_| {
        let onset = ONSETS.iter().cycle().nth(chance.below(16) as usize);
        let rime = RIMES.iter().cycle().nth(chance.below(12) as usize);
        onset.into_iter().chain(rime).copied()
    });
    syllables.collect()
}

struct Chance(u64);

impl Chance {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 31) % bound
    }
}

fn message(text: &str) -> Message {
    let role = Role::User;
    let parts = vec![Part::Text { text: text.to_owned() }];
    Message::new(MessageId(uuid::Uuid::now_v7()), role, parts, Timestamp::now())
}
