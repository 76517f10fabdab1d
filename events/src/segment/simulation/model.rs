//! What a log must hold: the smallest thing that can be compared with it.

use std::collections::HashMap;

use bytes::Bytes;

use crate::log::{AppendError, Commit, Receipt};
use crate::{EventType, Fingerprint, OperationId, Position, Revision, StreamId};

/// The log as it must be.
#[derive(Clone, Default)]
pub(super) struct Model {
    pub events: Vec<ModelEvent>,
    pub revisions: HashMap<StreamId, Revision>,
    pub operations: HashMap<OperationId, (Fingerprint, Receipt)>,
    /// In the order they were written.
    pub order: Vec<OperationId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelEvent {
    pub stream: StreamId,
    pub revision: Revision,
    pub operation: OperationId,
    pub event_type: EventType,
    pub payload: Bytes,
}

/// What the model expects of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Written,
    Replayed,
    Reused,
    Conflict { stream: StreamId, actual: Revision },
}

impl Model {
    pub fn head(&self) -> Position {
        Position(self.events.len() as u64)
    }

    pub fn revision(&self, stream: StreamId) -> Revision {
        self.revisions.get(&stream).copied().unwrap_or_default()
    }

    /// What an append must answer now.
    pub fn expect(&self, commit: &Commit) -> Expected {
        if let Some((fingerprint, _)) = self.operations.get(&commit.operation) {
            return match *fingerprint == commit.fingerprint {
                true => Expected::Replayed,
                false => Expected::Reused,
            };
        }
        let appends = commit.appends.iter().map(|append| (append.stream, append.expected));
        let checks = commit.checks.iter().map(|check| (check.stream, check.expected));
        for (stream, expected) in appends.chain(checks) {
            let actual = self.revision(stream);
            if !expected.holds(actual) {
                return Expected::Conflict { stream, actual };
            }
        }
        Expected::Written
    }

    /// Writes a commit that is expected to be written.
    pub fn write(&mut self, commit: &Commit) {
        let mut streams = Vec::new();
        let mut events = 0;
        for append in &commit.appends {
            for event in &append.events {
                let revision = self.revision(append.stream).next();
                self.revisions.insert(append.stream, revision);
                self.events.push(ModelEvent {
                    stream: append.stream,
                    revision,
                    operation: commit.operation,
                    event_type: event.event_type,
                    payload: event.payload.clone(),
                });
                events += 1;
            }
            streams.push((append.stream, self.revision(append.stream)));
        }
        let receipt = Receipt {
            operation: commit.operation,
            fingerprint: commit.fingerprint,
            time: crate::Timestamp::default(),
            position: self.head(),
            events,
            streams,
            replayed: false,
        };
        self.operations.insert(commit.operation, (commit.fingerprint, receipt));
        self.order.push(commit.operation);
    }

    /// Whether an answer is the one expected; else what is wrong with it.
    pub fn compare(
        &self,
        commit: &Commit,
        expected: &Expected,
        answer: &Result<Receipt, AppendError>,
    ) -> Result<(), String> {
        let right = match (expected, answer) {
            (Expected::Written | Expected::Replayed, Ok(receipt)) => {
                let replayed = *expected == Expected::Replayed;
                self.same_receipt(commit.operation, receipt) && receipt.replayed == replayed
            }
            (Expected::Reused, Err(AppendError::OperationReused { operation })) => {
                *operation == commit.operation
            }
            (
                Expected::Conflict { stream, actual },
                Err(AppendError::Conflict { stream: named, actual: told, .. }),
            ) => named == stream && told == actual,
            _ => false,
        };
        if right {
            return Ok(());
        }
        Err(format!("operation {} was answered {answer:?}, not {expected:?}", commit.operation))
    }

    /// Whether a receipt is that of an operation in all but its time.
    pub fn same_receipt(&self, operation: OperationId, receipt: &Receipt) -> bool {
        let known = self.operations.get(&operation);
        known.is_some_and(|(fingerprint, known)| {
            receipt.operation == operation
                && receipt.fingerprint == *fingerprint
                && receipt.position == known.position
                && receipt.events == known.events
                && receipt.streams == known.streams
        })
    }
}
