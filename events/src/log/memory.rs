//! A log in memory, for tests and for programs that want the contract without the disk.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;
use uuid::Uuid;

use super::{AppendError, Commit, EventLog, Filter, ReadError, Receipt, Recorded, check_limits};
use crate::{LogId, OperationId, Position, Revision, StreamId, Timestamp};

/// An [`EventLog`] that lives as long as its last clone.
#[derive(Clone)]
pub struct MemoryLog {
    shared: Arc<Shared>,
}

struct Shared {
    id: LogId,
    state: Mutex<State>,
    head: watch::Sender<Position>,
}

#[derive(Default)]
struct State {
    events: Vec<Recorded>,
    streams: HashMap<StreamId, Vec<Position>>,
    receipts: HashMap<OperationId, Receipt>,
    time: Timestamp,
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> MemoryLog {
        let shared = Shared {
            id: LogId(Uuid::now_v7()),
            state: Mutex::default(),
            head: watch::Sender::new(Position::START),
        };
        MemoryLog { shared: Arc::new(shared) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is never left half changed: a poisoned lock holds a whole one.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_now(&self, commit: Commit) -> Result<Receipt, AppendError> {
        let mut state = self.state();
        if let Some(first) = state.receipts.get(&commit.operation) {
            if first.fingerprint != commit.fingerprint {
                return Err(AppendError::OperationReused { operation: commit.operation });
            }
            return Ok(Receipt { replayed: true, ..first.clone() });
        }
        state.check_expectations(&commit)?;
        check_limits(&commit)?;
        let receipt = state.write(commit);
        self.shared.head.send_replace(receipt.position);
        Ok(receipt)
    }

    fn read(&self, position: Position) -> Result<Recorded, ReadError> {
        let state = self.state();
        let found = position.0.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        let recorded = found.and_then(|at| state.events.get(at)).cloned();
        recorded.ok_or(ReadError::NoSuchPosition { position, head: state.head() })
    }
}

impl Default for MemoryLog {
    fn default() -> MemoryLog {
        MemoryLog::new()
    }
}

impl State {
    fn head(&self) -> Position {
        Position(self.events.len() as u64)
    }

    fn revision(&self, stream: StreamId) -> Revision {
        Revision(self.streams.get(&stream).map_or(0, |places| places.len() as u64))
    }

    fn check_expectations(&self, commit: &Commit) -> Result<(), AppendError> {
        let appends = commit.appends.iter().map(|append| (append.stream, append.expected));
        let checks = commit.checks.iter().map(|check| (check.stream, check.expected));
        for (stream, expected) in appends.chain(checks) {
            let actual = self.revision(stream);
            if !expected.holds(actual) {
                return Err(AppendError::Conflict { stream, expected, actual });
            }
        }
        Ok(())
    }

    fn write(&mut self, commit: Commit) -> Receipt {
        self.time = self.time.max(Timestamp::now());
        let before = self.head();
        let mut streams = Vec::with_capacity(commit.appends.len());
        for append in commit.appends {
            let stream = append.stream;
            for event in append.events {
                let position = self.head().next();
                let places = self.streams.entry(stream).or_default();
                places.push(position);
                self.events.push(Recorded {
                    position,
                    stream,
                    revision: Revision(places.len() as u64),
                    time: self.time,
                    operation: commit.operation,
                    event_type: event.event_type,
                    version: event.version,
                    codec: event.codec,
                    meta: commit.meta.clone(),
                    payload: event.payload,
                });
            }
            streams.push((stream, self.revision(stream)));
        }
        let receipt = Receipt {
            operation: commit.operation,
            fingerprint: commit.fingerprint,
            time: self.time,
            position: self.head(),
            events: u32::try_from(self.head().0 - before.0).unwrap_or(u32::MAX),
            streams,
            replayed: false,
        };
        self.receipts.insert(receipt.operation, receipt.clone());
        receipt
    }
}

impl EventLog for MemoryLog {
    fn id(&self) -> LogId {
        self.shared.id
    }

    fn append(&self, commit: Commit) -> BoxFuture<'static, Result<Receipt, AppendError>> {
        let log = self.clone();
        Box::pin(async move { log.append_now(commit) })
    }

    fn receipt(
        &self,
        operation: OperationId,
    ) -> BoxFuture<'static, Result<Option<Receipt>, ReadError>> {
        let found = self.state().receipts.get(&operation).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn revision(&self, stream: StreamId) -> BoxFuture<'static, Result<Revision, ReadError>> {
        let revision = self.state().revision(stream);
        Box::pin(async move { Ok(revision) })
    }

    fn read_stream(
        &self,
        stream: StreamId,
        after: Revision,
    ) -> BoxStream<'static, Result<Recorded, ReadError>> {
        let skipped = usize::try_from(after.0).unwrap_or(usize::MAX);
        let places = self.state().streams.get(&stream).cloned().unwrap_or_default();
        let log = self.clone();
        let events = places.into_iter().skip(skipped).map(move |position| log.read(position));
        stream::iter(events).boxed()
    }

    fn read_at(&self, position: Position) -> BoxFuture<'static, Result<Recorded, ReadError>> {
        let result = self.read(position);
        Box::pin(async move { result })
    }

    fn read_all(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Recorded, ReadError>> {
        let reader = Follower { log: self.clone(), head: self.head(), next: after.next(), filter };
        stream::unfold(reader, |mut reader| async {
            let item = reader.step().await?;
            Some((item, reader))
        })
        .boxed()
    }

    fn head(&self) -> watch::Receiver<Position> {
        self.shared.head.subscribe()
    }
}

struct Follower {
    log: MemoryLog,
    head: watch::Receiver<Position>,
    next: Position,
    filter: Filter,
}

impl Follower {
    async fn step(&mut self) -> Option<Result<Recorded, ReadError>> {
        loop {
            let wanted = self.next;
            if self.filter.until.is_some_and(|until| wanted > until) {
                return None;
            }
            self.head.wait_for(|head| *head >= wanted).await.ok()?;
            self.next = wanted.next();
            match self.log.read(wanted) {
                Ok(event) if !self.filter.passes(event.stream.category, event.event_type) => {}
                result => return Some(result),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryLog;

    crate::event_log_conformance!(async { (MemoryLog::new(), ()) });
}
