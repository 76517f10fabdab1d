//! The read model of chats, with their branches and messages: in one tree, since they are read
//! together and one event changes several of them.

mod delete;
mod gone;
mod read;
mod waiting;

pub(crate) use read::Chats;
use scripta_events::codec;
use scripta_events::domain::{
    BRANCH, BranchEvent, BranchId, BranchOpened, CHAT, ChatCreated, ChatEvent, ChatId, ForkPoint,
    Message, MessageId, PROJECT, ProjectId, RunId, SecurityDocument, Sender, TurnOutcome,
};
use scripta_events::log::Recorded;
use scripta_events::{Position, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::keys::Key;
use super::{Model, inconsistent};
use crate::follower::ApplyError;
use crate::store::Batch;
use crate::{BranchRow, BranchStatus, ChatRow, MessageRow, QueryError};

/// `c` chat -> [`ChatRow`].
fn chat_key(id: ChatId) -> Vec<u8> {
    Key::of(b'c').id(id.0).done()
}

/// `b` branch -> [`BranchRow`]; none for a first branch that has no event but its opening, whose row
/// its chat's says.
fn branch_key(id: BranchId) -> Vec<u8> {
    Key::of(b'b').id(id.0).done()
}

/// `o` chat, position of its opening -> branch: a chat's branches in their order, but the first,
/// whose id is the chat's.
fn opened_key(chat: ChatId, opened: Position) -> Vec<u8> {
    Key::of(b'o').id(chat.0).rising(opened.0).done()
}

/// `m` branch, number among its own from 1 -> [`MessageRow`].
fn message_key(branch: BranchId, number: u64) -> Vec<u8> {
    Key::of(b'm').id(branch.0).rising(number).done()
}

/// `i` message -> [`Place`].
fn place_key(id: MessageId) -> Vec<u8> {
    Key::of(b'i').id(id.0).done()
}

/// `q` branch, message -> [`Message`]: what waits.
fn queued_key(branch: BranchId, id: MessageId) -> Vec<u8> {
    Key::of(b'q').id(branch.0).id(id.0).done()
}

/// `w` chat, branch -> nothing: idle branches with a queue, which a restart wakes.
fn waiting_key(chat: ChatId, branch: BranchId) -> Vec<u8> {
    Key::of(b'w').id(chat.0).id(branch.0).done()
}

/// `h` chat, branch -> nothing: branches that wait for a person.
fn held_key(chat: ChatId, branch: BranchId) -> Vec<u8> {
    Key::of(b'h').id(chat.0).id(branch.0).done()
}

/// `p` project -> nothing: the listing of its chats, pinned ones first, then by last activity,
/// newest first; and, across projects, of all chats.
fn listing_key(row: &ChatRow) -> Vec<u8> {
    listing(row.project).pinned(row.pinned).newest(row.last_activity).id(row.id.0).done()
}

/// The beginning of a listing's keys.
fn listing(project: ProjectId) -> Key {
    Key::of(LISTING).id(project.0)
}

/// The kind of the listings' keys.
const LISTING: u8 = b'p';

/// `t` project -> how many chats it has.
fn total_key(project: ProjectId) -> Vec<u8> {
    Key::of(b't').id(project.0).done()
}

/// `x` project -> nothing: it was deleted.
fn gone_key(project: ProjectId) -> Vec<u8> {
    Key::of(b'x').id(project.0).done()
}

/// `s` project, chat -> nothing: chats of a deleted project that have no event yet that deletes
/// them.
fn unswept_key(project: ProjectId, chat: ChatId) -> Vec<u8> {
    Key::of(b's').id(project.0).id(chat.0).done()
}

/// Where a message is kept.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Place {
    branch: BranchId,
    number: u64,
}

/// What events make of chats, branches and messages.
pub(crate) struct ChatModel;

impl Model for ChatModel {
    const NAME: &'static str = "chats";
    const VERSION: u32 = 7;
    const ACROSS: Option<u8> = Some(LISTING);

    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
        match event.stream.category {
            CHAT => apply_chat(batch, event),
            BRANCH => apply_branch(batch, event),
            PROJECT => delete::project(batch, event),
            _ => Ok(()),
        }
    }
}

fn apply_chat(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
    let decoded: ChatEvent = codec::decode(event)?;
    if let Some(fact) = decoded.security() {
        return change_chat(batch, event, event.stream.id, |row| {
            row.security.apply(fact);
            row.revision = row.revision.saturating_add(1);
        });
    }
    match decoded {
        // Folded above.
        ChatEvent::SecuritySet(_)
        | ChatEvent::ToolPolicySet(_)
        | ChatEvent::DirectoryGrantAdded(_)
        | ChatEvent::DirectoryGrantRemoved(_) => Ok(()),
        ChatEvent::ChatCreated(created) => create_chat(batch, event, created),
        ChatEvent::ChatRenamed(renamed) => change_chat(batch, event, event.stream.id, |row| {
            row.title = renamed.title;
            row.revision = row.revision.saturating_add(1);
        }),
        // The branch's own first event tells the rest; its title and fork stand there too.
        ChatEvent::BranchForked(_) => change_chat(batch, event, event.stream.id, |_| {}),
        ChatEvent::ChatPinned(pin) => change_chat(batch, event, event.stream.id, |row| {
            row.pinned = pin.pinned;
            row.revision = row.revision.saturating_add(1);
        }),
        ChatEvent::ChatEndpointSet(set) => change_chat(batch, event, event.stream.id, |row| {
            row.connection = Some(set.connection);
            row.model = set.model;
            row.revision = row.revision.saturating_add(1);
        }),
        ChatEvent::BranchRenamed(renamed) => {
            let mut row = opened(batch, event, renamed.branch)?;
            row.title = Some(renamed.title);
            batch.put(branch_key(row.id), row);
            change_chat(batch, event, event.stream.id, |_| {})
        }
        ChatEvent::BranchDeleted(deleted) => delete::branch(batch, event, deleted.branch),
        ChatEvent::ChatDeleted(_) => delete::chat(batch, event),
    }
}

/// The row of a branch, if there is such a one.
fn known(batch: &Batch<'_>, branch: BranchId) -> Result<Option<BranchRow>, QueryError> {
    if let Some(row) = batch.get::<BranchRow>(&branch_key(branch))? {
        return Ok(Some(row));
    }
    let chat = batch.get::<ChatRow>(&chat_key(ChatId(branch.0)))?;
    Ok(chat.as_ref().map(untouched))
}

/// The first branch of a chat, with no event but its opening.
fn untouched(chat: &ChatRow) -> BranchRow {
    new_branch(chat.created_at, chat.id.first_branch(), chat.id, chat.project)
}

/// The row of a branch that was opened before.
fn opened(batch: &Batch<'_>, event: &Recorded, branch: BranchId) -> Result<BranchRow, ApplyError> {
    let row = known(batch, branch)?;
    row.ok_or_else(|| inconsistent(event, format!("branch {branch} was never opened")))
}

/// Makes the rows of a chat and of its first branch, which is there as soon as the chat is.
fn create_chat(
    batch: &mut Batch<'_>,
    event: &Recorded,
    created: ChatCreated,
) -> Result<(), ApplyError> {
    let row = ChatRow {
        id: created.chat,
        project: created.project,
        title: created.title,
        connection: created.connection,
        model: created.model,
        pinned: false,
        source: created.source,
        security: SecurityDocument::default(),
        revision: 1,
        created_at: event.time,
        last_activity: event.time,
        branches: 1,
        running: 0,
        messages: 0,
        position: event.position,
        deleted: batch.get::<()>(&gone_key(created.project))?.is_some(),
    };
    if row.deleted {
        // Its project was deleted while it was being made.
        batch.put(unswept_key(row.project, row.id), ());
    } else {
        batch.add(listing_key(&row), ());
        let total = batch.get::<u64>(&total_key(row.project))?.unwrap_or(0);
        batch.put(total_key(row.project), total.saturating_add(1));
    }
    batch.put(chat_key(row.id), row);
    Ok(())
}

fn apply_branch(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
    let id = BranchId(event.stream.id);
    let known = known(batch, id)?;
    let decoded = match (codec::decode(event)?, known) {
        (BranchEvent::BranchOpened(opened), known) => return open(batch, event, opened, known),
        (decoded, Some(row)) => (decoded, row),
        (_, None) => return Err(inconsistent(event, format!("branch {id} was never opened"))),
    };
    let (decoded, row) = decoded;
    let change = Change { event, waited: waits(&row), held: row.attention().is_some(), row };
    match decoded {
        // Handled before a row is needed.
        BranchEvent::BranchOpened(_) => Ok(()),
        BranchEvent::MessageQueued(queued) => change.queue(batch, queued.message, queued.first),
        BranchEvent::MessageAppended(appended) => change.append(batch, appended.message),
        BranchEvent::TurnStarted(started) => change.start_turn(batch, started.run, started.message),
        BranchEvent::TurnResumed(resumed) => change.start_turn(batch, resumed.run, resumed.message),
        BranchEvent::TurnEnded(ended) => change.end_turn(batch, ended.run, ended.outcome),
        other => change.wait(batch, other),
    }
}

/// Opens a branch. A chat's first branch is there since the chat was made.
fn open(
    batch: &mut Batch<'_>,
    event: &Recorded,
    opened: BranchOpened,
    known: Option<BranchRow>,
) -> Result<(), ApplyError> {
    match (opened.fork, known) {
        (None, Some(mut row)) if row.own == 0 && row.fork.is_none() => {
            if opened.title.is_some() {
                row.title = opened.title;
                batch.put(branch_key(row.id), row);
            }
            change_chat(batch, event, event.stream.root.0, |_| {})
        }
        (_, Some(row)) => Err(inconsistent(event, format!("branch {} is opened again", row.id))),
        (fork, None) => {
            let mut row = new_branch(event.time, opened.branch, opened.chat, opened.project);
            row.title = opened.title;
            row.fork = fork;
            if let Some(fork) = fork {
                row.inherited = inherited(batch, event, &fork)?;
                row.read = row.inherited;
                row.head = fork.after;
            }
            batch.put(opened_key(row.chat, event.position), row.id);
            batch.put(branch_key(row.id), row);
            change_chat(batch, event, event.stream.root.0, |chat| {
                chat.branches = chat.branches.saturating_add(1);
            })
        }
    }
}

/// How many messages a fork shares.
fn inherited(batch: &Batch<'_>, event: &Recorded, fork: &ForkPoint) -> Result<u64, ApplyError> {
    if fork.after.is_none() {
        return Ok(0);
    }
    let parent = fork.parent;
    let row = opened(batch, event, parent)?;
    if fork.own_messages > row.own {
        let (wanted, own) = (fork.own_messages, row.own);
        let reason = format!("it shares {wanted} messages of {parent}, which has {own}");
        return Err(inconsistent(event, reason));
    }
    Ok(row.inherited.saturating_add(fork.own_messages))
}

fn new_branch(opened_at: Timestamp, id: BranchId, chat: ChatId, project: ProjectId) -> BranchRow {
    BranchRow {
        id,
        chat,
        project,
        title: None,
        fork: None,
        created_at: opened_at,
        last_activity: opened_at,
        inherited: 0,
        own: 0,
        head: None,
        queue: Vec::new(),
        asides: Vec::new(),
        needs_rebase: None,
        skipped: false,
        read: 0,
        turn: None,
        last: None,
        deleted: None,
    }
}

/// Changes the row of a chat, and its place in the listings if that moved.
fn change_chat(
    batch: &mut Batch<'_>,
    event: &Recorded,
    id: Uuid,
    change: impl FnOnce(&mut ChatRow),
) -> Result<(), ApplyError> {
    let id = ChatId(id);
    let Some(mut row) = batch.get::<ChatRow>(&chat_key(id))? else {
        return Err(inconsistent(event, format!("chat {id} was never made")));
    };
    if row.deleted {
        // What ends its turns in the same commit; nobody sees it.
        return Ok(());
    }
    let before = (row.pinned, row.last_activity);
    let listed = listing_key(&row);
    change(&mut row);
    row.position = event.position;
    if (row.pinned, row.last_activity) != before {
        batch.remove(listed);
        batch.add(listing_key(&row), ());
    }
    batch.put(chat_key(id), row);
    Ok(())
}

/// A change of a branch by one event.
struct Change<'a> {
    event: &'a Recorded,
    row: BranchRow,
    /// Whether a restart would have woken it before this event.
    waited: bool,
    /// Whether it waited for a person before this event.
    held: bool,
}

impl Change<'_> {
    fn queue(
        mut self,
        batch: &mut Batch<'_>,
        message: Message,
        first: bool,
    ) -> Result<(), ApplyError> {
        if !self.row.queue.contains(&message.id) {
            let place = if first { 0 } else { self.row.queue.len() };
            self.row.queue.insert(place, message.id);
        }
        let time = self.activity(&message);
        batch.put(queued_key(self.row.id, message.id), message);
        self.row.last_activity = self.row.last_activity.max(time);
        self.finish(batch, |chat| chat.last_activity = chat.last_activity.max(time))
    }

    fn append(mut self, batch: &mut Batch<'_>, message: Message) -> Result<(), ApplyError> {
        let id = message.id;
        let row = &mut self.row;
        let all_read = row.unread() == 0;
        row.own = row.own.saturating_add(1);
        row.asides.retain(|aside| *aside != id);
        if all_read && is_known(&message) {
            row.read = row.chain_length();
        }
        if row.queue.contains(&id) {
            row.queue.retain(|queued| *queued != id);
            batch.remove(queued_key(row.id, id));
        }
        let stored = MessageRow {
            project: row.project,
            chat: row.chat,
            branch: row.id,
            parent: row.head.replace(id),
            place: row.chain_length(),
            position: self.event.position,
            message,
        };
        let message_key = message_key(row.id, row.own);
        batch.put(place_key(id), Place { branch: row.id, number: row.own });
        let time = self.activity(&stored.message);
        batch.put(message_key, stored);
        let row = &mut self.row;
        row.last_activity = moved(row.own == 1, row.last_activity, time);
        if row.deleted.is_some() {
            return self.finish(batch, |_| {});
        }
        self.finish(batch, |chat| {
            chat.messages = chat.messages.saturating_add(1);
            chat.last_activity = moved(chat.messages == 1, chat.last_activity, time);
        })
    }

    fn start_turn(
        mut self,
        batch: &mut Batch<'_>,
        run: RunId,
        message: MessageId,
    ) -> Result<(), ApplyError> {
        if let Some((going, _)) = self.row.turn {
            return Err(inconsistent(self.event, format!("the turn of run {going} is going")));
        }
        self.row.turn = Some((run, message));
        self.row.skipped = false;
        self.finish(batch, |chat| chat.running = chat.running.saturating_add(1))
    }

    fn end_turn(
        mut self,
        batch: &mut Batch<'_>,
        run: RunId,
        outcome: TurnOutcome,
    ) -> Result<(), ApplyError> {
        if self.row.turn.is_none_or(|(going, _)| going != run) {
            return Err(inconsistent(self.event, format!("no turn of run {run} is going")));
        }
        self.row.turn = None;
        self.row.last = Some((run, outcome));
        self.finish(batch, |chat| chat.running = chat.running.saturating_sub(1))
    }

    /// When a message was made; an import's clock is not believed beyond ours.
    fn activity(&self, message: &Message) -> Timestamp {
        message.created_at.min(self.event.time)
    }

    /// Writes the branch and its chat.
    fn finish(
        mut self,
        batch: &mut Batch<'_>,
        change: impl FnOnce(&mut ChatRow),
    ) -> Result<(), ApplyError> {
        let row = &mut self.row;
        let waiting = waiting_key(row.chat, row.id);
        match (self.waited, waits(row)) {
            (false, true) => batch.add(waiting, ()),
            (true, false) => batch.remove(waiting),
            (true, true) | (false, false) => {}
        }
        let held = held_key(row.chat, row.id);
        match (self.held, row.attention().is_some()) {
            (false, true) => batch.add(held, ()),
            (true, false) => batch.remove(held),
            (true, true) | (false, false) => {}
        }
        batch.put(branch_key(row.id), self.row);
        change_chat(batch, self.event, self.event.stream.root.0, change)
    }
}

/// Whether it is idle with a queue, or without a turn that reads its asides, so that a restart
/// has to wake it.
fn waits(row: &BranchRow) -> bool {
    let queued = !row.queue.is_empty() && row.status() == BranchStatus::Idle;
    queued || (!row.asides.is_empty() && row.turn.is_none())
}

/// Whether the person has no need to read it: an import, or what they sent themselves.
fn is_known(message: &Message) -> bool {
    let imported = message.run.is_none() && message.sender.is_none();
    imported || message.sender == Some(Sender::User)
}

/// The activity after a message: the first one's time stands for itself, so that an imported
/// conversation is as old as its messages.
fn moved(first: bool, before: Timestamp, time: Timestamp) -> Timestamp {
    if first { time } else { before.max(time) }
}
