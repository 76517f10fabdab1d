//! Letting a chat's turns use another connection or model.

use scripta_events::domain::{ChatEndpointSet, ConnectionId};

use super::create::check_endpoint;
use super::{ChatFacts, ChatState};
use crate::{Chat, Decision, Refusal};

/// A turn that is running goes on with what it began with. What the chat uses already is nothing
/// to change.
pub(super) fn decide(
    state: &ChatState,
    connection: &ConnectionId,
    model: &Option<String>,
    facts: &ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    check_endpoint(Some(connection), model.as_deref(), facts)?;
    if state.connection.as_ref() == Some(connection) && state.model == *model {
        return Ok(Decision::nothing());
    }
    let set = ChatEndpointSet { connection: connection.clone(), model: model.clone() };
    Ok(Decision::events(vec![set.into()]))
}
