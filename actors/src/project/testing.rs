//! A project without a log.
#![allow(clippy::unwrap_used)]

use scripta_events::Timestamp;
use scripta_events::domain::{ProjectCreated, ProjectId};

use super::{ProjectCommand, ProjectFacts, ProjectState};
use crate::{Aggregate, Project, Refusal};

pub(super) fn made(name: &str) -> ProjectState {
    let (project, name) = (ProjectId::random(), name.to_owned());
    let made = ProjectCreated { project, name, directories: vec![] };
    Project::evolve(None, &made.into(), Timestamp(1)).unwrap()
}

/// Decides, and folds what comes of it; how many events that were.
pub(super) fn when(state: &mut ProjectState, command: ProjectCommand) -> Result<usize, Refusal> {
    when_with(state, command, ProjectFacts::new())
}

pub(super) fn when_with(
    state: &mut ProjectState,
    command: ProjectCommand,
    mut facts: ProjectFacts,
) -> Result<usize, Refusal> {
    let decision = Project::decide(state.id, Some(state), &command, &mut facts)?;
    for event in &decision.events {
        *state = Project::evolve(Some(state.clone()), event, Timestamp(9)).unwrap();
    }
    Ok(decision.events.len())
}
