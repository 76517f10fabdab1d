//! Commits and records as bytes; the tables stand in [`format`](super::format).

use bytes::Bytes;

use super::format::Fields;
use crate::log::{Commit, EventData, Receipt, Recorded};
use crate::{
    Category, EventType, Fingerprint, OperationId, Position, Revision, RootId, StreamId, Timestamp,
};

const HEAD_FIXED: usize = 104;
const STREAM_ENTRY: usize = 30;
/// A record's bytes before its payload.
pub(crate) const RECORD_HEADER: usize = 22;

/// A commit's head: everything but its events.
#[derive(Clone, Debug)]
pub(crate) struct CommitHead {
    pub head_length: usize,
    /// Of head and records together.
    pub length: usize,
    pub events: u32,
    pub operation: OperationId,
    pub fingerprint: Fingerprint,
    pub time: Timestamp,
    pub first: Position,
    pub streams: Vec<StreamEntry>,
    pub meta: Bytes,
}

/// One stream of a commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamEntry {
    pub stream: StreamId,
    pub before: Revision,
    pub events: u32,
}

/// An event's record.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub length: usize,
    /// Distance to the commit's first byte.
    pub back: usize,
    pub ordinal: Ordinal,
    event: EventData,
}

/// Which event of its commit a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ordinal {
    /// Of all events of the commit, from 0.
    index: u32,
    /// Which of its streams, from 0.
    stream: u32,
    /// Of the events of that stream in the commit, from 0.
    nth: u32,
}

/// Whether checksums are compared: not again where the frame's own was just compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksums {
    Compare,
    Trust,
}

/// Appends a commit's bytes to a frame's body. `before` has the revision of each of its streams.
///
/// The commit has passed [`check_limits`](crate::log::check_limits), which keeps every count
/// within its field. What comes back is where its records begin, from the commit's first byte.
pub(crate) fn encode_commit(
    body: &mut Vec<u8>,
    commit: &Commit,
    first: Position,
    time: Timestamp,
    before: &[Revision],
) -> Vec<u32> {
    let start = body.len();
    let events: usize = commit.appends.iter().map(|append| append.events.len()).sum();
    let head_length = HEAD_FIXED + STREAM_ENTRY * commit.appends.len() + commit.meta.len();
    body.extend_from_slice(&(head_length as u32).to_le_bytes());
    body.extend_from_slice(&[0; 8]);
    body.extend_from_slice(&(events as u32).to_le_bytes());
    body.extend_from_slice(commit.operation.0.as_bytes());
    body.extend_from_slice(&commit.fingerprint.0);
    body.extend_from_slice(commit.root.0.as_bytes());
    body.extend_from_slice(&time.0.to_le_bytes());
    body.extend_from_slice(&first.0.to_le_bytes());
    body.extend_from_slice(&(commit.appends.len() as u32).to_le_bytes());
    body.extend_from_slice(&(commit.meta.len() as u32).to_le_bytes());
    for (append, before) in commit.appends.iter().zip(before) {
        body.extend_from_slice(&append.stream.category.0.to_le_bytes());
        body.extend_from_slice(append.stream.id.as_bytes());
        body.extend_from_slice(&before.0.to_le_bytes());
        body.extend_from_slice(&(append.events.len() as u32).to_le_bytes());
    }
    body.extend_from_slice(&commit.meta);
    let mut records = Vec::with_capacity(events);
    for (stream, append) in commit.appends.iter().enumerate() {
        for (nth, event) in append.events.iter().enumerate() {
            let back = body.len() - start;
            encode_record(body, event, back, records.len() as u16, stream as u16, nth as u16);
            records.push(back as u32);
        }
    }
    let length = (body.len() - start) as u32;
    put(body, start + 8, &length.to_le_bytes());
    let crc = split_crc(body.get(start..start + head_length).unwrap_or_default());
    put(body, start + 4, &crc.to_le_bytes());
    records
}

fn encode_record(
    body: &mut Vec<u8>,
    event: &EventData,
    back: usize,
    index: u16,
    stream: u16,
    nth: u16,
) {
    let start = body.len();
    let length = RECORD_HEADER + event.payload.len();
    body.extend_from_slice(&(length as u32).to_le_bytes());
    body.extend_from_slice(&[0; 4]);
    body.extend_from_slice(&(back as u32).to_le_bytes());
    body.extend_from_slice(&index.to_le_bytes());
    body.extend_from_slice(&stream.to_le_bytes());
    body.extend_from_slice(&nth.to_le_bytes());
    body.extend_from_slice(&event.event_type.0.to_le_bytes());
    body.extend_from_slice(&[event.version, event.codec]);
    body.extend_from_slice(&event.payload);
    let crc = split_crc(body.get(start..).unwrap_or_default());
    put(body, start + 4, &crc.to_le_bytes());
}

/// The checksum of all but the checksum's own place, bytes 4 to 8.
fn split_crc(bytes: &[u8]) -> u32 {
    let length = crc32c::crc32c(bytes.get(..4).unwrap_or_default());
    crc32c::crc32c_append(length, bytes.get(8..).unwrap_or_default())
}

fn put(body: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = body.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

impl CommitHead {
    /// How long the head is that begins with these bytes, for a reader that must fetch it.
    pub fn peek_length(bytes: &[u8]) -> Option<usize> {
        Fields(bytes).u32().map(|length| length as usize)
    }

    /// The head in the first bytes of `bytes`, or what is wrong with them.
    pub fn decode(bytes: &Bytes, checksums: Checksums) -> Result<CommitHead, String> {
        let head_length = CommitHead::peek_length(bytes).unwrap_or(0);
        let head = bytes.get(..head_length).filter(|head| head.len() >= HEAD_FIXED);
        let head = head.ok_or_else(|| "a commit's head is cut off".to_owned())?;
        if checksums == Checksums::Compare && stored_crc(head) != Some(split_crc(head)) {
            return Err("the checksum of a commit's head is wrong".to_owned());
        }
        CommitHead::fields(bytes, head).ok_or_else(|| "a commit's head is malformed".to_owned())
    }

    fn fields(bytes: &Bytes, head: &[u8]) -> Option<CommitHead> {
        let mut fields = Fields(head);
        fields.take(8)?;
        let length = fields.u32()? as usize;
        let events = fields.u32()?;
        let operation = OperationId(fields.uuid()?);
        let fingerprint = Fingerprint(fields.array()?);
        let root = RootId(fields.uuid()?);
        let time = fields.time()?;
        let first = Position(fields.u64()?);
        let count = fields.u32()? as usize;
        let meta_length = fields.u32()? as usize;
        if HEAD_FIXED + STREAM_ENTRY.checked_mul(count)? + meta_length != head.len() {
            return None;
        }
        let mut streams = Vec::with_capacity(count);
        let mut total = 0u32;
        for _ in 0..count {
            let category = Category(fields.u16()?);
            let id = fields.uuid()?;
            let before = Revision(fields.u64()?);
            let events = fields.u32()?;
            // What is computed from here on stays within its type.
            before.0.checked_add(u64::from(events))?;
            total = total.checked_add(events)?;
            streams.push(StreamEntry { stream: StreamId { category, root, id }, before, events });
        }
        first.0.checked_add(u64::from(events))?;
        if total != events || length < head.len() {
            return None;
        }
        let meta = bytes.slice_ref(fields.take(meta_length)?);
        let head_length = head.len();
        Some(CommitHead {
            head_length,
            length,
            events,
            operation,
            fingerprint,
            time,
            first,
            streams,
            meta,
        })
    }

    /// What the commit did, as it was answered first.
    pub fn receipt(&self) -> Receipt {
        let last = (self.first.0 + u64::from(self.events)).saturating_sub(1);
        let after = |entry: &StreamEntry| {
            (entry.stream, Revision(entry.before.0 + u64::from(entry.events)))
        };
        Receipt {
            operation: self.operation,
            fingerprint: self.fingerprint,
            time: self.time,
            position: Position(last),
            events: self.events,
            streams: self.streams.iter().map(after).collect(),
            replayed: false,
        }
    }

    /// Which events its records are, in the order in which they follow the head.
    pub fn ordinals(&self) -> impl Iterator<Item = Ordinal> + '_ {
        let streams = self.streams.iter().zip(0..);
        let places =
            streams.flat_map(|(entry, stream)| (0..entry.events).map(move |n| (stream, n)));
        places.zip(0..).map(|((stream, nth), index)| Ordinal { index, stream, nth })
    }

    /// A record of this commit as the event that it is; `None` if it can't be of this commit.
    pub fn recorded(&self, record: Record) -> Option<Recorded> {
        let Ordinal { index, stream, nth } = record.ordinal;
        let entry = self.streams.get(stream as usize)?;
        let fits = index < self.events && nth < entry.events;
        fits.then(|| Recorded {
            position: Position(self.first.0 + u64::from(index)),
            stream: entry.stream,
            revision: Revision(entry.before.0 + u64::from(nth) + 1),
            time: self.time,
            operation: self.operation,
            event_type: record.event.event_type,
            version: record.event.version,
            codec: record.event.codec,
            meta: self.meta.clone(),
            payload: record.event.payload,
        })
    }
}

impl Record {
    /// How long the record is that begins with these bytes.
    pub fn peek_length(bytes: &[u8]) -> Option<usize> {
        Fields(bytes).u32().map(|length| length as usize)
    }

    /// The record that begins at `at`, or what is wrong with the bytes there.
    pub fn decode(bytes: &Bytes, at: usize, checksums: Checksums) -> Result<Record, String> {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = Record::peek_length(rest).unwrap_or(0);
        let whole = rest.get(..length).filter(|record| record.len() >= RECORD_HEADER);
        let whole = whole.ok_or_else(|| "a record is cut off".to_owned())?;
        if checksums == Checksums::Compare && stored_crc(whole) != Some(split_crc(whole)) {
            return Err("the checksum of a record is wrong".to_owned());
        }
        let record = (|| {
            let mut fields = Fields(whole);
            fields.take(8)?;
            let back = fields.u32()? as usize;
            let (index, stream, nth) = (fields.u16()?, fields.u16()?, fields.u16()?);
            let (index, stream, nth) = (index.into(), stream.into(), nth.into());
            let ordinal = Ordinal { index, stream, nth };
            let event_type = EventType(fields.u16()?);
            let (version, codec) = (fields.u8()?, fields.u8()?);
            let payload = bytes.slice_ref(fields.0);
            let event = EventData { event_type, version, codec, payload };
            Some(Record { length, back, ordinal, event })
        })();
        record.ok_or_else(|| "a record is malformed".to_owned())
    }
}

fn stored_crc(bytes: &[u8]) -> Option<u32> {
    let mut fields = Fields(bytes);
    fields.take(4)?;
    fields.u32()
}
