//! A review, as callers see and write it.

use schemars::JsonSchema;
use scripta_actors::ReviewState;
use scripta_events::domain::ReviewComment;
use scripta_projections::ReviewRow;
use serde::{Deserialize, Serialize};

use super::{Id, Time};

/// A review: what is said about files of the change set of one message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReviewView {
    id: Id,
    chat_id: Id,
    /// The message whose change set it is about.
    message_id: Id,
    name: String,
    files: Vec<String>,
    comments: Vec<CommentView>,
    revision: u64,
    created_at: Time,
    updated_at: Time,
}

/// A comment of a review.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CommentView {
    /// The file, one of the review's.
    file: String,
    /// The line, from 1; left out for the file as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// What is said: at most 8,192 bytes.
    text: String,
}

impl From<&ReviewState> for ReviewView {
    fn from(state: &ReviewState) -> ReviewView {
        ReviewView {
            id: Id(state.id.0),
            chat_id: Id(state.chat.0),
            message_id: Id(state.message.0),
            name: state.name.clone(),
            files: state.files.clone(),
            comments: state.comments.iter().cloned().map(CommentView::from).collect(),
            revision: state.revision,
            created_at: state.created_at.into(),
            updated_at: state.updated_at.into(),
        }
    }
}

impl From<ReviewRow> for ReviewView {
    fn from(row: ReviewRow) -> ReviewView {
        ReviewView {
            id: Id(row.id.0),
            chat_id: Id(row.chat.0),
            message_id: Id(row.message.0),
            name: row.name,
            files: row.files,
            comments: row.comments.into_iter().map(CommentView::from).collect(),
            revision: row.revision,
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

impl From<ReviewComment> for CommentView {
    fn from(comment: ReviewComment) -> CommentView {
        CommentView { file: comment.file, line: comment.line, text: comment.text }
    }
}

impl From<CommentView> for ReviewComment {
    fn from(comment: CommentView) -> ReviewComment {
        ReviewComment { file: comment.file, line: comment.line, text: comment.text }
    }
}
