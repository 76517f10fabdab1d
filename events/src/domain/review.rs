//! What happens to a review of a change set.

use serde::{Deserialize, Serialize};

use super::{ChatId, MessageId, ReviewId};
use crate::codec::Payload;

/// A review was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewCreated {
    /// Its id.
    pub review: ReviewId,
    /// The chat it belongs to.
    pub chat: ChatId,
    /// The assistant message whose change set it is about.
    pub message: MessageId,
    /// Its name.
    pub name: String,
    /// The files of the change set that it selects.
    pub files: Vec<String>,
    /// What is said about them, in order.
    pub comments: Vec<ReviewComment>,
}

/// A comment of a review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewComment {
    /// The file, one of the review's.
    pub file: String,
    /// The line of the file, from 1; `None` for the file as a whole.
    pub line: Option<u32>,
    /// What is said.
    pub text: String,
}

/// A review was changed. What is `None` stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewUpdated {
    /// The new name.
    pub name: Option<String>,
    /// The new files.
    pub files: Option<Vec<String>>,
    /// The new comments, all of them.
    pub comments: Option<Vec<ReviewComment>>,
}

impl Payload for ReviewCreated {
    const VERSION: u8 = 1;
}
impl Payload for ReviewUpdated {
    const VERSION: u8 = 1;
}

crate::events! {
    /// What happens to a review of a change set.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ReviewEvent {
        /// It was made.
        0x0701 => ReviewCreated,
        /// It was changed.
        0x0702 => ReviewUpdated,
    }
}
