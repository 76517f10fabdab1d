//! Deleting a project.

use scripta_events::domain::ProjectDeleted;

use super::{ProjectFacts, ProjectState};
use crate::{Decision, Effect, Project, Refusal};

/// One event here, which its chats consult; the sweep deletes them one by one, and stops what runs
/// in them.
pub(super) fn decide(
    state: &ProjectState,
    stop_runs: bool,
    facts: &ProjectFacts,
) -> Result<Decision<Project>, Refusal> {
    if let (false, Some(run)) = (stop_runs, facts.running.first()) {
        let reason = match facts.running.len() {
            1 => format!("a turn is running in this project (run {run})"),
            more => format!("{more} turns are running in this project (one is run {run})"),
        };
        let reason = format!("{reason}; stop it with app_runs Stop, or delete with stopRuns");
        return Err(Refusal::Refused { reason });
    }
    let effects = vec![Effect::Sweep(state.id)];
    Ok(Decision { effects, ..Decision::events(vec![ProjectDeleted {}.into()]) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use scripta_events::Timestamp;
    use scripta_events::domain::{ChatId, ProjectCreated, ProjectId, RunId};

    use super::*;
    use crate::{Aggregate, ProjectCommand, RunKey};

    #[test]
    fn a_project_goes_once_and_running_turns_are_in_the_way() {
        let id = ProjectId::random();
        let made = ProjectCreated { project: id, name: "P".to_owned(), directories: vec![] };
        let mut state = Project::evolve(None, &made.into(), Timestamp(1)).unwrap();
        let run = RunKey { chat: ChatId::random(), run: RunId::random() };
        let mut facts = ProjectFacts { running: vec![run], ..ProjectFacts::new() };
        let delete = |stop_runs| ProjectCommand::Delete { stop_runs, expected_revision: 1 };
        let refused = Project::decide(id, Some(&state), &delete(false), &mut facts).err().unwrap();
        assert!(refused.to_string().contains(&run.to_string()), "{refused}");
        let decision = Project::decide(id, Some(&state), &delete(true), &mut facts).unwrap();
        assert_eq!(decision.effects, [Effect::Sweep(id)]);
        for event in &decision.events {
            state = Project::evolve(Some(state), event, Timestamp(2)).unwrap();
        }
        assert!(state.deleted);
        assert_eq!(Project::document_revision(&state, &delete(true)), None);
        let gone = Refusal::Gone { what: "project", id: id.0 };
        let again = Project::decide(id, Some(&state), &delete(true), &mut facts);
        assert_eq!(again.err(), Some(gone));
    }
}
