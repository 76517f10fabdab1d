//! A data folder with many chats, one of them long, written as the server would have.

use std::path::Path;

use scripta_events::codec::Event;
use scripta_events::domain::{
    Actor, BranchEvent, BranchOpened, ChatCreated, ChatEvent, ChatId, Message, MessageAppended,
    MessageId, Meta, Part, ProjectCreated, ProjectEvent, ProjectId, Role,
};
use scripta_events::log::{Append, Commit, EventData, EventLog as _, Expectation};
use scripta_events::segment::SegmentLog;
use scripta_events::{Fingerprint, OperationId, RootId, StreamId, Timestamp};

use crate::store;

/// How many appends are under way at a time.
const IN_FLIGHT: usize = 256;

/// How many messages a commit of the long chat has.
const PART: usize = 500;

/// What there is to ask for.
pub struct Filled {
    pub project: ProjectId,
    /// The chat with many messages.
    pub long: ChatId,
}

/// Makes one project with so many chats, and one more chat with so many messages.
pub async fn fill(folder: &Path, chats: usize, messages: usize) -> anyhow::Result<Filled> {
    let (log, _) = SegmentLog::open(folder, store::options())?;
    let project = ProjectId::random();
    let made = ProjectCreated { project, name: "Measured".to_owned(), directories: vec![] };
    let event = ProjectEvent::from(made).encode()?;
    log.append(commit(RootId(project.0), vec![(project.stream(), vec![event])])?).await?;
    let mut appends = Vec::with_capacity(IN_FLIGHT);
    for number in 0..chats {
        appends.push(log.append(chat(project, ChatId::random(), &format!("Chat {number}"))?));
        if appends.len() == IN_FLIGHT {
            futures::future::try_join_all(appends.drain(..)).await?;
        }
    }
    futures::future::try_join_all(appends).await?;
    let long = ChatId::random();
    log.append(chat(project, long, "A long one")?).await?;
    let branch = long.first_branch().stream(long);
    for part in 0..messages.div_ceil(PART) {
        let numbers = part * PART..((part + 1) * PART).min(messages);
        let events = numbers.map(|number| {
            let appended = MessageAppended { message: message(number) };
            BranchEvent::from(appended).encode()
        });
        let events = events.collect::<Result<Vec<_>, _>>()?;
        log.append(commit(long.root(), vec![(branch, events)])?).await?;
    }
    log.close().await?;
    Ok(Filled { project, long })
}

fn chat(project: ProjectId, chat: ChatId, title: &str) -> anyhow::Result<Commit> {
    let created = ChatCreated {
        chat,
        project,
        title: title.to_owned(),
        connection: None,
        model: None,
        source: None,
    };
    let branch = chat.first_branch();
    let opened = BranchOpened { branch, chat, project, fork: None, title: None };
    let events = vec![
        (chat.stream(), vec![ChatEvent::from(created).encode()?]),
        (branch.stream(chat), vec![BranchEvent::from(opened).encode()?]),
    ];
    commit(chat.root(), events)
}

fn message(number: usize) -> Message {
    let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let text = format!("Message {number}: {}", "so it goes; ".repeat(20));
    Message::new(MessageId::random(), role, vec![Part::Text { text }], Timestamp::now())
}

fn commit(root: RootId, streams: Vec<(StreamId, Vec<EventData>)>) -> anyhow::Result<Commit> {
    let append = |(stream, events)| Append { stream, expected: Expectation::Any, events };
    let meta = Meta { actor: Actor::User, correlation: None, causation: None };
    Ok(Commit {
        root,
        operation: OperationId::random(),
        fingerprint: Fingerprint([0; 32]),
        appends: streams.into_iter().map(append).collect(),
        checks: vec![],
        meta: meta.to_bytes()?,
    })
}
