//! One page of a search: candidates of the index and the tail in one order, each verified.

use std::iter::Peekable;
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scripta_events::domain::{BranchId, Role};
use scripta_events::{Position, Timestamp};
use tantivy::columnar::BytesColumn;
use tantivy::query::{EnableScoring, Scorer, Weight};
use tantivy::schema::Value;
use tantivy::{DocAddress, DocId, Searcher, SegmentReader, TERMINATED, TantivyDocument};
use tantivy::{DocSet as _, schema::Field};

use super::entry::{Entry, key_bytes};
use super::index::Fields;
use super::live::{Live, Snapshot};
use super::pattern::{Matched, Pattern};
use super::{MAX_EXAMINED, SearchKey};
use crate::QueryError;

/// Which messages are searched.
pub(super) struct Scope {
    /// The first key (exclusive) and the last (inclusive).
    pub(super) after: Option<SearchKey>,
    pub(super) first: Option<SearchKey>,
    pub(super) last: Option<SearchKey>,
    /// The branches of a chain, with the last position that belongs to it.
    pub(super) writers: Option<Vec<(BranchId, Option<Position>)>>,
    pub(super) roles: Vec<Role>,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
}

/// Where a page ends.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// After so many messages that match.
    pub(crate) hits: usize,
    /// After the first message examined when this is over.
    pub(crate) time: Duration,
}

/// The messages found.
pub(super) struct Found {
    pub(super) hits: Vec<(Arc<Entry>, Matched)>,
    pub(super) next: Option<SearchKey>,
}

/// Why a search failed.
pub(super) enum ScanError {
    /// The index can't be read.
    Index(String),
    /// A read model could not say whether a message is shown.
    Query(QueryError),
}

impl From<String> for ScanError {
    fn from(reason: String) -> ScanError {
        ScanError::Index(reason)
    }
}

impl From<QueryError> for ScanError {
    fn from(error: QueryError) -> ScanError {
        ScanError::Query(error)
    }
}

/// Searches the messages of a scope in order, up to the limits or until as many as is allowed were
/// examined. Of those that match, `is_shown` tells which were not deleted: the index keeps all, since
/// a branch that goes may leave some of its messages to others.
pub(super) fn scan(
    live: &Live,
    pattern: &Pattern,
    scope: &Scope,
    limits: Limits,
    is_shown: impl Fn(&Entry) -> Result<bool, QueryError>,
) -> Result<Found, ScanError> {
    let start = Instant::now();
    let Snapshot { searcher, tail } = live.snapshot();
    let mut candidates = Candidates::new(&searcher, &live.fields, pattern, scope, tail)?;
    let mut hits = Vec::new();
    let mut last = scope.after;
    for examined in 0_usize.. {
        let Some(entry) = candidates.next()? else {
            return Ok(Found { hits, next: None });
        };
        let late = examined > 0 && start.elapsed() >= limits.time;
        if hits.len() >= limits.hits || examined >= MAX_EXAMINED || late {
            return Ok(Found { hits, next: last });
        }
        last = Some(entry.key);
        if let Some(matched) = scope.has(&entry).then(|| pattern.matched(&entry.texts)).flatten()
            && is_shown(&entry)?
        {
            hits.push((entry, matched));
        }
    }
    Ok(Found { hits, next: last })
}

impl Scope {
    fn has_key(&self, key: &SearchKey) -> bool {
        self.after.is_none_or(|after| *key > after)
            && self.first.is_none_or(|first| *key >= first)
            && self.last.is_none_or(|last| *key <= last)
    }

    fn has(&self, entry: &Entry) -> bool {
        self.roles.contains(&entry.role)
            && self.since.is_none_or(|since| entry.time >= since)
            && self.until.is_none_or(|until| entry.time < until)
            && self.writers.as_ref().is_none_or(|writers| {
                writers.iter().any(|(branch, last)| {
                    *branch == entry.branch && last.is_none_or(|last| entry.key.position <= last)
                })
            })
    }

    /// The bounds on the bytes of keys.
    fn bounds(&self) -> (Bound<[u8; 40]>, Bound<[u8; 40]>) {
        let lower = match (self.after, self.first) {
            (Some(after), Some(first)) if first > after => Bound::Included(key_bytes(&first)),
            (Some(after), _) => Bound::Excluded(key_bytes(&after)),
            (None, Some(first)) => Bound::Included(key_bytes(&first)),
            (None, None) => Bound::Unbounded,
        };
        let upper = self.last.map_or(Bound::Unbounded, |last| Bound::Included(key_bytes(&last)));
        (lower, upper)
    }
}

/// Candidates in the order of their keys: a merge of the segments, which are each in that order,
/// and the tail.
struct Candidates<'a> {
    searcher: &'a Searcher,
    entry: Field,
    segments: Vec<Segment>,
    tail: Peekable<std::vec::IntoIter<Arc<Entry>>>,
}

struct Segment {
    ordinal: u32,
    scorer: Box<dyn Scorer>,
    /// The first document that is out of bounds.
    end: DocId,
    head: Option<Arc<Entry>>,
}

impl<'a> Candidates<'a> {
    fn new(
        searcher: &'a Searcher,
        fields: &Fields,
        pattern: &Pattern,
        scope: &Scope,
        mut tail: Vec<Arc<Entry>>,
    ) -> Result<Candidates<'a>, String> {
        tail.retain(|entry| scope.has_key(&entry.key));
        tail.sort_by_key(|entry| entry.key);
        let branches: Option<Vec<uuid::Uuid>> =
            scope.writers.as_ref().map(|writers| writers.iter().map(|(id, _)| id.0).collect());
        let query = fields.query(&pattern.need, &scope.roles, branches.as_deref());
        let weight = query
            .weight(EnableScoring::disabled_from_searcher(searcher))
            .map_err(|error| error.to_string())?;
        let tail = tail.into_iter().peekable();
        let mut candidates =
            Candidates { searcher, entry: fields.entry, segments: Vec::new(), tail };
        for (ordinal, reader) in searcher.segment_readers().iter().enumerate() {
            let opened = open_segment(reader, weight.as_ref(), scope);
            let Some((scorer, end)) = opened.map_err(|error| error.to_string())? else {
                continue;
            };
            let ordinal = u32::try_from(ordinal).map_err(|error| error.to_string())?;
            let mut segment = Segment { ordinal, scorer, end, head: None };
            segment.load(searcher, fields.entry)?;
            candidates.segments.push(segment);
        }
        Ok(candidates)
    }

    fn next(&mut self) -> Result<Option<Arc<Entry>>, String> {
        self.segments.retain(|segment| segment.head.is_some());
        let least = self
            .segments
            .iter_mut()
            .filter_map(|segment| segment.head.as_ref().map(|head| head.key).zip(Some(segment)))
            .min_by_key(|(key, _)| *key);
        let tail = self.tail.peek().map(|entry| entry.key);
        match least {
            Some((key, segment)) if tail.is_none_or(|tail| key < tail) => {
                let head = segment.head.take();
                segment.scorer.advance();
                segment.load(self.searcher, self.entry)?;
                Ok(head)
            }
            _ => Ok(self.tail.next()),
        }
    }
}

impl Segment {
    /// Loads the entry that the scorer stands on.
    fn load(&mut self, searcher: &Searcher, field: Field) -> Result<(), String> {
        let document = self.scorer.doc();
        if document == TERMINATED || document >= self.end {
            return Ok(());
        }
        let stored: TantivyDocument = searcher
            .doc(DocAddress::new(self.ordinal, document))
            .map_err(|error| error.to_string())?;
        let value = stored.get_first(field);
        let bytes = value.as_ref().and_then(Value::as_bytes).ok_or("a message has no entry")?;
        self.head = Some(Arc::new(Entry::from_bytes(bytes)?));
        Ok(())
    }
}

/// The documents of a segment that may match, placed on the first within the scope's keys.
fn open_segment(
    reader: &SegmentReader,
    weight: &dyn Weight,
    scope: &Scope,
) -> tantivy::Result<Option<(Box<dyn Scorer>, DocId)>> {
    let Some(keys) = reader.fast_fields().bytes("key")? else {
        return Ok(None);
    };
    let (lower, upper) = scope.bounds();
    let (lower, upper) = keys.dictionary().term_bounds_to_ord(lower, upper)?;
    let start = match lower {
        Bound::Included(ordinal) => first_document(&keys, reader, |it| it >= ordinal),
        Bound::Excluded(ordinal) => first_document(&keys, reader, |it| it > ordinal),
        Bound::Unbounded => 0,
    };
    let end = match upper {
        Bound::Included(ordinal) => first_document(&keys, reader, |it| it > ordinal),
        Bound::Excluded(ordinal) => first_document(&keys, reader, |it| it >= ordinal),
        Bound::Unbounded => reader.max_doc(),
    };
    if start >= end {
        return Ok(None);
    }
    let mut scorer = weight.scorer(reader, 1.0)?;
    if scorer.doc() < start {
        scorer.seek(start);
    }
    Ok(Some((scorer, end)))
}

/// The first document whose key's ordinal satisfies `beyond`: documents are in the order of keys.
fn first_document(
    keys: &BytesColumn,
    reader: &SegmentReader,
    beyond: impl Fn(u64) -> bool,
) -> DocId {
    let (mut low, mut high) = (0, reader.max_doc());
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.ords().first(middle).is_some_and(&beyond) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
