//! Changing a project's name, directories and default connection.

use scripta_events::domain::ProjectUpdated;

use super::create::check_directories;
use super::{ProjectChanges, ProjectFacts, ProjectState};
use crate::names::{self, MAX_NAME_CHARS};
use crate::{Decision, Project, Refusal};

/// What is as it was already is nothing to change.
pub(super) fn decide(
    state: &ProjectState,
    changes: &ProjectChanges,
    facts: &ProjectFacts,
) -> Result<Decision<Project>, Refusal> {
    let ProjectChanges { name, directories, default_connection } = changes;
    name.as_deref().map_or(Ok(()), |name| names::check("name", name, MAX_NAME_CHARS))?;
    directories.as_deref().map_or(Ok(()), check_directories)?;
    if let Some(Some(connection)) = default_connection {
        names::check("defaultConnectionId", &connection.0, MAX_NAME_CHARS)?;
    }
    let updated = ProjectUpdated {
        name: name.clone().filter(|name| *name != state.name),
        directories: directories.clone().filter(|directories| *directories != state.directories),
        default_connection: default_connection
            .clone()
            .filter(|connection| *connection != state.default_connection),
    };
    if let (Some(Some(_)), Some(problem)) = (&updated.default_connection, &facts.problem) {
        return Err(Refusal::Refused { reason: problem.clone() });
    }
    let nothing = ProjectUpdated { name: None, directories: None, default_connection: None };
    if updated == nothing {
        return Ok(Decision::nothing());
    }
    Ok(Decision::events(vec![updated.into()]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use scripta_events::domain::ConnectionId;

    use super::super::testing::{made, when, when_with};
    use super::*;
    use crate::ProjectCommand;

    fn update(changes: ProjectChanges) -> ProjectCommand {
        ProjectCommand::Update { changes, expected_revision: 1 }
    }

    fn connection(name: Option<&str>) -> ProjectChanges {
        let default_connection = Some(name.map(|name| ConnectionId(name.to_owned())));
        ProjectChanges { default_connection, ..ProjectChanges::default() }
    }

    #[test]
    fn what_is_given_changes_and_the_rest_stays() {
        let mut state = made("Notes");
        let name = |name: &str| ProjectChanges {
            name: Some(name.to_owned()),
            ..ProjectChanges::default()
        };
        assert_eq!(when(&mut state, update(name("Notes"))), Ok(0));
        assert_eq!(when(&mut state, update(name("Work"))), Ok(1));
        let directories = Some(vec!["/srv".to_owned()]);
        let moved = ProjectChanges { directories, ..ProjectChanges::default() };
        assert_eq!(when(&mut state, update(moved)), Ok(1));
        assert_eq!(when(&mut state, update(connection(Some("c")))), Ok(1));
        assert_eq!((state.name.as_str(), state.revision), ("Work", 4));
        assert_eq!(state.directories, ["/srv"]);
        assert_eq!(state.default_connection, Some(ConnectionId("c".to_owned())));
        // Taking the default away is a change, too.
        assert_eq!(when(&mut state, update(connection(None))), Ok(1));
        assert_eq!(when(&mut state, update(connection(None))), Ok(0));
        assert!(when(&mut state, update(name(" "))).is_err());
        let relative = ProjectChanges {
            directories: Some(vec!["srv".to_owned()]),
            ..ProjectChanges::default()
        };
        assert!(when(&mut state, update(relative)).is_err());
    }

    #[test]
    fn a_connection_that_is_not_there_is_no_default() {
        let mut state = made("Notes");
        let mut facts = ProjectFacts::new();
        facts.problem = Some("there is no 'c'".to_owned());
        let refused = when_with(&mut state, update(connection(Some("c"))), facts);
        assert_eq!(refused, Err(Refusal::Refused { reason: "there is no 'c'".to_owned() }));
    }
}
