//! Making a chat from an imported conversation.

use scripta_events::domain::{ChatId, ImportSource, Message, MessageAppended, ProjectId};

use super::{ChatFacts, ChatState, create};
use crate::branch::check_imported;
use crate::{Chat, Decision, Refusal, Write};

pub(super) struct Wanted<'a> {
    pub(super) project: ProjectId,
    pub(super) title: &'a str,
    pub(super) source: &'a ImportSource,
    pub(super) messages: &'a [Message],
}

pub(super) fn decide(
    id: ChatId,
    state: Option<&ChatState>,
    wanted: Wanted<'_>,
    facts: &ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    if let Some(state) = state {
        if state.deleted {
            return Err(Refusal::Gone { what: "chat", id: id.0 });
        }
        return match &state.source {
            Some(source) if source == wanted.source => Ok(Decision::nothing()),
            _ => Err(Refusal::AlreadyExists { what: "chat", id: id.0 }),
        };
    }
    check_imported(wanted.messages)?;
    let chat = create::Wanted {
        project: wanted.project,
        title: wanted.title,
        connection: &None,
        model: &None,
    };
    let mut decision = create::open(id, &chat, Some(wanted.source.clone()), facts)?;
    for write in &mut decision.others {
        if let Write::Branch { events, .. } = write {
            let messages = wanted.messages.iter().cloned();
            events.extend(messages.map(|message| MessageAppended { message }.into()));
        }
    }
    Ok(decision)
}
