//! Changing a review's name, files and comments.

use scripta_events::domain::ReviewUpdated;

use super::{ReviewChanges, ReviewState, bounds};
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Decision, Refusal, Review};

/// What is as it was already is nothing to change.
pub(super) fn decide(
    state: &ReviewState,
    changes: &ReviewChanges,
) -> Result<Decision<Review>, Refusal> {
    let ReviewChanges { name, files, comments } = changes;
    name.as_deref().map_or(Ok(()), |name| names::check("name", name, MAX_NAME_CHARS))?;
    bounds::check(
        files.as_ref().unwrap_or(&state.files),
        comments.as_ref().unwrap_or(&state.comments),
    )?;
    let updated = ReviewUpdated {
        name: name.clone().filter(|name| *name != state.name),
        files: files.clone().filter(|files| *files != state.files),
        comments: comments.clone().filter(|comments| *comments != state.comments),
    };
    if updated == (ReviewUpdated { name: None, files: None, comments: None }) {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![updated.into()]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use scripta_events::domain::Role;

    use super::super::ReviewCommand;
    use super::super::testing::{comment, create, when};
    use super::*;

    fn update(changes: ReviewChanges) -> ReviewCommand {
        ReviewCommand::Update { changes, expected_revision: 1 }
    }

    #[test]
    fn what_is_given_changes_and_comments_stay_with_their_files() {
        let mut state = None;
        let about = create(&["a", "b"], vec![comment("b", "Why?")]);
        assert!(matches!(
            when(&mut state, update(ReviewChanges::default()), None),
            Err(Refusal::NotFound { what: "review", .. })
        ));
        when(&mut state, about, Some(Role::Assistant)).unwrap();
        assert_eq!(when(&mut state, update(ReviewChanges::default()), None), Ok(0));
        let name = Some("Second look".to_owned());
        let renamed = ReviewChanges { name, ..ReviewChanges::default() };
        assert_eq!(when(&mut state, update(renamed), None), Ok(1));
        // The comment about b is still there.
        let files = Some(vec!["a".to_owned()]);
        let fewer = ReviewChanges { files, ..ReviewChanges::default() };
        assert!(when(&mut state, update(fewer.clone()), None).is_err());
        let both = ReviewChanges { comments: Some(vec![]), ..fewer };
        assert_eq!(when(&mut state, update(both), None), Ok(1));
        let now = state.unwrap();
        assert_eq!((now.name.as_str(), now.revision), ("Second look", 3));
        assert_eq!((now.files.len(), now.comments.len()), (1, 0));
    }
}
