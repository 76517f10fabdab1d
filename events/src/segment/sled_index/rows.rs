//! The rows of the index, in one tree, so that what belongs to a segment is one batch.
//!
//! | key | value |
//! |---|---|
//! | `l` | version of these rows (1), the log's id |
//! | `k` | present while the index is closed: it was closed cleanly |
//! | `s`, segment | how it ended, its filters' and buckets' sizes, and a checksum of its other rows |
//! | `c`, segment, bucket | its commits: operation id (16), offset (4), sorted |
//! | `t`, segment, bucket | its streams: id (34), revision before (8), count (4), offsets (4 each) |
//! | `f`, segment | a sample of its frames: position (8), offset (4), sorted |
//! | `x`, segment; `y`, segment | the filters of its commits and streams |
//!
//! Numbers in keys are big-endian, in values little-endian.

use serde::{Deserialize, Serialize};
use xorf::{BinaryFuse8, Descriptor, Filter as _};

use super::index_error;
use crate::codec::{from_bytes, to_bytes};
use crate::log::ReadError;
use crate::segment::format::Fields;
use crate::segment::index::{Sealed, SegmentIndex};
use crate::{LogId, OperationId, Position, Revision, StreamId, Timestamp};

pub(super) const TREE: &str = "log-index";
const VERSION: u8 = 1;

/// How many entries a bucket has on average: a row of some kilobytes.
const BUCKET_ENTRIES: usize = 256;

/// The bytes of a commit in its bucket.
const COMMIT_ENTRY: usize = 20;

/// How many frames a sample has at most: a reader that looks for a position reads past the rest.
const FRAME_SAMPLE: usize = 4_096;

pub(super) struct Rows {
    tree: sled::Tree,
}

/// A segment whose rows are stored.
pub(super) struct Stored {
    pub first: Position,
    pub sealed: Sealed,
    commit_buckets: u32,
    stream_buckets: u32,
    commits: Option<BinaryFuse8>,
    streams: Option<BinaryFuse8>,
}

/// A stream's part in a segment.
pub(super) struct StreamRow {
    pub before: Revision,
    pub offsets: Vec<u32>,
}

/// The value of an `s` row.
#[derive(Serialize, Deserialize)]
struct Summary {
    next: u64,
    chain: [u8; 32],
    time: i64,
    length: u64,
    commit_buckets: u32,
    stream_buckets: u32,
    rows: u32,
    checksum: u32,
}

/// The value of an `x` or a `y` row.
#[derive(Serialize, Deserialize)]
struct FilterRow {
    seed: u64,
    segment_length: u32,
    segment_length_mask: u32,
    segment_count_length: u32,
    fingerprints: Box<[u8]>,
}

impl FilterRow {
    fn of(filter: &BinaryFuse8) -> FilterRow {
        FilterRow {
            seed: filter.descriptor.seed,
            segment_length: filter.descriptor.segment_length,
            segment_length_mask: filter.descriptor.segment_length_mask,
            segment_count_length: filter.descriptor.segment_count_length,
            fingerprints: filter.fingerprints.clone(),
        }
    }

    fn filter(self) -> BinaryFuse8 {
        BinaryFuse8 {
            descriptor: Descriptor {
                seed: self.seed,
                segment_length: self.segment_length,
                segment_length_mask: self.segment_length_mask,
                segment_count_length: self.segment_count_length,
            },
            fingerprints: self.fingerprints,
        }
    }
}

impl Rows {
    pub fn new(tree: sled::Tree) -> Rows {
        Rows { tree }
    }

    /// The stored segments of this log, in order. What belongs to another log, was written by
    /// another version, or did not come through a crash whole is removed first.
    pub fn begin(&self, log: LogId) -> Result<Vec<Stored>, ReadError> {
        let mut identity = vec![VERSION];
        identity.extend_from_slice(log.0.as_bytes());
        let held = self.tree.get(b"l").map_err(index_error)?;
        if held.as_deref() != Some(&identity[..]) {
            if held.is_some() {
                tracing::warn!("the index is another log's, or another version's, and is rebuilt");
            }
            self.tree.clear().map_err(index_error)?;
            self.tree.insert(b"l", identity).map_err(index_error)?;
        }
        let clean = self.tree.remove(b"k").map_err(index_error)?.is_some();
        self.tree.flush().map_err(index_error)?;
        let mut stored = Vec::new();
        for row in self.tree.scan_prefix(b"s") {
            let (key, value) = row.map_err(index_error)?;
            let Some(first) = segment_of(&key) else { continue };
            match self.load(first, &value, clean) {
                Ok(segment) => stored.push(segment),
                Err(reason) => {
                    tracing::warn!(segment = %first, reason, "the index of a segment is rebuilt");
                    self.forget(first)?;
                }
            }
        }
        Ok(stored)
    }

    pub fn close(&self) -> Result<(), ReadError> {
        self.tree.insert(b"k", &[]).map_err(index_error)?;
        self.tree.flush().map_err(index_error)?;
        Ok(())
    }

    fn load(&self, first: Position, summary: &[u8], trusted: bool) -> Result<Stored, String> {
        let summary: Summary = from_bytes(summary)?;
        if !trusted {
            let (rows, checksum) = self.checksum(first).map_err(|error| error.to_string())?;
            if (rows, checksum) != (summary.rows, summary.checksum) {
                return Err(format!("{rows} of {} rows came through", summary.rows));
            }
        }
        let filter = |kind| -> Result<Option<BinaryFuse8>, String> {
            let row = self.tree.get(key(kind, first, None)).map_err(|error| error.to_string())?;
            row.map(|row| from_bytes::<FilterRow>(&row).map(FilterRow::filter)).transpose()
        };
        Ok(Stored {
            first,
            sealed: Sealed {
                next: Position(summary.next),
                chain: summary.chain,
                time: Timestamp(summary.time),
                length: summary.length,
            },
            commit_buckets: summary.commit_buckets,
            stream_buckets: summary.stream_buckets,
            commits: filter(b'x')?,
            streams: filter(b'y')?,
        })
    }

    /// How many rows a segment has beside its summary, and the checksum of them.
    fn checksum(&self, first: Position) -> Result<(u32, u32), ReadError> {
        let (mut rows, mut checksum) = (0, 0);
        for kind in *b"cftxy" {
            for row in self.tree.scan_prefix(key(kind, first, None)) {
                let (key, value) = row.map_err(index_error)?;
                rows += 1;
                checksum = crc32c::crc32c_append(checksum, &key);
                checksum = crc32c::crc32c_append(checksum, &value);
            }
        }
        Ok((rows, checksum))
    }

    fn forget(&self, first: Position) -> Result<(), ReadError> {
        for kind in *b"scftxy" {
            for row in self.tree.scan_prefix(key(kind, first, None)) {
                self.tree.remove(row.map_err(index_error)?.0).map_err(index_error)?;
            }
        }
        Ok(())
    }

    /// Stores a segment's rows in one batch.
    pub fn store(&self, index: &SegmentIndex, sealed: Sealed) -> Result<Stored, ReadError> {
        let first = index.first();
        let mut commits: Vec<(u64, OperationId, u32)> =
            index.commits().map(|(id, offset)| (hash(id.0.as_bytes()), id, offset)).collect();
        commits.sort_unstable();
        let mut streams: Vec<(u64, StreamId)> =
            index.streams().map(|id| (hash(&stream_key(id)), id)).collect();
        streams.sort_unstable();
        let commit_buckets = bucket_count(commits.len());
        let stream_buckets = bucket_count(streams.len());
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let in_bucket = |hashed: u64| bucket(hashed, commit_buckets);
        for group in commits.chunk_by(|one, next| in_bucket(one.0) == in_bucket(next.0)) {
            let mut row = Vec::with_capacity(group.len() * COMMIT_ENTRY);
            for (_, id, offset) in group {
                row.extend_from_slice(id.0.as_bytes());
                row.extend_from_slice(&offset.to_le_bytes());
            }
            let bucket = group.first().map(|(hashed, ..)| in_bucket(*hashed));
            rows.push((key(b'c', first, bucket), row));
        }
        rows.push((key(b'f', first, None), frame_sample(index)));
        let in_bucket = |hashed: u64| bucket(hashed, stream_buckets);
        for group in streams.chunk_by(|one, next| in_bucket(one.0) == in_bucket(next.0)) {
            let mut row = Vec::new();
            group.iter().for_each(|(_, id)| add_stream(&mut row, index, *id));
            let bucket = group.first().map(|(hashed, _)| in_bucket(*hashed));
            rows.push((key(b't', first, bucket), row));
        }
        let commit_filter = filter(commits.iter().map(|(hashed, ..)| *hashed).collect())?;
        let stream_filter = filter(streams.iter().map(|(hashed, _)| *hashed).collect())?;
        for (kind, filter) in [(b'x', &commit_filter), (b'y', &stream_filter)] {
            if let Some(filter) = filter {
                let row = to_bytes(&FilterRow::of(filter)).map_err(index_error)?;
                rows.push((key(kind, first, None), row));
            }
        }
        self.write(first, sealed, (commit_buckets, stream_buckets), rows)?;
        Ok(Stored {
            first,
            sealed,
            commit_buckets,
            stream_buckets,
            commits: commit_filter,
            streams: stream_filter,
        })
    }

    fn write(
        &self,
        first: Position,
        sealed: Sealed,
        (commit_buckets, stream_buckets): (u32, u32),
        rows: Vec<(Vec<u8>, Vec<u8>)>,
    ) -> Result<(), ReadError> {
        self.forget(first)?;
        let mut batch = sled::Batch::default();
        let mut checksum = 0;
        for (key, value) in &rows {
            checksum = crc32c::crc32c_append(checksum, key);
            checksum = crc32c::crc32c_append(checksum, value);
        }
        let summary = Summary {
            next: sealed.next.0,
            chain: sealed.chain,
            time: sealed.time.0,
            length: sealed.length,
            commit_buckets,
            stream_buckets,
            rows: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            checksum,
        };
        for (key, value) in rows {
            batch.insert(key, value);
        }
        batch.insert(key(b's', first, None), to_bytes(&summary).map_err(index_error)?);
        self.tree.apply_batch(batch).map_err(index_error)
    }

    /// Where a commit is in a stored segment.
    pub fn commit(
        &self,
        stored: &Stored,
        operation: OperationId,
    ) -> Result<Option<u32>, ReadError> {
        let hashed = hash(operation.0.as_bytes());
        if !stored.commits.as_ref().is_some_and(|filter| filter.contains(&hashed)) {
            return Ok(None);
        }
        let bucket = bucket(hashed, stored.commit_buckets);
        let row = self.tree.get(key(b'c', stored.first, Some(bucket))).map_err(index_error)?;
        let row = row.as_deref().unwrap_or_default();
        let found =
            row.chunks_exact(COMMIT_ENTRY).find(|entry| entry.starts_with(operation.0.as_bytes()));
        Ok(found.and_then(|entry| Fields(entry.get(16..)?).u32()))
    }

    /// What a stored segment has of a stream.
    pub fn stream(
        &self,
        stored: &Stored,
        stream: StreamId,
    ) -> Result<Option<StreamRow>, ReadError> {
        let wanted = stream_key(stream);
        let hashed = hash(&wanted);
        if !stored.streams.as_ref().is_some_and(|filter| filter.contains(&hashed)) {
            return Ok(None);
        }
        let bucket = bucket(hashed, stored.stream_buckets);
        let row = self.tree.get(key(b't', stored.first, Some(bucket))).map_err(index_error)?;
        let mut fields = Fields(row.as_deref().unwrap_or_default());
        while let Some(id) = fields.array::<34>() {
            let entry = (|| {
                let before = Revision(fields.u64()?);
                let count = fields.u32()? as usize;
                Some((before, fields.take(count.checked_mul(4)?)?))
            })();
            let cut = || index_error("a row of streams is cut off");
            let (before, offsets) = entry.ok_or_else(cut)?;
            if id == wanted {
                let offsets = offsets.chunks_exact(4).filter_map(|four| Fields(four).u32());
                return Ok(Some(StreamRow { before, offsets: offsets.collect() }));
            }
        }
        Ok(None)
    }

    /// The offset of a frame at or before a position.
    pub fn frame(&self, stored: &Stored, position: Position) -> Result<Option<u32>, ReadError> {
        let row = self.tree.get(key(b'f', stored.first, None)).map_err(index_error)?;
        let row = row.as_deref().unwrap_or_default();
        let entry = |entry: &[u8]| {
            let mut fields = Fields(entry);
            Some((Position(fields.u64()?), fields.u32()?))
        };
        let frames = row.chunks_exact(12).filter_map(entry);
        Ok(frames.take_while(|(first, _)| *first <= position).last().map(|(_, offset)| offset))
    }
}

fn key(kind: u8, segment: Position, bucket: Option<u32>) -> Vec<u8> {
    let mut key = vec![kind];
    key.extend_from_slice(&segment.0.to_be_bytes());
    key.extend(bucket.into_iter().flat_map(u32::to_be_bytes));
    key
}

fn segment_of(key: &[u8]) -> Option<Position> {
    let segment = key.get(1..)?.try_into().ok()?;
    Some(Position(u64::from_be_bytes(segment)))
}

fn stream_key(stream: StreamId) -> [u8; 34] {
    let mut key = [0; 34];
    let (category, ids) = key.split_at_mut(2);
    let (root, id) = ids.split_at_mut(16);
    category.copy_from_slice(&stream.category.0.to_be_bytes());
    root.copy_from_slice(stream.root.0.as_bytes());
    id.copy_from_slice(stream.id.as_bytes());
    key
}

/// A hash that is the same in every version of this program: ids may be of any pattern.
fn hash(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    Fields(hash.as_bytes()).u64().unwrap_or_default()
}

fn bucket_count(entries: usize) -> u32 {
    u32::try_from(entries.div_ceil(BUCKET_ENTRIES)).unwrap_or(u32::MAX).max(1)
}

/// The buckets are ranges of hashes, so that entries sorted by hash fill them in order.
fn bucket(hashed: u64, buckets: u32) -> u32 {
    ((u128::from(hashed) * u128::from(buckets)) >> 64) as u32
}

fn frame_sample(index: &SegmentIndex) -> Vec<u8> {
    let frames = index.frames();
    let step = frames.len().div_ceil(FRAME_SAMPLE).max(1);
    let mut sample = Vec::new();
    for (position, offset) in frames.iter().step_by(step) {
        sample.extend_from_slice(&position.0.to_le_bytes());
        sample.extend_from_slice(&offset.to_le_bytes());
    }
    sample
}

fn add_stream(row: &mut Vec<u8>, index: &SegmentIndex, stream: StreamId) {
    let before = index.revision_before(stream).unwrap_or_default();
    let places = index.records(stream, before);
    row.extend_from_slice(&stream_key(stream));
    row.extend_from_slice(&before.0.to_le_bytes());
    row.extend_from_slice(&(places.len() as u32).to_le_bytes());
    places.iter().for_each(|place| row.extend_from_slice(&place.offset.to_le_bytes()));
}

/// A filter over hashes; `None` for nothing.
fn filter(mut hashes: Vec<u64>) -> Result<Option<BinaryFuse8>, ReadError> {
    hashes.sort_unstable();
    hashes.dedup();
    if hashes.is_empty() {
        return Ok(None);
    }
    BinaryFuse8::try_from(&hashes).map(Some).map_err(index_error)
}
