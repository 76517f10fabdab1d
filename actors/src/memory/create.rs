//! Making an entry.

use std::collections::BTreeSet;

use scripta_events::domain::MemoryCreated;
use scripta_events::log::{Check, Expectation};

use super::{MemoryFacts, MemoryKey, MemoryState};
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Decision, Memory, Refusal};

/// The longest text of an entry, in bytes (inclusive): a few pages, so that several of them fit
/// before a turn.
pub const MAX_MEMORY_TEXT_BYTES: usize = 16 * 1024;

/// The most tags of an entry (inclusive): more tell nothing apart.
pub const MAX_TAGS: usize = 32;

/// The longest tag, in characters (inclusive): a word or two.
pub const MAX_TAG_CHARS: usize = 64;

pub(super) struct Wanted<'a> {
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) tags: &'a [String],
    pub(super) pinned: bool,
}

pub(super) fn decide(
    key: MemoryKey,
    state: Option<&MemoryState>,
    wanted: Wanted<'_>,
    facts: &MemoryFacts,
) -> Result<Decision<Memory>, Refusal> {
    if state.is_some() {
        return Err(Refusal::AlreadyExists { what: "memory entry", id: key.memory.0 });
    }
    if let Some(project) = key.project.filter(|_| !facts.project_exists) {
        return Err(Refusal::NotFound { what: "project", id: project.0 });
    }
    if let Some(project) = key.project.filter(|_| facts.project_deleted) {
        return Err(Refusal::Gone { what: "project", id: project.0 });
    }
    names::check("title", wanted.title, MAX_NAME_CHARS)?;
    check_text(wanted.text)?;
    check_tags(wanted.tags)?;
    let made = MemoryCreated {
        memory: key.memory,
        project: key.project,
        title: wanted.title.to_owned(),
        text: wanted.text.to_owned(),
        tags: wanted.tags.to_vec(),
        pinned: wanted.pinned,
    };
    let exists = |stream| Check { stream, expected: Expectation::Exists };
    let checks = key.project.map(|project| exists(project.stream())).into_iter().collect();
    Ok(Decision { checks, ..Decision::events(vec![made.into()]) })
}

pub(super) fn check_text(text: &str) -> Result<(), Refusal> {
    let invalid = |problem: String| Err(Refusal::Invalid { field: "text", problem });
    if text.trim().is_empty() {
        return invalid("is empty; write what is to be remembered".to_owned());
    }
    if text.len() > MAX_MEMORY_TEXT_BYTES {
        let size = text.len();
        return invalid(format!("has {size} bytes; at most {MAX_MEMORY_TEXT_BYTES} are allowed"));
    }
    Ok(())
}

pub(super) fn check_tags(tags: &[String]) -> Result<(), Refusal> {
    let invalid = |problem: String| Err(Refusal::Invalid { field: "tags", problem });
    if tags.len() > MAX_TAGS {
        return invalid(format!("has {} entries; at most {MAX_TAGS} are allowed", tags.len()));
    }
    let mut seen = BTreeSet::new();
    for tag in tags {
        names::check("tags", tag, MAX_TAG_CHARS)?;
        if !seen.insert(tag) {
            return invalid(format!("has '{tag}' twice; give each once"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{create, key, when};
    use super::*;
    use crate::Aggregate;

    #[test]
    fn a_new_entry_is_at_revision_one() {
        let (mut state, key) = (None, key());
        assert_eq!(when(&mut state, key, create("Tea", "Green.", &["taste"])), Ok(1));
        let made = state.clone().unwrap();
        assert_eq!((made.id, made.project, made.revision), (key.memory, key.project, 1));
        let again = when(&mut state, key, create("Tea", "Green.", &[]));
        assert!(matches!(again, Err(Refusal::AlreadyExists { .. })));
    }

    #[test]
    fn it_needs_its_project() {
        let key = key();
        let mut facts = MemoryFacts { project_exists: false, project_deleted: false };
        let refused = Memory::decide(key, None, &create("Tea", "Green.", &[]), &mut facts);
        let id = key.project.unwrap().0;
        assert_eq!(refused.err(), Some(Refusal::NotFound { what: "project", id }));
        facts = MemoryFacts { project_exists: true, project_deleted: true };
        let gone = Memory::decide(key, None, &create("Tea", "Green.", &[]), &mut facts);
        assert_eq!(gone.err(), Some(Refusal::Gone { what: "project", id }));
        // One of the workspace needs none.
        let key = MemoryKey { project: None, ..key };
        facts.project_deleted = false;
        let decision = Memory::decide(key, None, &create("T", "x", &[]), &mut facts).unwrap();
        assert!(decision.checks.is_empty());
    }

    #[test]
    fn entries_have_bounds() {
        let refused = |title: &str, text: &str, tags: &[&str]| {
            when(&mut None, key(), create(title, text, tags)).is_err()
        };
        assert!(refused(" ", "x", &[]));
        assert!(refused("T", " ", &[]));
        assert!(refused("T", &"x".repeat(MAX_MEMORY_TEXT_BYTES + 1), &[]));
        assert!(!refused("T", &"x".repeat(MAX_MEMORY_TEXT_BYTES), &[]));
        assert!(refused("T", "x", &["a", "a"]));
        assert!(refused("T", "x", &[""]));
        assert!(refused("T", "x", &["é".repeat(MAX_TAG_CHARS + 1).as_str()]));
        let many: Vec<String> = (0..=MAX_TAGS).map(|n| n.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(refused("T", "x", &many));
    }
}
