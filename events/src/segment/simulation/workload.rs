//! What the simulated writers send.

use bytes::Bytes;
use fastrand::Rng;
use uuid::Uuid;

use super::model::Model;
use crate::log::{Append, Check, Commit, EventData, Expectation};
use crate::{Category, EventType, Fingerprint, OperationId, Revision, RootId, StreamId};

/// How many streams a log's writers use, over two roots.
const STREAMS: usize = 6;

/// The largest sizes of events, in bytes: within a sector, around one, and over several.
const EVENT_SIZES: [usize; 4] = [16, 200, 600, 2_000];

/// Makes commits from a seed.
pub(super) struct Workload {
    rng: Rng,
    streams: Vec<StreamId>,
    made: u64,
}

impl Workload {
    pub fn new(rng: &mut Rng) -> Workload {
        let mut rng = rng.fork();
        let roots = [RootId(Uuid::from_u128(rng.u128(..))), RootId(Uuid::from_u128(rng.u128(..)))];
        let streams = roots.iter().cycle().take(STREAMS).map(|root| StreamId {
            category: Category(rng.u16(1..4)),
            root: *root,
            id: Uuid::from_u128(rng.u128(..)),
        });
        let streams = streams.collect();
        Workload { rng, streams, made: 0 }
    }

    pub fn streams(&self) -> &[StreamId] {
        &self.streams
    }

    /// A commit of no, one or two streams of one root, with expectations that mostly hold.
    pub fn commit(&mut self, model: &Model) -> Commit {
        self.made += 1;
        let chosen = self.streams.get(self.rng.usize(..STREAMS));
        let root = chosen.map_or(RootId(Uuid::nil()), |stream| stream.root);
        let mut own = self.streams.clone();
        own.retain(|stream| stream.root == root);
        self.rng.shuffle(&mut own);
        let appended = self.rng.usize(..=2.min(own.len()));
        let checked = self.rng.usize(..=1);
        let mut appends = Vec::with_capacity(appended);
        for stream in own.iter().take(appended).copied() {
            let expected = self.expectation(model.revision(stream));
            appends.push(Append { stream, expected, events: self.events() });
        }
        let mut checks = Vec::with_capacity(checked);
        for stream in own.iter().skip(appended).take(checked).copied() {
            checks.push(Check { stream, expected: self.expectation(model.revision(stream)) });
        }
        Commit {
            root,
            operation: OperationId(Uuid::from_u128(self.rng.u128(..))),
            fingerprint: Fingerprint::of(&self.made.to_le_bytes()),
            appends,
            checks,
            meta: Bytes::from(vec![9; self.rng.usize(..30)]),
        }
    }

    fn expectation(&mut self, actual: Revision) -> Expectation {
        match self.rng.u8(..8) {
            0 => Expectation::NoStream,
            1 => Expectation::Exists,
            2 => Expectation::Exactly(actual.next()),
            3 | 4 => Expectation::Exactly(actual),
            _ => Expectation::Any,
        }
    }

    fn events(&mut self) -> Vec<EventData> {
        let count = self.rng.usize(..4);
        (0..count).map(|_| self.event()).collect()
    }

    fn event(&mut self) -> EventData {
        let largest = self.rng.choice(EVENT_SIZES).unwrap_or(1);
        let size = self.rng.usize(..largest);
        let mut payload = vec![0; size];
        self.rng.fill(&mut payload);
        EventData {
            event_type: EventType(self.rng.u16(..9)),
            version: 1,
            codec: 0,
            payload: payload.into(),
        }
    }
}
