//! What is searched for: the matcher, and what the index is asked first.

use regex::{Regex, RegexBuilder};
use regex_syntax::ast;

use super::need::{Need, need};
use super::{FRAGMENT_CONTEXT, Fragment, MAX_PATTERN_CHARS, SearchError, SearchQuery};

/// The largest compiled pattern, in bytes: what the regex crate allows by default.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;

/// The most characters of a match that a fragment shows, so that it is never a whole message.
const MAX_SHOWN_MATCH: usize = 400;

/// A pattern, compiled.
pub(super) struct Pattern {
    regex: Regex,
    /// What the folded text of every match contains.
    pub(super) need: Need,
}

/// Where a message matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matched {
    pub(super) fragment: Fragment,
    pub(super) count: u64,
}

impl Pattern {
    pub(super) fn new(query: &SearchQuery) -> Result<Pattern, SearchError> {
        let length = query.pattern.chars().count();
        if length == 0 {
            return Err(SearchError::Empty);
        }
        if length > MAX_PATTERN_CHARS {
            return Err(SearchError::TooLong { length, limit: MAX_PATTERN_CHARS });
        }
        let source =
            if query.is_regex { query.pattern.clone() } else { regex::escape(&query.pattern) };
        let parsed = regex_syntax::ParserBuilder::new()
            .case_insensitive(query.ignore_case)
            .build()
            .parse(&source)
            .map_err(|error| refusal(&source, &error))?;
        let regex = RegexBuilder::new(&source)
            .case_insensitive(query.ignore_case)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(limit) => SearchError::TooLarge { length, limit },
                other => SearchError::Malformed { reason: other.to_string() },
            })?;
        Ok(Pattern { regex, need: need(&parsed) })
    }

    /// Where these texts of one message match, each by itself; `None` if none does.
    pub(super) fn matched(&self, texts: &[String]) -> Option<Matched> {
        let mut fragment = None;
        let mut count = 0_u64;
        for text in texts {
            for found in self.regex.find_iter(text) {
                count += 1;
                fragment.get_or_insert_with(|| around(text, found.range()));
            }
        }
        fragment.map(|fragment| Matched { fragment, count })
    }
}

/// The match with [`FRAGMENT_CONTEXT`] characters on either side.
fn around(text: &str, found: std::ops::Range<usize>) -> Fragment {
    let (before, rest) = text.split_at(found.start);
    let (matched, after) = rest.split_at(found.end - found.start);
    // The last characters before the match; all of them if there are fewer.
    let from = before.char_indices().rev().take(FRAGMENT_CONTEXT).last().map_or(0, |(at, _)| at);
    let mut shown = before.get(from..).unwrap_or_default().to_owned();
    let start = shown.chars().count();
    shown.extend(matched.chars().take(MAX_SHOWN_MATCH));
    let length = shown.chars().count() - start;
    if matched.chars().nth(MAX_SHOWN_MATCH).is_none() {
        shown.extend(after.chars().take(FRAGMENT_CONTEXT));
    }
    Fragment { text: shown, start, length }
}

/// A parse error as a sentence that says what would be right.
fn refusal(source: &str, error: &regex_syntax::Error) -> SearchError {
    let (reason, offset) = match error {
        regex_syntax::Error::Parse(error) => match error.kind() {
            ast::ErrorKind::UnsupportedLookAround => return SearchError::LookAround,
            ast::ErrorKind::UnsupportedBackreference => return SearchError::Backreference,
            // Named references, which the parser doesn't know as such.
            _ if source.contains("(?P=") || source.contains("\\k<") => {
                return SearchError::Backreference;
            }
            kind => (kind.to_string(), error.span().start.offset),
        },
        regex_syntax::Error::Translate(error) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        other => (other.to_string(), 0),
    };
    let before = source.get(..offset).map_or(0, |before| before.chars().count());
    SearchError::Malformed { reason: format!("{reason} (at character {})", before + 1) }
}
