//! Changing an entry.

use scripta_events::domain::MemoryUpdated;

use super::create::{check_tags, check_text};
use super::{MemoryChanges, MemoryState};
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Decision, Memory, Refusal};

/// What is as it was already is nothing to change.
pub(super) fn decide(
    state: &MemoryState,
    changes: &MemoryChanges,
) -> Result<Decision<Memory>, Refusal> {
    let MemoryChanges { title, text, tags, pinned } = changes;
    title.as_deref().map_or(Ok(()), |title| names::check("title", title, MAX_NAME_CHARS))?;
    text.as_deref().map_or(Ok(()), check_text)?;
    tags.as_deref().map_or(Ok(()), check_tags)?;
    let updated = MemoryUpdated {
        title: title.clone().filter(|title| *title != state.title),
        text: text.clone().filter(|text| *text != state.text),
        tags: tags.clone().filter(|tags| *tags != state.tags),
        pinned: pinned.filter(|pinned| *pinned != state.pinned),
    };
    let nothing = MemoryUpdated { title: None, text: None, tags: None, pinned: None };
    if updated == nothing {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![updated.into()]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{create, key, when};
    use super::super::{MemoryCommand, MemoryKey};
    use super::*;

    fn update(changes: MemoryChanges) -> MemoryCommand {
        MemoryCommand::Update { changes, expected_revision: 1 }
    }

    #[test]
    fn what_is_given_changes_and_the_rest_stays() {
        let (mut state, key) = (None, key());
        when(&mut state, key, create("Tea", "Green.", &["taste"])).unwrap();
        let same = MemoryChanges { title: Some("Tea".to_owned()), ..MemoryChanges::default() };
        assert_eq!(when(&mut state, key, update(same)), Ok(0));
        let pin = MemoryChanges { pinned: Some(true), ..MemoryChanges::default() };
        assert_eq!(when(&mut state, key, update(pin)), Ok(1));
        let both = MemoryChanges {
            text: Some("Black.".to_owned()),
            tags: Some(vec![]),
            ..MemoryChanges::default()
        };
        assert_eq!(when(&mut state, key, update(both)), Ok(1));
        let now = state.clone().unwrap();
        assert_eq!((now.title.as_str(), now.text.as_str(), now.pinned), ("Tea", "Black.", true));
        assert_eq!((now.tags.len(), now.revision), (0, 3));
        let bad = MemoryChanges { text: Some(String::new()), ..MemoryChanges::default() };
        assert!(when(&mut state, key, update(bad)).is_err());
    }

    #[test]
    fn an_entry_that_is_not_there_is_not_changed() {
        let key: MemoryKey = key();
        let refused = when(&mut None, key, update(MemoryChanges::default()));
        let not_found = Refusal::NotFound { what: "memory entry", id: key.memory.0 };
        assert_eq!(refused, Err(not_found));
    }
}
