//! Following the log into the index.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;
use scripta_events::domain::{BRANCH, BranchEvent, BranchId, CHAT, ChatEvent, ChatId, ProjectId};
use scripta_events::log::{EventLog, Recorded};
use scripta_events::{Position, Revision, RootId, StreamId, codec};

use super::SearchKey;
use super::entry::Entry;
use super::live::{Indexer, Live};
use crate::follower::{ApplyError, Halt, Projection};

/// The most chats whose project is remembered; the rest is read from the log when it is needed.
const MAX_KNOWN_CHATS: usize = 65_536;

/// The message index as a projection.
pub(crate) struct SearchProjection {
    pub(super) log: Arc<dyn EventLog>,
    pub(super) live: Live,
    pub(super) indexer: Indexer,
    pub(super) position: Position,
    pub(super) projects: HashMap<ChatId, ProjectId>,
}

impl Projection for SearchProjection {
    async fn apply(&mut self, batch: &[Recorded]) -> Result<(), Halt> {
        let mut entries = Vec::new();
        let mut applied = self.position;
        let mut failure = None;
        for event in batch {
            match self.entry(event).await {
                Ok(entry) => entries.extend(entry),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
            applied = event.position;
        }
        self.live
            .push(entries, applied)
            .map_err(|reason| Halt { applied: self.position, error: ApplyError::Index(reason) })?;
        self.position = applied;
        failure.map_or(Ok(()), |error| Err(Halt { applied, error }))
    }

    fn finish(&mut self) -> Result<(), ApplyError> {
        self.indexer.close();
        self.indexer.failure().map_or(Ok(()), |reason| Err(ApplyError::Index(reason)))
    }
}

impl SearchProjection {
    /// What an event adds to the index.
    async fn entry(&mut self, event: &Recorded) -> Result<Option<Entry>, ApplyError> {
        match event.stream.category {
            CHAT => {
                if let ChatEvent::ChatCreated(created) = codec::decode(event)? {
                    self.remember(created.chat, created.project);
                }
                Ok(None)
            }
            BRANCH => match codec::decode(event)? {
                BranchEvent::MessageAppended(appended) => {
                    let chat = ChatId(event.stream.root.0);
                    let project = self.project(chat, event).await?;
                    let key = SearchKey { project, chat, position: event.position };
                    Ok(Entry::new(key, BranchId(event.stream.id), appended.message))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The project of a chat: remembered, or from the first event of the chat.
    async fn project(&mut self, chat: ChatId, event: &Recorded) -> Result<ProjectId, ApplyError> {
        if let Some(project) = self.projects.get(&chat) {
            return Ok(*project);
        }
        let stream = StreamId { category: CHAT, root: RootId(chat.0), id: chat.0 };
        let first = self.log.read_stream(stream, Revision::NONE).next().await;
        let first = first.transpose().map_err(ApplyError::Log)?;
        let created = first.as_ref().map(codec::decode::<ChatEvent>).transpose()?;
        let Some(ChatEvent::ChatCreated(created)) = created else {
            return Err(ApplyError::Inconsistent {
                position: event.position,
                reason: format!("chat {chat} was never made"),
            });
        };
        self.remember(chat, created.project);
        Ok(created.project)
    }

    fn remember(&mut self, chat: ChatId, project: ProjectId) {
        if self.projects.len() >= MAX_KNOWN_CHATS {
            self.projects.clear();
        }
        self.projects.insert(chat, project);
    }
}
