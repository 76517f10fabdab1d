//! Retiring a resource: it stays readable where it was attached, and is attached no more.

use scripta_events::domain::{ResourceId, ResourceRetired};

use super::ProjectState;
use crate::{Decision, Project, Refusal};

/// One that is retired already is nothing to change.
pub(super) fn decide(
    state: &ProjectState,
    resource: ResourceId,
) -> Result<Decision<Project>, Refusal> {
    match state.resources.get(&resource) {
        None => Err(Refusal::NotFound { what: "resource", id: resource.0 }),
        Some(known) if known.is_retired() => Ok(Decision::nothing()),
        Some(_) => Ok(Decision::events(vec![ResourceRetired { resource }.into()])),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{made, when};
    use super::*;
    use crate::ProjectCommand;

    #[test]
    fn a_resource_that_is_not_there_is_not_retired() {
        let mut state = made("P");
        let resource = ResourceId::random();
        let retire = ProjectCommand::RetireResource { resource, expected_revision: 1 };
        let not_found = Refusal::NotFound { what: "resource", id: resource.0 };
        assert_eq!(when(&mut state, retire), Err(not_found));
    }
}
