//! Reviews: what a person says about the files of a change set.

mod bounds;
mod create;
mod state;
mod update;

use std::fmt;
use std::sync::Arc;

use scripta_events::domain::{
    BranchId, ChatId, MessageId, REVIEW, ReviewComment, ReviewEvent, ReviewId, Role,
};
use scripta_events::log::{Check, Expectation};
use scripta_events::{Category, Revision, StreamId, Timestamp};

pub use bounds::{
    MAX_COMMENT_BYTES, MAX_FILE_PATH_BYTES, MAX_REVIEW_BYTES, MAX_REVIEW_COMMENTS, MAX_REVIEW_FILES,
};
pub use state::ReviewState;

use crate::engine::Engine;
use crate::{Aggregate, BranchKey, Decision, LoadError, Refusal, Review};

/// Names a review, and its chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReviewKey {
    /// The chat it belongs to.
    pub chat: ChatId,
    /// The review.
    pub review: ReviewId,
}

/// What a review can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewCommand {
    /// Make it.
    Create {
        /// The assistant message whose change set it is about.
        message: MessageId,
        /// The branch that wrote that message.
        branch: BranchId,
        /// Its name: 1 to [`MAX_NAME_CHARS`](crate::MAX_NAME_CHARS) characters.
        name: String,
        /// The files that it selects: 1 to [`MAX_REVIEW_FILES`].
        files: Vec<String>,
        /// What is said about them: at most [`MAX_REVIEW_COMMENTS`].
        comments: Vec<ReviewComment>,
    },
    /// Change what is given.
    Update {
        /// The changes.
        changes: ReviewChanges,
        /// The review's revision as the caller knows it.
        expected_revision: u64,
    },
}

/// Changes of a review; what is `None` stays. The bounds are those of its creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewChanges {
    /// The new name.
    pub name: Option<String>,
    /// The new files.
    pub files: Option<Vec<String>>,
    /// The new comments, all of them.
    pub comments: Option<Vec<ReviewComment>>,
}

/// What a review's decision needs.
#[derive(Clone, Copy, Debug)]
pub struct ReviewFacts {
    /// Whether its chat was ever made.
    pub chat_exists: bool,
    /// Whether its chat was deleted, or the chat's project, and the review with it.
    pub chat_deleted: bool,
    /// The revision of the chat's stream.
    pub chat_revision: Revision,
    /// Who speaks in the message that it is about; `None` if that is not in the branch.
    pub speaker: Option<Role>,
}

impl Aggregate for Review {
    type Id = ReviewKey;
    type State = ReviewState;
    type Event = ReviewEvent;
    type Command = ReviewCommand;
    type Facts = ReviewFacts;

    const NAME: &'static str = "review";
    const CATEGORY: Category = REVIEW;

    fn stream(key: ReviewKey) -> StreamId {
        key.review.stream(key.chat)
    }

    fn id_of(stream: StreamId) -> Option<ReviewKey> {
        let key = ReviewKey { chat: ChatId(stream.root.0), review: ReviewId(stream.id) };
        (stream.category == REVIEW).then_some(key)
    }

    fn expected(command: &ReviewCommand) -> Option<u64> {
        match command {
            ReviewCommand::Create { .. } => None,
            ReviewCommand::Update { expected_revision, .. } => Some(*expected_revision),
        }
    }

    fn document_revision(state: &ReviewState, _command: &ReviewCommand) -> Option<u64> {
        Some(state.revision)
    }

    async fn gather(
        engine: &Arc<Engine>,
        key: ReviewKey,
        _state: Option<&ReviewState>,
        command: &ReviewCommand,
    ) -> Result<ReviewFacts, LoadError> {
        let (chat, chat_revision) = engine.chat(key.chat).await?.unzip();
        let chat_revision = chat_revision.unwrap_or(Revision::NONE);
        let project = match &chat {
            Some(chat) => engine.project(chat.project).await?,
            None => None,
        };
        let chat_deleted = chat.as_ref().is_some_and(|chat| chat.deleted)
            || project.is_some_and(|project| project.deleted);
        let speaker = match command {
            ReviewCommand::Create { message, branch, .. } => {
                let branch =
                    engine.fold_branch(BranchKey { chat: key.chat, branch: *branch }).await?;
                let messages = branch.as_ref().map(|branch| branch.state.messages.as_slice());
                let mut messages = messages.unwrap_or_default().iter();
                messages.find(|known| known.id == *message).map(|known| known.role)
            }
            ReviewCommand::Update { .. } => None,
        };
        Ok(ReviewFacts { chat_exists: chat.is_some(), chat_deleted, chat_revision, speaker })
    }

    fn decide(
        key: ReviewKey,
        state: Option<&ReviewState>,
        command: &ReviewCommand,
        facts: &mut ReviewFacts,
    ) -> Result<Decision<Review>, Refusal> {
        if !facts.chat_exists {
            return Err(Refusal::NotFound { what: "chat", id: key.chat.0 });
        }
        if facts.chat_deleted {
            let (what, id) = match state {
                Some(_) => ("review", key.review.0),
                None => ("chat", key.chat.0),
            };
            return Err(Refusal::Gone { what, id });
        }
        let existing = || state.ok_or(Refusal::NotFound { what: "review", id: key.review.0 });
        let mut decision = match command {
            ReviewCommand::Create { message, name, files, comments, .. } => {
                let wanted = create::Wanted { message: *message, name, files, comments };
                create::decide(key, state, wanted, facts)
            }
            ReviewCommand::Update { changes, .. } => update::decide(existing()?, changes),
        }?;
        // The chat may not be deleted before this is written.
        if !decision.is_empty() {
            let expected = Expectation::Exactly(facts.chat_revision);
            decision.checks.push(Check { stream: key.chat.stream(), expected });
        }
        Ok(decision)
    }

    fn evolve(
        state: Option<ReviewState>,
        event: &ReviewEvent,
        at: Timestamp,
    ) -> Option<ReviewState> {
        state::evolve(state, event, at)
    }
}

impl fmt::Display for ReviewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.review.fmt(f)
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    /// Decides on what is there, and folds what comes of it; how many events that were.
    pub(super) fn when(
        state: &mut Option<ReviewState>,
        command: ReviewCommand,
        speaker: Option<Role>,
    ) -> Result<usize, Refusal> {
        let id = uuid::Uuid::from_u128(1);
        let key = ReviewKey { chat: ChatId(id), review: ReviewId(id) };
        let mut facts = ReviewFacts {
            chat_exists: true,
            chat_deleted: false,
            chat_revision: Revision(1),
            speaker,
        };
        let decision = Review::decide(key, state.as_ref(), &command, &mut facts)?;
        for event in &decision.events {
            *state = Review::evolve(state.take(), event, Timestamp(7));
        }
        Ok(decision.events.len())
    }

    pub(super) fn create(files: &[&str], comments: Vec<ReviewComment>) -> ReviewCommand {
        ReviewCommand::Create {
            message: MessageId::random(),
            branch: BranchId::random(),
            name: "First look".to_owned(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            comments,
        }
    }

    pub(super) fn comment(file: &str, text: &str) -> ReviewComment {
        ReviewComment { file: file.to_owned(), line: Some(1), text: text.to_owned() }
    }
}
