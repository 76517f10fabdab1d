//! The rows of the index, in one tree, so that what belongs to a segment is one batch.
//!
//! | key | value |
//! |---|---|
//! | `l` | version of these rows (2), the log's id |
//! | `k` | present while the index is closed: it was closed cleanly |
//! | `s`, segment | how it ended, its filters' and buckets' sizes, and a checksum of its other rows |
//! | `c`, segment, bucket | its commits: operation id (16), offset (4), sorted |
//! | `t`, segment, bucket | its streams: id (34), revision before (8), count (4), offsets (4 each) |
//! | `f`, segment | a sample of its frames: position (8), offset (4), sorted |
//! | `x`, segment; `y`, segment | the filters of its commits and streams |
//! | `p`, number; `q`, number | the parts of the filters over all commits and streams, with a checksum |
//! | `u` | the boot in which the index was opened last |
//!
//! Numbers in keys are big-endian, in values little-endian.

use serde::{Deserialize, Serialize};
use xorf::{BinaryFuse8, Filter as _};

use super::bloom::{Bloom, Part};
use super::filters::{add_to_bloom, filter, filter_of, filter_row};
use super::index_error;
use crate::codec::{from_bytes, to_bytes};
use crate::log::ReadError;
use crate::segment::format::Fields;
use crate::segment::index::{Sealed, SegmentIndex};
use crate::{LogId, OperationId, Position, Revision, StreamId, Timestamp};

pub(super) const TREE: &str = "log-index";
const VERSION: u8 = 2;

/// How many entries a bucket has on average: a row of about a kilobyte. sled reads some sixteen
/// rows as one page, and keeps thousands of pages before it looks at the size of its cache.
const BUCKET_ENTRIES: usize = 24;

/// The bytes that identify a stream: category, root, id.
const STREAM_KEY: usize = 34;

/// Tells one boot of the machine from another.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// A key and its value.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// The bytes of a commit in its bucket.
const COMMIT_ENTRY: usize = 20;

/// How many frames a sample has at most: a reader that looks for a position reads past the rest.
const FRAME_SAMPLE: usize = 4_096;

pub(super) struct Rows {
    tree: sled::Tree,
}

/// What is stored of a log.
#[derive(Default)]
pub(super) struct Loaded {
    /// In the order of the log.
    pub segments: Vec<Stored>,
    pub commits: Bloom,
    pub streams: Bloom,
}

/// How far what sled holds can be believed.
#[derive(Clone, Copy)]
enum Trust {
    /// It was closed cleanly.
    All,
    /// The process before was killed, while the operating system went on: what was written is
    /// there, and what was about to be written is among the newest.
    AllButNewest,
    /// The power went: sled doesn't sync, so anything may be old or missing.
    Nothing,
}

/// How many of the newest segments are checked after a process was killed: those that may have
/// been stored within the half second that sled takes to write, and some to spare.
const NEWEST: usize = 4;

/// Why what is stored can't be used as it is.
enum Unusable {
    Filters(String),
    Sled(ReadError),
}

impl Unusable {
    fn sled(error: sled::Error) -> Unusable {
        Unusable::Sled(index_error(error))
    }
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

impl Rows {
    pub fn new(tree: sled::Tree) -> Rows {
        Rows { tree }
    }

    /// What is stored of this log. What belongs to another log, was written by another version,
    /// or did not come through a power cut whole is removed first.
    pub fn begin(&self, log: LogId) -> Result<Loaded, ReadError> {
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
        let trust = self.trust()?;
        let loaded = match self.load(trust) {
            Ok(loaded) => loaded,
            Err(Unusable::Filters(reason)) => {
                tracing::warn!(reason, "the index of the log is rebuilt");
                self.forget_all()?;
                Loaded::default()
            }
            Err(Unusable::Sled(error)) => return Err(error),
        };
        self.tree.flush().map_err(index_error)?;
        Ok(loaded)
    }

    /// How far what sled holds can be believed.
    fn trust(&self) -> Result<Trust, ReadError> {
        let clean = self.tree.remove(b"k").map_err(index_error)?.is_some();
        let boot = std::fs::read(BOOT_ID).unwrap_or_default();
        let before = self.tree.insert(b"u", boot.clone()).map_err(index_error)?;
        let same_boot = before.is_some_and(|before| !boot.is_empty() && before == boot);
        Ok(match (clean, same_boot) {
            (true, _) => Trust::All,
            (false, true) => Trust::AllButNewest,
            (false, false) => Trust::Nothing,
        })
    }

    pub fn close(&self) -> Result<(), ReadError> {
        self.tree.insert(b"k", &[]).map_err(index_error)?;
        self.tree.flush().map_err(index_error)?;
        Ok(())
    }

    fn load(&self, trust: Trust) -> Result<Loaded, Unusable> {
        let commits = self.load_bloom(b'p')?;
        let streams = self.load_bloom(b'q')?;
        let mut loaded = Loaded { segments: Vec::new(), commits, streams };
        let summaries = self.tree.scan_prefix(b"s").collect::<Result<Vec<_>, _>>();
        let summaries = summaries.map_err(Unusable::sled)?;
        let believed = match trust {
            Trust::All => summaries.len(),
            Trust::AllButNewest => summaries.len().saturating_sub(NEWEST),
            Trust::Nothing => 0,
        };
        for (number, (key, value)) in summaries.into_iter().enumerate() {
            let Some(first) = segment_of(&key) else { continue };
            if number >= believed && !self.came_through(first, &value, &loaded)? {
                tracing::warn!(segment = %first, "a segment's index is not whole and is rebuilt");
                self.forget(first).map_err(Unusable::Sled)?;
                continue;
            }
            match self.load_segment(first, &value) {
                Ok(segment) => loaded.segments.push(segment),
                Err(reason) => {
                    tracing::warn!(segment = %first, reason, "the index of a segment is rebuilt");
                    self.forget(first).map_err(Unusable::Sled)?;
                }
            }
        }
        Ok(loaded)
    }

    fn load_bloom(&self, kind: u8) -> Result<Bloom, Unusable> {
        let mut parts = Vec::new();
        for row in self.tree.scan_prefix([kind]) {
            let (key, value) = row.map_err(Unusable::sled)?;
            let part = value.split_last_chunk().and_then(|(row, crc)| {
                let right = crc32c::crc32c(row).to_le_bytes() == *crc;
                right.then(|| Part::from_row(parts.len(), row)).flatten()
            });
            let named =
                key.get(1..).is_some_and(|number| number == (parts.len() as u32).to_be_bytes());
            let part = part.filter(|_| named);
            parts.push(part.ok_or_else(|| Unusable::Filters("a filter is damaged".to_owned()))?);
        }
        Ok(Bloom::of(parts))
    }

    fn load_segment(&self, first: Position, summary: &[u8]) -> Result<Stored, String> {
        let summary: Summary = from_bytes(summary)?;
        let filter = |kind| -> Result<Option<BinaryFuse8>, String> {
            let row = self.tree.get(key(kind, first, None)).map_err(|error| error.to_string())?;
            let cut_off = || "a filter is cut off".to_owned();
            row.map(|row| filter_of(&row).ok_or_else(cut_off)).transpose()
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

    /// Whether a segment's rows fit their checksum; its ids must be in the filters over all.
    fn came_through(
        &self,
        first: Position,
        summary: &[u8],
        loaded: &Loaded,
    ) -> Result<bool, Unusable> {
        let summary: Summary = from_bytes(summary).map_err(Unusable::Filters)?;
        let (mut rows, mut checksum) = (0, 0);
        for kind in *b"cftxy" {
            for row in self.tree.scan_prefix(key(kind, first, None)) {
                let (key, value) = row.map_err(Unusable::sled)?;
                rows += 1;
                checksum = crc32c::crc32c_append(checksum, &key);
                checksum = crc32c::crc32c_append(checksum, &value);
                let known = match kind {
                    b'c' => commit_ids(&value).all(|id| loaded.commits.contains(hash(id))),
                    b't' => StreamEntries(Fields(&value))
                        .all(|it| it.is_ok_and(|it| loaded.streams.contains(hash(&it.id)))),
                    _ => true,
                };
                if !known {
                    return Err(Unusable::Filters("a filter misses an id".to_owned()));
                }
            }
        }
        Ok((rows, checksum) == (summary.rows, summary.checksum))
    }

    fn forget_all(&self) -> Result<(), ReadError> {
        for row in self.tree.iter().keys() {
            let key = row.map_err(index_error)?;
            if !matches!(key.first(), Some(b'l' | b'u')) {
                self.tree.remove(key).map_err(index_error)?;
            }
        }
        Ok(())
    }

    fn forget(&self, first: Position) -> Result<(), ReadError> {
        for kind in *b"scftxy" {
            for row in self.tree.scan_prefix(key(kind, first, None)) {
                self.tree.remove(row.map_err(index_error)?.0).map_err(index_error)?;
            }
        }
        Ok(())
    }

    /// Stores a segment's rows, and the filters over all with its ids added, in one batch.
    pub fn store(
        &self,
        index: &SegmentIndex,
        sealed: Sealed,
        commit_bloom: &mut Bloom,
        stream_bloom: &mut Bloom,
    ) -> Result<Stored, ReadError> {
        let first = index.first();
        let mut commits: Vec<(u64, OperationId, u32)> =
            index.commits().map(|(id, offset)| (hash(id.0.as_bytes()), id, offset)).collect();
        commits.sort_unstable();
        let mut streams: Vec<(u64, StreamId)> =
            index.streams().map(|id| (hash(&stream_key(id)), id)).collect();
        streams.sort_unstable();
        let commit_buckets = bucket_count(commits.len());
        let stream_buckets = bucket_count(streams.len());
        let mut rows: Vec<Row> = Vec::new();
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
                rows.push((key(kind, first, None), filter_row(filter)));
            }
        }
        let mut filters = Vec::new();
        let hashes = commits.iter().map(|(hashed, ..)| *hashed);
        add_to_bloom(b'p', commit_bloom, hashes, &mut filters);
        let hashes = streams.iter().map(|(hashed, _)| *hashed);
        add_to_bloom(b'q', stream_bloom, hashes, &mut filters);
        self.write(first, sealed, (commit_buckets, stream_buckets), rows, filters)?;
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
        rows: Vec<Row>,
        filters: Vec<Row>,
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
        for (key, value) in rows.into_iter().chain(filters) {
            batch.insert(key, value);
        }
        batch.insert(key(b's', first, None), to_bytes(&summary).map_err(index_error)?);
        self.tree.apply_batch(batch).map_err(index_error)
    }

    /// Where a commit is in a stored segment; `hashed` is the hash of its id.
    pub fn commit(
        &self,
        stored: &Stored,
        operation: OperationId,
        hashed: u64,
    ) -> Result<Option<u32>, ReadError> {
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

    /// What a stored segment has of a stream; `hashed` is the hash of its key.
    pub fn stream(
        &self,
        stored: &Stored,
        wanted: &[u8; STREAM_KEY],
        hashed: u64,
    ) -> Result<Option<StreamRow>, ReadError> {
        if !stored.streams.as_ref().is_some_and(|filter| filter.contains(&hashed)) {
            return Ok(None);
        }
        let bucket = bucket(hashed, stored.stream_buckets);
        let row = self.tree.get(key(b't', stored.first, Some(bucket))).map_err(index_error)?;
        for entry in StreamEntries(Fields(row.as_deref().unwrap_or_default())) {
            let entry = entry?;
            if entry.id == *wanted {
                return Ok(Some(entry.row()));
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

pub(super) fn stream_key(stream: StreamId) -> [u8; STREAM_KEY] {
    let mut key = [0; STREAM_KEY];
    let (category, ids) = key.split_at_mut(2);
    let (root, id) = ids.split_at_mut(16);
    category.copy_from_slice(&stream.category.0.to_be_bytes());
    root.copy_from_slice(stream.root.0.as_bytes());
    id.copy_from_slice(stream.id.as_bytes());
    key
}

fn commit_ids(row: &[u8]) -> impl Iterator<Item = &[u8]> {
    row.chunks_exact(COMMIT_ENTRY).filter_map(|entry| entry.get(..16))
}

/// The streams of a bucket, each with its part as it is stored.
struct StreamEntries<'a>(Fields<'a>);

/// What a bucket has of a stream.
struct StreamEntry<'a> {
    id: [u8; STREAM_KEY],
    before: Revision,
    offsets: &'a [u8],
}

impl<'a> Iterator for StreamEntries<'a> {
    type Item = Result<StreamEntry<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = self.0.array()?;
        let entry = (|| {
            let before = Revision(self.0.u64()?);
            let count = self.0.u32()? as usize;
            let offsets = self.0.take(count.checked_mul(4)?)?;
            Some(StreamEntry { id, before, offsets })
        })();
        Some(entry.ok_or_else(|| index_error("a row of streams is cut off")))
    }
}

impl StreamEntry<'_> {
    fn row(&self) -> StreamRow {
        let offsets = self.offsets.chunks_exact(4).filter_map(|four| Fields(four).u32());
        StreamRow { before: self.before, offsets: offsets.collect() }
    }
}

/// A hash that is the same in every version of this program: ids may be of any pattern.
pub(super) fn hash(bytes: &[u8]) -> u64 {
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
