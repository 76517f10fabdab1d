//! Finding messages: what the command line and HTTP share.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use scripta_events::domain::{BranchId, ChatId, ProjectId, Role};
use scripta_projections::{Hit, SearchError, SearchKey, SearchQuery};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::failure::{Failure, sentence};
use crate::store::{Store, blocking};

/// How many messages a page has when nobody says.
const DEFAULT_LIMIT: u32 = 20;

/// The most messages of a page (inclusive).
const MAX_LIMIT: u32 = 1_000;

/// What to find.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// The text or the regular expression.
    pub query: String,
    /// Whether it is a regular expression.
    #[serde(default)]
    pub is_regex: bool,
    /// Whether upper and lower case are the same; they are, unless this is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_case: Option<bool>,
    /// Only in this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<Uuid>,
    /// Only in this chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<Uuid>,
    /// Only in this branch's history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_id: Option<Uuid>,
    /// The most messages to answer with, 1 to 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where an earlier answer to the same question ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The messages, in a fixed order.
    pub items: Vec<Found>,
    /// What to send as `cursor` to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One message that matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Found {
    /// Its project.
    pub project_id: Uuid,
    /// The project's name.
    pub project_name: String,
    /// Its chat.
    pub chat_id: Uuid,
    /// The chat's title.
    pub chat_title: String,
    /// The branch that wrote it.
    pub branch_id: Uuid,
    /// The message.
    pub message_id: Uuid,
    /// Who speaks.
    pub role: String,
    /// When it was made.
    pub time: String,
    /// The first match.
    pub fragment: Fragment,
    /// How many matches the message has.
    pub match_count: u64,
}

/// A match with what stands around it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fragment {
    /// The text.
    pub text: String,
    /// Where the match begins in it, in characters.
    pub start: usize,
    /// How long it is, in characters.
    pub length: usize,
}

/// Why nothing was looked for.
#[derive(Debug)]
pub enum FindError {
    /// The question can't be answered.
    Refused(String),
    /// The answer can't be found out.
    Failed(String),
}

/// Finds messages; it sees everything that was acknowledged before.
pub async fn find(store: &Store, question: Question) -> Result<Answer, FindError> {
    let limit = question.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(FindError::Refused(format!("limit is {limit}; it must be 1 to {MAX_LIMIT}")));
    }
    let after =
        question.cursor.as_deref().map(|cursor| read_cursor(cursor, &question)).transpose()?;
    let mut query = SearchQuery::text(question.query.clone());
    query.is_regex = question.is_regex;
    query.ignore_case = question.ignore_case.unwrap_or(query.ignore_case);
    query.project = question.project_id.map(ProjectId);
    query.chat = question.chat_id.map(ChatId);
    query.branch = question.branch_id.map(BranchId);
    store.catch_up().await.map_err(|error| FindError::Failed(error.to_string()))?;
    let projections = Arc::clone(&store.projections);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = blocking(move || Ok(projections.search(&query, after, limit))).await;
    let page = page.map_err(|failure: Failure| FindError::Failed(failure.to_string()))?;
    let page = page.map_err(|error| match &error {
        SearchError::Query(_) => FindError::Failed(sentence(&error)),
        refused => FindError::Refused(refused.to_string()),
    })?;
    Ok(Answer {
        items: page.hits.into_iter().map(found).collect(),
        next_cursor: page.next.map(|key| write_cursor(key, &question)),
    })
}

fn found(hit: Hit) -> Found {
    Found {
        project_id: hit.project.0,
        project_name: hit.project_name,
        chat_id: hit.chat.0,
        chat_title: hit.chat_title,
        branch_id: hit.branch.0,
        message_id: hit.message.0,
        role: role(hit.role).to_owned(),
        time: Timestamp::from_microsecond(hit.time.0).unwrap_or(Timestamp::UNIX_EPOCH).to_string(),
        fragment: Fragment {
            text: hit.fragment.text,
            start: hit.fragment.start,
            length: hit.fragment.length,
        },
        match_count: hit.match_count,
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    }
}

/// Where a page ended, and of which question.
#[derive(Serialize, Deserialize)]
struct Cursor {
    key: SearchKey,
    question: [u8; 32],
}

fn write_cursor(key: SearchKey, question: &Question) -> String {
    let cursor = Cursor { key, question: digest(question) };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).unwrap_or_default())
}

fn read_cursor(text: &str, question: &Question) -> Result<SearchKey, FindError> {
    let refused = |why: &str| FindError::Refused(why.to_owned());
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let cursor: Option<Cursor> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let cursor = cursor.ok_or_else(|| {
        refused("cursor is none that a search answered with; leave it out to begin anew")
    })?;
    if cursor.question != digest(question) {
        return Err(refused("cursor is of another question; leave it out to begin anew"));
    }
    Ok(cursor.key)
}

/// The question without what only says how its answer is cut into pages.
fn digest(question: &Question) -> [u8; 32] {
    let asked = Question { limit: None, cursor: None, ..question.clone() };
    *blake3::hash(&serde_json::to_vec(&asked).unwrap_or_default()).as_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use scripta_events::Position;

    use super::*;

    #[test]
    fn a_cursor_is_of_one_question() {
        let key = SearchKey {
            project: ProjectId(Uuid::nil()),
            chat: ChatId(Uuid::nil()),
            position: Position(7),
        };
        let question = Question { query: "owl".to_owned(), ..Question::default() };
        let cursor = write_cursor(key, &question);
        let next = Question { limit: Some(3), cursor: Some(cursor.clone()), ..question };
        assert_eq!(read_cursor(&cursor, &next).unwrap(), key);
        let other = Question { query: "cat".to_owned(), ..next };
        for (cursor, question) in [(cursor.as_str(), &other), ("nonsense", &other)] {
            let Err(FindError::Refused(reason)) = read_cursor(cursor, question) else {
                unreachable!("it was taken")
            };
            assert!(reason.contains("begin anew"), "{reason}");
        }
    }
}
