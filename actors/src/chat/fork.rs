//! Opening a branch from a message.

use std::sync::Arc;

use scripta_events::domain::{
    BranchEvent, BranchForked, BranchId, BranchOpened, ForkPoint, MessageId,
};
use scripta_events::log::{Check, Expectation};

use super::{ChatFacts, ChatState};
use crate::branch::{check_message, new_turn};
use crate::names::{self, MAX_TITLE_CHARS};
use crate::{BranchKey, BranchState, Chat, Decision, MessageRef, NewMessage, Refusal, Write};

/// The most branches of a chat (inclusive): the chat holds a line for each in memory.
pub const MAX_BRANCHES: usize = 10_000;

/// Where a new branch starts.
pub(super) struct Place<'a> {
    pub(super) branch: BranchId,
    pub(super) from: Option<MessageId>,
    pub(super) title: &'a Option<String>,
}

pub(super) fn decide(
    state: &ChatState,
    place: Place<'_>,
    message: &NewMessage,
    facts: &mut ChatFacts,
) -> Result<Decision<Chat>, Refusal> {
    check_message(message)?;
    facts.unattachable.take().map_or(Ok(()), Err)?;
    state.branch(place.branch)?;
    let point = find(&facts.chain, place.branch, place.from)?;
    let Some(endpoint) = &facts.endpoint else {
        return Err(Refusal::NotFound { what: "chat", id: state.id.0 });
    };
    if let Some(problem) = &endpoint.problem {
        return Err(Refusal::Refused { reason: problem.clone() });
    }
    let branch = BranchId(facts.ids.take());
    let start = (message.at(facts.now), message.interactive);
    let turn = new_turn(state, branch, start, endpoint, &mut facts.ids);
    let mut decision = open(state, branch, point, place.title, turn.branch)?;
    decision.others.push(turn.run);
    decision.effects.extend(turn.effect);
    Ok(decision)
}

/// The events that open a branch at `point`, with its first own ones.
pub(super) fn open(
    state: &ChatState,
    branch: BranchId,
    point: ForkPoint,
    title: &Option<String>,
    own: Vec<BranchEvent>,
) -> Result<Decision<Chat>, Refusal> {
    if let Some(title) = title {
        names::check("title", title, MAX_TITLE_CHARS)?;
    }
    if state.branches.len() >= MAX_BRANCHES {
        return Err(Refusal::Full {
            what: "the chat",
            limit: MAX_BRANCHES as u64,
            unit: "branches",
            instead: "go on in one of them or in another chat",
        });
    }
    let forked =
        BranchForked { branch, parent: point.parent, after: point.after, title: title.clone() };
    let opened = BranchOpened {
        branch,
        chat: state.id,
        project: state.project,
        fork: Some(point),
        title: title.clone(),
    };
    let mut events = vec![opened.into()];
    events.extend(own);
    let key = BranchKey { chat: state.id, branch };
    let parent = Check { stream: point.parent.stream(state.id), expected: Expectation::Exists };
    Ok(Decision {
        events: vec![forked.into()],
        others: vec![Write::Branch { key, expected: Expectation::NoStream, events }],
        checks: vec![parent],
        effects: vec![],
    })
}

/// Finds the message in the history that `chain` is, from its head to the root, and refuses one
/// that stands between a model's tool calls and their results.
fn find(
    chain: &[Arc<BranchState>],
    branch: BranchId,
    from: Option<MessageId>,
) -> Result<ForkPoint, Refusal> {
    let Some(first) = chain.first() else {
        return Err(Refusal::NotFound { what: "branch", id: branch.0 });
    };
    let Some(wanted) = from.or_else(|| first.head()) else {
        return Ok(ForkPoint { parent: first.id, own_messages: 0, after: None });
    };
    let (link, shared, at) = locate(chain, wanted)?;
    if shared.get(at).is_some_and(|message| message.open_calls > 0) {
        let nearest = nearest(shared, at).or(link.fork.and_then(|fork| fork.after));
        let nearest = nearest.map(|id| id.0);
        return Err(Refusal::SeparatesToolCalls { message: wanted.0, nearest });
    }
    Ok(point_at(link, at, wanted))
}

/// The fork point right after a message, wherever in the history it is. It names the branch that
/// *wrote* the message, so that chains stay as short as they can be.
pub(crate) fn point(chain: &[Arc<BranchState>], after: MessageId) -> Result<ForkPoint, Refusal> {
    let (link, _, at) = locate(chain, after)?;
    Ok(point_at(link, at, after))
}

fn point_at(link: &BranchState, at: usize, after: MessageId) -> ForkPoint {
    ForkPoint { parent: link.id, own_messages: at as u64 + 1, after: Some(after) }
}

fn locate(
    chain: &[Arc<BranchState>],
    wanted: MessageId,
) -> Result<(&BranchState, &[MessageRef], usize), Refusal> {
    let mut places = shared_parts(chain).filter_map(|(link, shared)| {
        let at = shared.iter().position(|message| message.id == wanted)?;
        Some((link, shared, at))
    });
    let not_found = Refusal::NotFound { what: "message in this branch's history", id: wanted.0 };
    places.next().ok_or(not_found)
}

/// Each branch of the chain, with those of its own messages that belong to the history.
fn shared_parts(chain: &[Arc<BranchState>]) -> impl Iterator<Item = (&BranchState, &[MessageRef])> {
    let mut limit = usize::MAX;
    chain.iter().map(move |link| {
        let count = link.messages.len().min(limit);
        limit =
            link.fork.map_or(0, |fork| usize::try_from(fork.own_messages).unwrap_or(usize::MAX));
        (link.as_ref(), link.messages.get(..count).unwrap_or_default())
    })
}

/// The message nearest to place `at` after which no call is open; an earlier one before a later.
fn nearest(messages: &[MessageRef], at: usize) -> Option<MessageId> {
    let closed = messages.iter().enumerate().filter(|(_, message)| message.open_calls == 0);
    closed.min_by_key(|(place, _)| place.abs_diff(at)).map(|(_, message)| message.id)
}
