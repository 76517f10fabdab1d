//! Making a chat.

use scripta_events::domain::{
    BranchOpened, ChatCreated, ChatId, ConnectionId, ImportSource, ProjectId,
};
use scripta_events::log::Expectation;

use super::{ChatFacts, ChatState};
use crate::names::{self, MAX_NAME_CHARS, MAX_TITLE_CHARS};
use crate::{BranchKey, Chat, Decision, Refusal, Write};

pub(super) struct Wanted<'a> {
    pub(super) project: ProjectId,
    pub(super) title: &'a str,
    pub(super) connection: &'a Option<ConnectionId>,
    pub(super) model: &'a Option<String>,
}

pub(super) fn decide(
    id: ChatId,
    state: Option<&ChatState>,
    wanted: Wanted<'_>,
    facts: &ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    if state.is_some() {
        return Err(Refusal::AlreadyExists { what: "chat", id: id.0 });
    }
    check_endpoint(wanted.connection.as_ref(), wanted.model.as_deref(), facts)?;
    open(id, &wanted, None, facts)
}

/// Checks what a chat's turns are to use: it must be there. A chat without a connection of its own
/// uses the default of the moment, which may come later.
pub(super) fn check_endpoint(
    connection: Option<&ConnectionId>,
    model: Option<&str>,
    facts: &ChatFacts,
) -> Result<(), Refusal> {
    if let Some(connection) = connection {
        names::check("connection", &connection.0, MAX_NAME_CHARS)?;
        if let Some(problem) = facts.endpoint.as_ref().and_then(|it| it.problem.as_ref()) {
            return Err(Refusal::Refused { reason: problem.clone() });
        }
    }
    model.map_or(Ok(()), |model| names::check("model", model, MAX_NAME_CHARS))
}

/// The events that make a chat with its first branch.
pub(super) fn open(
    id: ChatId,
    wanted: &Wanted<'_>,
    source: Option<ImportSource>,
    facts: &ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    names::check("title", wanted.title, MAX_TITLE_CHARS)?;
    let (what, id_of_project) = ("project", wanted.project.0);
    match &facts.project {
        None => return Err(Refusal::NotFound { what, id: id_of_project }),
        Some(project) if project.deleted => {
            return Err(Refusal::Gone { what, id: id_of_project });
        }
        Some(_) => {}
    }
    let made = ChatCreated {
        chat: id,
        project: wanted.project,
        title: wanted.title.to_owned(),
        connection: wanted.connection.clone(),
        model: wanted.model.clone(),
        source,
    };
    let opened = BranchOpened {
        branch: id.first_branch(),
        chat: id,
        project: wanted.project,
        fork: None,
        title: None,
    };
    let key = BranchKey { chat: id, branch: id.first_branch() };
    let branch =
        Write::Branch { key, expected: Expectation::NoStream, events: vec![opened.into()] };
    Ok(Decision { others: vec![branch], ..Decision::events(vec![made.into()]) })
}
