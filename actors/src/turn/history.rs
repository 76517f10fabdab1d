//! The history of a branch: the chain from its root to its head, across forks.

use std::collections::HashSet;

use futures::StreamExt;
use scripta_events::Revision;
use scripta_events::codec::decode;
use scripta_events::domain::{BranchEvent, BranchId, ForkPoint, Message, MessageId};
use scripta_events::log::EventLog;

use crate::{BranchKey, LoadError, MAX_BRANCHES};

/// A branch's history as it was when it was last looked at. It is what the model sees.
pub(crate) struct History {
    branch: BranchKey,
    revision: Revision,
    messages: Vec<Message>,
    /// Asides that are not appended yet.
    asides: HashSet<MessageId>,
}

/// One branch's own messages.
struct Own {
    fork: Option<ForkPoint>,
    revision: Revision,
    messages: Vec<Message>,
    asides: HashSet<MessageId>,
}

impl History {
    pub(crate) async fn load(branch: BranchKey, log: &dyn EventLog) -> Result<History, LoadError> {
        let own = read(branch, Revision::NONE, u64::MAX, log).await?;
        let (revision, asides) = (own.revision, own.asides);
        let mut parts = vec![own.messages];
        let mut next = own.fork;
        while let Some(fork) = next.filter(|_| parts.len() <= MAX_BRANCHES) {
            let parent = BranchKey { branch: BranchId(fork.parent.0), ..branch };
            let shared = read(parent, Revision::NONE, fork.own_messages, log).await?;
            parts.push(shared.messages);
            // What shares nothing is a root of its own.
            next = shared.fork.filter(|_| fork.after.is_some());
        }
        let messages = parts.into_iter().rev().flatten().collect();
        Ok(History { branch, revision, messages, asides })
    }

    /// Adds what was appended since.
    pub(crate) async fn refresh(&mut self, log: &dyn EventLog) -> Result<(), LoadError> {
        let more = read(self.branch, self.revision, u64::MAX, log).await?;
        self.messages.extend(more.messages);
        self.revision = more.revision;
        self.asides.extend(more.asides);
        self.asides.retain(|aside| !self.messages.iter().any(|message| message.id == *aside));
        Ok(())
    }

    /// The whole, from the root to the head.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Whether asides came in that are not appended yet.
    pub(crate) fn has_asides(&self) -> bool {
        !self.asides.is_empty()
    }
}

/// The branch's own messages after a revision, at most `limit` of them.
async fn read(
    branch: BranchKey,
    after: Revision,
    limit: u64,
    log: &dyn EventLog,
) -> Result<Own, LoadError> {
    let mut own = Own { fork: None, revision: after, messages: vec![], asides: HashSet::new() };
    let mut events = log.read_stream(branch.branch.stream(branch.chat), after);
    while let Some(recorded) = events.next().await {
        let recorded = recorded?;
        match decode(&recorded)? {
            BranchEvent::BranchOpened(opened) => own.fork = opened.fork,
            BranchEvent::MessageAppended(_) if own.messages.len() as u64 >= limit => break,
            BranchEvent::MessageAppended(appended) => {
                own.asides.remove(&appended.message.id);
                own.messages.push(appended.message);
            }
            BranchEvent::AsideReceived(aside) => drop(own.asides.insert(aside.message.id)),
            _ => {}
        }
        own.revision = recorded.revision;
    }
    Ok(own)
}
