//! Entries of long-term memory: of the whole workspace, or of a project.

mod create;
mod delete;
mod state;
mod update;

use std::fmt;
use std::sync::Arc;

use scripta_events::domain::{MEMORY, MemoryEvent, MemoryId, ProjectId, WorkspaceId};
use scripta_events::{Category, StreamId, Timestamp};

pub use create::{MAX_MEMORY_TEXT_BYTES, MAX_TAG_CHARS, MAX_TAGS};
pub use state::MemoryState;

use crate::engine::Engine;
use crate::{Aggregate, Decision, LoadError, Memory, Refusal};

/// Names an entry, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryKey {
    /// The project it belongs to; `None` for the whole workspace.
    pub project: Option<ProjectId>,
    /// The entry.
    pub memory: MemoryId,
}

/// What an entry can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryCommand {
    /// Make it.
    Create {
        /// Its title: 1 to [`MAX_NAME_CHARS`](crate::MAX_NAME_CHARS) characters.
        title: String,
        /// Its text: at most [`MAX_MEMORY_TEXT_BYTES`].
        text: String,
        /// Its tags: at most [`MAX_TAGS`] of [`MAX_TAG_CHARS`] characters.
        tags: Vec<String>,
        /// Whether it goes before those that are not.
        pinned: bool,
    },
    /// Change what is given.
    Update {
        /// The changes.
        changes: MemoryChanges,
        /// The entry's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Delete it.
    Delete {
        /// The entry's revision as the caller knows it.
        expected_revision: u64,
    },
}

/// Changes of an entry; what is `None` stays. The bounds are those of its creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryChanges {
    /// The new title.
    pub title: Option<String>,
    /// The new text.
    pub text: Option<String>,
    /// The new tags.
    pub tags: Option<Vec<String>>,
    /// Whether it is pinned.
    pub pinned: Option<bool>,
}

/// What an entry's decision needs.
#[derive(Clone, Copy, Debug)]
pub struct MemoryFacts {
    /// Whether its project was ever made; true for one of the workspace.
    pub project_exists: bool,
    /// Whether its project was deleted, and the entry with it.
    pub project_deleted: bool,
}

impl Aggregate for Memory {
    type Id = MemoryKey;
    type State = MemoryState;
    type Event = MemoryEvent;
    type Command = MemoryCommand;
    type Facts = MemoryFacts;

    const NAME: &'static str = "memory entry";
    const CATEGORY: Category = MEMORY;

    fn stream(key: MemoryKey) -> StreamId {
        key.memory.stream(key.project)
    }

    fn id_of(stream: StreamId) -> Option<MemoryKey> {
        let project = (stream.root != WorkspaceId::THE.root()).then_some(ProjectId(stream.root.0));
        let key = MemoryKey { project, memory: MemoryId(stream.id) };
        (stream.category == MEMORY).then_some(key)
    }

    fn creates(command: &MemoryCommand) -> bool {
        matches!(command, MemoryCommand::Create { .. })
    }

    fn expected(command: &MemoryCommand) -> Option<u64> {
        match command {
            MemoryCommand::Create { .. } => None,
            MemoryCommand::Update { expected_revision, .. }
            | MemoryCommand::Delete { expected_revision } => Some(*expected_revision),
        }
    }

    fn document_revision(state: &MemoryState, _command: &MemoryCommand) -> Option<u64> {
        (!state.deleted).then_some(state.revision)
    }

    async fn gather(
        engine: &Arc<Engine>,
        key: MemoryKey,
        _state: Option<&MemoryState>,
        _command: &MemoryCommand,
    ) -> Result<MemoryFacts, LoadError> {
        let Some(project) = key.project else {
            return Ok(MemoryFacts { project_exists: true, project_deleted: false });
        };
        let project = engine.project(project).await?;
        Ok(MemoryFacts {
            project_exists: project.is_some(),
            project_deleted: project.is_some_and(|project| project.deleted),
        })
    }

    fn decide(
        key: MemoryKey,
        state: Option<&MemoryState>,
        command: &MemoryCommand,
        facts: &mut MemoryFacts,
    ) -> Result<Decision<Memory>, Refusal> {
        let id = key.memory.0;
        let existing = || match state {
            Some(state) if !state.deleted && !facts.project_deleted => Ok(state),
            Some(_) => Err(Refusal::Gone { what: Memory::NAME, id }),
            None => Err(Refusal::NotFound { what: Memory::NAME, id }),
        };
        match command {
            MemoryCommand::Create { title, text, tags, pinned } => {
                let wanted = create::Wanted { title, text, tags, pinned: *pinned };
                create::decide(key, state, wanted, facts)
            }
            MemoryCommand::Update { changes, .. } => update::decide(existing()?, changes),
            MemoryCommand::Delete { .. } => existing().map(delete::decide),
        }
    }

    fn evolve(
        state: Option<MemoryState>,
        event: &MemoryEvent,
        at: Timestamp,
    ) -> Option<MemoryState> {
        state::evolve(state, event, at)
    }
}

impl fmt::Display for MemoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.memory.fmt(f)
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    /// Decides on what is there, and folds what comes of it; how many events that were.
    pub(super) fn when(
        state: &mut Option<MemoryState>,
        key: MemoryKey,
        command: MemoryCommand,
    ) -> Result<usize, Refusal> {
        let mut facts = MemoryFacts { project_exists: true, project_deleted: false };
        let decision = Memory::decide(key, state.as_ref(), &command, &mut facts)?;
        for event in &decision.events {
            *state = Memory::evolve(state.take(), event, Timestamp(7));
        }
        Ok(decision.events.len())
    }

    pub(super) fn key() -> MemoryKey {
        MemoryKey { project: Some(ProjectId::random()), memory: MemoryId::random() }
    }

    pub(super) fn create(title: &str, text: &str, tags: &[&str]) -> MemoryCommand {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let (title, text) = (title.to_owned(), text.to_owned());
        MemoryCommand::Create { title, text, tags, pinned: false }
    }
}
