//! The read model of runs.

use scripta_events::codec;
use scripta_events::domain::{
    BranchId, CHAT, ChatEvent, ChatId, PROJECT, ProjectEvent, ProjectId, RUN, RunEvent, RunId,
    RunStarted, ToolCall, Usage,
};
use scripta_events::log::Recorded;

use super::keys::{Key, first_and_last_id, last_id, last_ids};
use super::{Model, inconsistent};
use crate::follower::ApplyError;
use crate::store::{Batch, Store};
use crate::{CurrentCall, QueryError, RunRow, RunStatus};

/// `r` run -> [`RunRow`].
fn row_key(id: RunId) -> Vec<u8> {
    Key::of(b'r').id(id.0).done()
}

/// `u` chat, run -> nothing: runs that are not at rest.
fn unfinished_key(chat: ChatId, id: RunId) -> Vec<u8> {
    Key::of(b'u').id(chat.0).id(id.0).done()
}

/// The listings, newest first: `a` of all; `p`, `c` and `b` of a project, a chat, a branch.
fn listing_keys(row: &RunRow) -> [Vec<u8>; 4] {
    let place = row.started_position.0;
    let id = row.id.0;
    [
        Key::of(b'a').falling(place).id(id).done(),
        Key::of(b'p').id(row.project.0).falling(place).id(id).done(),
        Key::of(b'c').id(row.chat.0).falling(place).id(id).done(),
        Key::of(b'b').id(row.branch.0).falling(place).id(id).done(),
    ]
}

/// What events make of runs.
pub(crate) struct RunModel;

impl Model for RunModel {
    const NAME: &'static str = "runs";
    const VERSION: u32 = 3;

    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
        match event.stream.category {
            RUN => {}
            CHAT | PROJECT => return delete(batch, event),
            _ => return Ok(()),
        }
        let id = RunId(event.stream.id);
        let decoded = match codec::decode(event)? {
            RunEvent::RunStarted(started) => {
                start(batch, event, started);
                return Ok(());
            }
            other => other,
        };
        let Some(mut row) = batch.get::<RunRow>(&row_key(id))? else {
            return Err(inconsistent(event, format!("run {id} was never started")));
        };
        evolve(&mut row, decoded);
        row.updated_at = event.time;
        row.position = event.position;
        if row.status.is_at_rest() && row.ended_at.is_none() {
            row.ended_at = Some(event.time);
            row.call = None;
            batch.remove(unfinished_key(row.chat, id));
        }
        if !row.status.is_at_rest() && row.ended_at.take().is_some() {
            batch.add(unfinished_key(row.chat, id), ());
        }
        batch.put(row_key(id), row);
        Ok(())
    }
}

/// Takes the runs of what was deleted out of the listings. Their rows stay, to tell an id that is
/// gone from one that never was.
fn delete(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
    let (owner, id) = if event.stream.category == PROJECT {
        match codec::decode(event)? {
            ProjectEvent::ProjectDeleted(_) => (b'p', event.stream.id),
            _ => return Ok(()),
        }
    } else {
        match codec::decode(event)? {
            ChatEvent::ChatDeleted(_) => (b'c', event.stream.id),
            ChatEvent::BranchDeleted(deleted) => (b'b', deleted.branch.0),
            _ => return Ok(()),
        }
    };
    for key in batch.keys(&Key::of(owner).id(id).done())? {
        let run = last_id(&key).map(RunId);
        let run = run.ok_or_else(|| inconsistent(event, "a run's key is too short"))?;
        let Some(mut row) = batch.get::<RunRow>(&row_key(run))? else { continue };
        listing_keys(&row).into_iter().for_each(|key| batch.remove(key));
        batch.remove(unfinished_key(row.chat, run));
        row.deleted = true;
        batch.put(row_key(run), row);
    }
    Ok(())
}

fn start(batch: &mut Batch<'_>, event: &Recorded, started: RunStarted) {
    let row = RunRow {
        id: started.run,
        project: started.project,
        chat: started.chat,
        branch: started.branch,
        message: started.message,
        connection: started.connection,
        model: started.model,
        submitter: started.submitter,
        interactive: started.interactive,
        status: RunStatus::Running,
        tools: 0,
        step: 0,
        calls: 0,
        calls_finished: 0,
        call: None,
        step_calls: Vec::new(),
        usage: Usage::default(),
        started_at: event.time,
        updated_at: event.time,
        ended_at: None,
        started_position: event.position,
        position: event.position,
        deleted: false,
    };
    for key in listing_keys(&row) {
        batch.add(key, ());
    }
    batch.add(unfinished_key(row.chat, row.id), ());
    batch.put(row_key(row.id), row);
}

fn evolve(row: &mut RunRow, event: RunEvent) {
    match event {
        // Handled before a row exists.
        RunEvent::RunStarted(_) | RunEvent::RunPickedUp(_) => {}
        RunEvent::ToolsetRecorded(toolset) => row.tools = toolset.tools.len() as u64,
        RunEvent::ModelStepStarted(started) => {
            row.step = started.step;
            (row.calls, row.calls_finished) = (0, 0);
            row.step_calls = Vec::new();
            row.call = None;
        }
        RunEvent::ModelAnswered(answered) => {
            row.step = answered.step;
            row.step_calls = answered.calls.into_iter().map(current_call).collect();
            row.calls = u32::try_from(row.step_calls.len()).unwrap_or(u32::MAX);
            row.calls_finished = 0;
            if let Some(usage) = answered.usage {
                row.usage.input = sum(row.usage.input, usage.input);
                row.usage.output = sum(row.usage.output, usage.output);
            }
        }
        RunEvent::ToolCallStarted(started) => {
            let index = usize::try_from(started.index).unwrap_or(usize::MAX);
            row.call = row.step_calls.get(index).cloned();
        }
        RunEvent::ToolCallFinished(_) => {
            row.calls_finished = row.calls_finished.saturating_add(1);
            row.call = None;
        }
        RunEvent::RunCompleted(_) => row.status = RunStatus::Completed,
        RunEvent::RunStopped(_) => row.status = RunStatus::Stopped,
        RunEvent::RunFailed(failed) => row.status = RunStatus::Failed { reason: failed.reason },
        RunEvent::RunResumed(resumed) => {
            row.status = RunStatus::Running;
            row.connection = resumed.connection;
            row.model = resumed.model;
        }
    }
}

fn current_call(call: ToolCall) -> CurrentCall {
    CurrentCall { id: call.id, server: call.server, tool: call.tool }
}

/// The sum of what is known; `None` while nothing is.
fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.saturating_add(right)),
        (known, None) | (None, known) => known,
    }
}

/// Reads of the rows.
#[derive(Clone)]
pub(crate) struct Runs(pub(crate) Store);

impl Runs {
    pub(crate) fn get(&self, id: RunId) -> Result<Option<RunRow>, QueryError> {
        Ok(self.0.get::<RunRow>(&row_key(id))?.filter(|row| !row.deleted))
    }

    /// Whether it was there and was deleted.
    pub(crate) fn is_gone(&self, id: RunId) -> Result<bool, QueryError> {
        Ok(self.0.get::<RunRow>(&row_key(id))?.is_some_and(|row| row.deleted))
    }

    /// The runs that belong to all that is named, newest first.
    pub(crate) fn ids(
        &self,
        project: Option<ProjectId>,
        chat: Option<ChatId>,
        branch: Option<BranchId>,
    ) -> Result<Vec<RunId>, QueryError> {
        // The narrowest listing; what is wider is checked on the rows.
        let (prefix, check) = match (project, chat, branch) {
            (_, _, Some(branch)) => {
                (Key::of(b'b').id(branch.0).done(), project.is_some() || chat.is_some())
            }
            (_, Some(chat), None) => (Key::of(b'c').id(chat.0).done(), project.is_some()),
            (Some(project), None, None) => (Key::of(b'p').id(project.0).done(), false),
            (None, None, None) => (Key::of(b'a').done(), false),
        };
        let mut ids = Vec::new();
        for id in last_ids(&self.0, &prefix, "a run's") {
            let id = RunId(id?);
            let belongs = |row: &RunRow| {
                project.is_none_or(|wanted| row.project == wanted)
                    && chat.is_none_or(|wanted| row.chat == wanted)
            };
            if !check || self.get(id)?.as_ref().is_some_and(belongs) {
                ids.push(id);
            }
        }
        Ok(ids)
    }

    /// The runs that are not at rest.
    pub(crate) fn unfinished(&self) -> Result<Vec<(ChatId, RunId)>, QueryError> {
        let keys = self.0.keys(b"u");
        keys.map(|key| {
            let key = key?;
            let both = first_and_last_id(&key);
            let (chat, run) = both.ok_or_else(|| self.0.malformed("a run's key is too short"))?;
            Ok((ChatId(chat), RunId(run)))
        })
        .collect()
    }
}
