//! Making a project.

use std::path::Path;

use scripta_events::domain::{ProjectCreated, ProjectId};

use super::ProjectState;
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Decision, Project, Refusal};

/// The most directories of a project (inclusive): each is looked at when its tools open.
pub const MAX_DIRECTORIES: usize = 64;

/// The longest path of a directory, in bytes (inclusive): Linux's own limit of a path.
pub const MAX_DIRECTORY_BYTES: usize = 4_096;

pub(super) fn decide(
    id: ProjectId,
    state: Option<&ProjectState>,
    name: &str,
    directories: &[String],
) -> Result<Decision<Project>, Refusal> {
    if state.is_some() {
        return Err(Refusal::AlreadyExists { what: "project", id: id.0 });
    }
    names::check("name", name, MAX_NAME_CHARS)?;
    check_directories(directories)?;
    let made =
        ProjectCreated { project: id, name: name.to_owned(), directories: directories.to_vec() };
    Ok(Decision::events(vec![made.into()]))
}

pub(super) fn check_directories(directories: &[String]) -> Result<(), Refusal> {
    let invalid = |problem: String| Err(Refusal::Invalid { field: "directories", problem });
    if directories.len() > MAX_DIRECTORIES {
        let count = directories.len();
        return invalid(format!("has {count} entries; at most {MAX_DIRECTORIES} are allowed"));
    }
    for directory in directories {
        if directory.len() > MAX_DIRECTORY_BYTES {
            let size = directory.len();
            return invalid(format!(
                "has a path of {size} bytes; at most {MAX_DIRECTORY_BYTES} are allowed"
            ));
        }
        if !Path::new(directory).is_absolute() {
            return invalid(format!("has the relative path '{directory}'; give absolute paths"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Aggregate, ProjectCommand, ProjectFacts};
    use scripta_events::Timestamp;

    fn create(
        state: Option<&ProjectState>,
        name: &str,
        dirs: &[&str],
    ) -> Result<Decision<Project>, Refusal> {
        let directories = dirs.iter().map(|dir| (*dir).to_owned()).collect();
        let command = ProjectCommand::Create { name: name.to_owned(), directories };
        Project::decide(ProjectId::random(), state, &command, &mut ProjectFacts::new())
    }

    #[test]
    fn a_new_project_is_created_at_revision_one() {
        let decision = create(None, "Notes", &["/home"]).unwrap();
        let event = decision.events.first().unwrap();
        let state = Project::evolve(None, event, Timestamp(7)).unwrap();
        assert_eq!(
            (state.name.as_str(), state.revision, state.created_at),
            ("Notes", 1, Timestamp(7))
        );
        assert!(matches!(create(Some(&state), "Notes", &[]), Err(Refusal::AlreadyExists { .. })));
    }

    #[test]
    fn names_and_directories_have_bounds() {
        assert!(create(None, " ", &[]).is_err());
        assert!(create(None, "two\nlines", &[]).is_err());
        assert!(create(None, &"é".repeat(MAX_NAME_CHARS), &[]).is_ok());
        assert!(create(None, &"é".repeat(MAX_NAME_CHARS + 1), &[]).is_err());
        assert!(create(None, "n", &["home"]).is_err());
        assert!(create(None, "n", &["/h"; MAX_DIRECTORIES]).is_ok());
        assert!(create(None, "n", &["/h"; MAX_DIRECTORIES + 1]).is_err());
    }
}
