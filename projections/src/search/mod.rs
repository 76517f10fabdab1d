//! Exact substring and regular-expression search over the text of all messages.

mod entry;
mod fold;
mod follow;
mod index;
mod live;
mod need;
mod pattern;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) use follow::SearchProjection;
use live::Live;
use pattern::{Matched, Pattern};
pub(crate) use scan::Limits;
use scan::{Scope, scan};
use scripta_events::domain::{BranchId, ChatId, MessageId, ProjectId, Role};
use scripta_events::log::EventLog;
use scripta_events::{Position, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::REBUILD;
use crate::models::{Chats, Projects};
use crate::{BranchRow, OpenError, QueryError};

/// The name of the message index among the projections.
pub(crate) const NAME: &str = "search";

/// The version of the message index.
pub(crate) const VERSION: u32 = index::VERSION;

/// How many characters a fragment shows on either side of its match.
pub const FRAGMENT_CONTEXT: usize = 80;

/// The most messages examined for one page: a pattern that the index can't help with walks
/// them, and a page must not take seconds.
pub const MAX_EXAMINED: usize = 200_000;

/// The longest pattern, in characters (inclusive): more is a text, not a question.
pub const MAX_PATTERN_CHARS: usize = 4_096;

/// What to search for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// The text or the regular expression.
    pub pattern: String,
    /// Whether the pattern is a regular expression in the syntax of the `regex` crate.
    pub is_regex: bool,
    /// Whether case is ignored, by Unicode simple case folding.
    pub ignore_case: bool,
    /// Only messages of this project.
    pub project: Option<ProjectId>,
    /// Only messages of this chat.
    pub chat: Option<ChatId>,
    /// Only messages of this branch's chain, whichever branch wrote them.
    pub branch: Option<BranchId>,
    /// Only messages of these roles.
    pub roles: Vec<Role>,
    /// Only messages made at this time or later.
    pub since: Option<Timestamp>,
    /// Only messages made before this time.
    pub until: Option<Timestamp>,
}

/// The place of a message in the fixed order of results: by project id, chat id, and then the
/// order in which the chat's messages were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SearchKey {
    /// The project.
    pub project: ProjectId,
    /// The chat.
    pub chat: ChatId,
    /// The position of the message's event.
    pub position: Position,
}

/// Some of the messages that match.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchPage {
    /// The matching messages, in the fixed order.
    pub hits: Vec<Hit>,
    /// Where to go on; `None` after the last message.
    pub next: Option<SearchKey>,
    /// Whether the page ended at a limit (hits, messages examined, time) and there may be more.
    pub truncated: bool,
}

/// One message that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Its place in the order: a page that is cut after this hit goes on from here.
    pub key: SearchKey,
    /// The project.
    pub project: ProjectId,
    /// The project's name.
    pub project_name: String,
    /// The chat.
    pub chat: ChatId,
    /// The chat's title.
    pub chat_title: String,
    /// The branch that wrote it or, where that was deleted, one that keeps it.
    pub branch: BranchId,
    /// That branch's title.
    pub branch_title: Option<String>,
    /// The message.
    pub message: MessageId,
    /// Who speaks.
    pub role: Role,
    /// When it was made.
    pub time: Timestamp,
    /// The first match with what stands around it.
    pub fragment: Fragment,
    /// How many matches the whole message has: leftmost, not overlapping.
    pub match_count: u64,
}

/// A piece of a message's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The text.
    pub text: String,
    /// Where the match begins in it, in characters.
    pub start: usize,
    /// How long the match is, in characters; a match that is too long to show is cut.
    pub length: usize,
}

/// Why a search was refused or failed.
#[derive(Clone, Debug, Error)]
pub enum SearchError {
    /// Nothing was asked for.
    #[error("the query is empty; give at least one character to search for")]
    Empty,
    /// The message index knows the present only.
    #[error(
        "a search can't be made as of a moment of the past; leave asOf out, and give until for messages made before a time"
    )]
    NotAsOf,
    /// The pattern is over its limit.
    #[error("a query of {length} characters is over the limit of {limit} characters; shorten it")]
    TooLong {
        /// Its length in characters.
        length: usize,
        /// The most that are allowed.
        limit: usize,
    },
    /// The pattern compiles to too much.
    #[error(
        "this regular expression of {length} characters needs over {limit} bytes when compiled, which is the limit; use smaller repetitions or fewer Unicode classes"
    )]
    TooLarge {
        /// The pattern's length in characters.
        length: usize,
        /// The largest compiled size in bytes.
        limit: usize,
    },
    /// Lookahead or lookbehind.
    #[error(
        "lookahead and lookbehind are not supported, since matching must take linear time; match the text around it too, or search for the part that matters and look at the fragments"
    )]
    LookAround,
    /// A reference to a group.
    #[error(
        "backreferences are not supported, since matching must take linear time; write the repeated text out, or list its alternatives as (?:aa|bb)"
    )]
    Backreference,
    /// The pattern is no regular expression.
    #[error(
        "the regular expression is malformed: {reason}; to search for it as plain text, set isRegex to false"
    )]
    Malformed {
        /// What the parser says.
        reason: String,
    },
    /// The branch that was named is not known.
    #[error("there is no branch {branch}")]
    NoBranch {
        /// The branch.
        branch: BranchId,
    },
    /// The index could not be read.
    #[error("the message index can't be read: {reason}; {REBUILD}")]
    Index {
        /// What it says.
        reason: String,
    },
    /// A read model could not answer.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl From<scan::ScanError> for SearchError {
    fn from(error: scan::ScanError) -> SearchError {
        match error {
            scan::ScanError::Index(reason) => SearchError::Index { reason },
            scan::ScanError::Query(error) => SearchError::Query(error),
        }
    }
}

impl SearchQuery {
    /// A search for a text in all messages of people and models, without regard to case.
    pub fn text(pattern: impl Into<String>) -> SearchQuery {
        SearchQuery {
            pattern: pattern.into(),
            is_regex: false,
            ignore_case: true,
            project: None,
            chat: None,
            branch: None,
            roles: vec![Role::User, Role::Assistant],
            since: None,
            until: None,
        }
    }
}

/// The message index, to be asked.
pub(crate) struct Search {
    live: Live,
}

/// Opens the index, and tells what follows the log for it, and from where.
pub(crate) fn open(
    dir: &Path,
    log: Arc<dyn EventLog>,
    head: Position,
) -> Result<(Search, SearchProjection, Position), OpenError> {
    let (live, indexer, position) = live::start(dir, log.id(), head)?;
    let projects = HashMap::new();
    let projection = SearchProjection { log, live: live.clone(), indexer, position, projects };
    Ok((Search { live }, projection, position))
}

impl Search {
    /// One page of results.
    pub(crate) fn page(
        &self,
        query: &SearchQuery,
        after: Option<SearchKey>,
        limits: Limits,
        projects: &Projects,
        chats: &Chats,
    ) -> Result<SearchPage, SearchError> {
        let pattern = Pattern::new(query)?;
        let Some(scope) = scope(query, after, chats)? else {
            return Ok(SearchPage { hits: Vec::new(), next: None, truncated: false });
        };
        let is_shown = |entry: &entry::Entry| Ok(!chats.message_is_gone(entry.message)?);
        let found = scan(&self.live, &pattern, &scope, limits, is_shown)?;
        let hits = found.hits.iter().map(|(entry, matched)| {
            let branch = chats.keeper(entry.branch, entry.message, query.branch)?;
            hit(entry, matched, branch, (projects, chats))
        });
        let hits = hits.collect::<Result<_, _>>()?;
        Ok(SearchPage { hits, next: found.next, truncated: found.next.is_some() })
    }
}

/// Where a query searches; `None` if no message can be there.
fn scope(
    query: &SearchQuery,
    after: Option<SearchKey>,
    chats: &Chats,
) -> Result<Option<Scope>, SearchError> {
    let (mut project, mut chat) = (query.project, query.chat);
    let mut writers = None;
    if let Some(branch) = query.branch {
        let row = chats.branch(branch)?.ok_or(SearchError::NoBranch { branch })?;
        if chat.is_some_and(|wanted| wanted != row.chat) {
            return Ok(None);
        }
        chat = Some(row.chat);
        writers = Some(chats.writers(branch)?);
    }
    if let Some(chat) = chat {
        let Some(row) = chats.chat(chat)? else {
            return Ok(None);
        };
        if project.is_some_and(|wanted| wanted != row.project) {
            return Ok(None);
        }
        project = Some(row.project);
    }
    if query.roles.is_empty() {
        return Ok(None);
    }
    let chat = chat.map(|chat| chat.0);
    Ok(Some(Scope {
        after,
        first: project.map(|project| SearchKey::first_of(project.0, chat)),
        last: project.map(|project| SearchKey::last_of(project.0, chat)),
        writers,
        roles: query.roles.clone(),
        since: query.since,
        until: query.until,
    }))
}

fn hit(
    entry: &entry::Entry,
    matched: &Matched,
    branch: Option<BranchRow>,
    (projects, chats): (&Projects, &Chats),
) -> Result<Hit, QueryError> {
    let SearchKey { project, chat, .. } = entry.key;
    // The read models may be a moment behind the index: such a message is after the position that
    // the caller waited for, and has no names yet.
    Ok(Hit {
        key: entry.key,
        project,
        project_name: projects.get(project)?.map(|row| row.name).unwrap_or_default(),
        chat,
        chat_title: chats.chat(chat)?.map(|row| row.title).unwrap_or_default(),
        branch: branch.as_ref().map_or(entry.branch, |row| row.id),
        branch_title: branch.and_then(|row| row.title),
        message: entry.message,
        role: entry.role,
        time: entry.time,
        fragment: matched.fragment.clone(),
        match_count: matched.count,
    })
}
