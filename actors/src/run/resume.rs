//! A run that was stopped or failed goes on.

use scripta_events::domain::{ModelStepStarted, RunEvent, RunResumed};

use super::RunState;
use crate::Endpoint;

/// It goes on where it was: a step whose calls all have results, be it that they were not run, is
/// followed by the next; one without an answer is asked again.
pub(crate) fn resume(state: &RunState, endpoint: &Endpoint) -> Vec<RunEvent> {
    let Endpoint { connection, model, .. } = endpoint.clone();
    let mut events = vec![RunResumed { connection, model }.into()];
    if state.answered {
        events.push(ModelStepStarted { step: state.step.saturating_add(1) }.into());
    }
    events
}
