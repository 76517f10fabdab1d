//! Replacing a project's instructions.

use scripta_events::domain::InstructionsReplaced;

use super::ProjectState;
use crate::{Decision, Project, Refusal};

/// The longest instructions of a project, in bytes (inclusive): they stand before every turn, and
/// leave most of what a model reads to the conversation.
pub const MAX_INSTRUCTIONS_BYTES: usize = 64 * 1024;

/// The text that is there already is nothing to change.
pub(super) fn decide(state: &ProjectState, text: &str) -> Result<Decision<Project>, Refusal> {
    if text.len() > MAX_INSTRUCTIONS_BYTES {
        let size = text.len();
        let problem = format!("has {size} bytes; at most {MAX_INSTRUCTIONS_BYTES} are allowed");
        return Err(Refusal::Invalid { field: "text", problem });
    }
    if state.instructions.text == text {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![InstructionsReplaced { text: text.to_owned() }.into()]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use scripta_events::Timestamp;
    use scripta_events::domain::{ProjectCreated, ProjectId};

    use super::*;
    use crate::{Aggregate, ProjectCommand, ProjectFacts};

    fn replace(state: &mut ProjectState, text: &str) -> Result<usize, Refusal> {
        let command =
            ProjectCommand::ReplaceInstructions { text: text.to_owned(), expected_revision: 0 };
        let decision =
            Project::decide(state.id, Some(state), &command, &mut ProjectFacts::default())?;
        for event in &decision.events {
            *state = Project::evolve(Some(state.clone()), event, Timestamp(9)).unwrap();
        }
        Ok(decision.events.len())
    }

    #[test]
    fn instructions_have_a_revision_of_their_own_and_bounds() {
        let (project, name) = (ProjectId::random(), "P".to_owned());
        let made = ProjectCreated { project, name, directories: vec![] };
        let mut state = Project::evolve(None, &made.into(), Timestamp(1)).unwrap();
        assert_eq!(replace(&mut state, ""), Ok(0));
        assert_eq!(state.instructions.revision, 0);
        assert_eq!(replace(&mut state, "Be brief."), Ok(1));
        assert_eq!(replace(&mut state, "Be brief."), Ok(0));
        assert_eq!((state.revision, state.instructions.revision), (1, 1));
        assert_eq!(state.instructions.updated_at, Some(Timestamp(9)));
        assert!(replace(&mut state, &"x".repeat(MAX_INSTRUCTIONS_BYTES + 1)).is_err());
        assert_eq!(replace(&mut state, &"x".repeat(MAX_INSTRUCTIONS_BYTES)), Ok(1));
        // No instructions any more is a change as well.
        assert_eq!(replace(&mut state, ""), Ok(1));
        assert_eq!((state.instructions.text.as_str(), state.instructions.revision), ("", 3));
    }

    #[test]
    fn a_project_that_is_not_there_has_none() {
        let id = ProjectId::random();
        let command =
            ProjectCommand::ReplaceInstructions { text: String::new(), expected_revision: 0 };
        let refused = Project::decide(id, None, &command, &mut ProjectFacts::default());
        assert_eq!(refused.err(), Some(Refusal::NotFound { what: "project", id: id.0 }));
    }
}
