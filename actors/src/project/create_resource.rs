//! Referring to a file or a directory.

use scripta_events::domain::{ResourceCreated, ResourceId, ResourceKind};

use super::{NoPlace, ProjectFacts, ProjectState};
use crate::{Decision, Project, Refusal, Write};

/// The most resources of a project (inclusive), retired ones counted: the project holds a line for
/// each in memory.
pub const MAX_RESOURCES: usize = 10_000;

/// The same path gets the same resource, as long as that is not retired.
pub(super) fn decide(
    state: &ProjectState,
    (path, kind): (&str, ResourceKind),
    facts: &mut ProjectFacts,
) -> Result<Decision<Project>, Refusal> {
    let place = match facts.place.take() {
        Some(Ok(place)) => place,
        Some(Err(NoPlace::Outside)) => {
            let reason = format!(
                "project '{}' may not read '{path}', which is outside of its directories and grants; \
                 add the directory to the project, or grant it, first",
                state.name
            );
            return Err(Refusal::Refused { reason });
        }
        Some(Err(NoPlace::Wrong(problem))) => {
            return Err(Refusal::Invalid { field: "path", problem });
        }
        None => return Err(Refusal::NotFound { what: "project", id: state.id.0 }),
    };
    if place.kind != kind {
        let (path, found) = (&place.path, name(place.kind));
        let problem = format!("is {}, but '{path}' is a {found}; give {found}", name(kind));
        return Err(Refusal::Invalid { field: "kind", problem });
    }
    let mut known = state.resources.values();
    let same = known.find(|it| !it.is_retired() && it.kind == kind && it.path == place.path);
    let named = |resource: ResourceId| Write::Named { stream: resource.stream(state.id) };
    if let Some(same) = same {
        return Ok(Decision { others: vec![named(same.id)], ..Decision::nothing() });
    }
    if state.resources.len() >= MAX_RESOURCES {
        return Err(Refusal::Full {
            what: "the project",
            limit: MAX_RESOURCES as u64,
            unit: "resources",
            instead: "refer to a directory that has the file",
        });
    }
    let resource = ResourceId(facts.ids.take());
    let made = ResourceCreated { resource, path: place.path, kind };
    Ok(Decision { others: vec![named(resource)], ..Decision::events(vec![made.into()]) })
}

fn name(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::File => "File",
        ResourceKind::Directory => "Directory",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{made, when, when_with};
    use super::*;
    use crate::{Place, ProjectCommand};

    fn create(
        state: &mut ProjectState,
        path: &str,
        kind: ResourceKind,
        readable: bool,
    ) -> Result<usize, Refusal> {
        let mut facts = ProjectFacts::new();
        let place = Place { path: path.to_owned(), kind: ResourceKind::File };
        facts.place = Some(if readable { Ok(place) } else { Err(NoPlace::Outside) });
        let path = format!("{path}/../{path}");
        when_with(state, ProjectCommand::CreateResource { path, kind }, facts)
    }

    #[test]
    fn the_same_path_gets_the_same_resource_until_it_is_retired() {
        let mut state = made("P");
        let file = ResourceKind::File;
        assert_eq!(create(&mut state, "/a", file, true), Ok(1));
        assert_eq!(create(&mut state, "/a", file, true), Ok(0));
        assert_eq!(create(&mut state, "/b", file, true), Ok(1));
        assert_eq!((state.resources.len(), state.revision), (2, 1));
        let first = state.resources.values().find(|it| it.path == "/a").unwrap().id;
        let retire = ProjectCommand::RetireResource { resource: first, expected_revision: 1 };
        assert_eq!(when(&mut state, retire.clone()), Ok(1));
        assert_eq!(when(&mut state, retire), Ok(0));
        assert_eq!(state.resources.get(&first).unwrap().revision, 2);
        assert_eq!(create(&mut state, "/a", file, true), Ok(1));
        assert_eq!(state.resources.len(), 3);
    }

    #[test]
    fn it_must_be_what_the_caller_says_and_readable() {
        let mut state = made("P");
        let wrong = create(&mut state, "/a", ResourceKind::Directory, true);
        assert!(matches!(wrong, Err(Refusal::Invalid { field: "kind", .. })));
        let outside = create(&mut state, "/a", ResourceKind::File, false);
        assert!(matches!(outside, Err(Refusal::Refused { .. })));
        let mut facts = ProjectFacts::new();
        facts.place = Some(Err(NoPlace::Wrong("leads nowhere".to_owned())));
        let command =
            ProjectCommand::CreateResource { path: "/a".to_owned(), kind: ResourceKind::File };
        let nowhere = when_with(&mut state, command, facts);
        assert!(matches!(nowhere, Err(Refusal::Invalid { field: "path", .. })));
    }
}
