//! The index on disk: its fields, how it is opened, and how a commit carries its position.

use std::path::{Path, PathBuf};

use scripta_events::domain::Role;
use scripta_events::{LogId, Position};
use tantivy::directory::error::LockError;
use tantivy::indexer::IndexWriterOptions;
use tantivy::query::{AllQuery, BooleanQuery, Query, TermQuery};
use tantivy::schema::{
    BytesOptions, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema,
};
use tantivy::{
    Index, IndexReader, IndexSettings, IndexSortByField, IndexWriter, Order, ReloadPolicy,
    TantivyDocument, TantivyError, Term,
};

use super::entry::{Entry, key_bytes};
use super::fold;
use super::need::{Need, Trigram, trigrams};
use crate::OpenError;
use crate::opening::set_aside;

/// The version of the index's fields and of what is put into them.
pub(crate) const VERSION: u32 = 1;

/// Memory that the writer fills before it writes a segment by itself, in bytes.
const WRITER_BYTES: usize = 48 * 1024 * 1024;

/// What a document has.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    /// The [`SearchKey`](crate::SearchKey)'s bytes; segments are sorted by it.
    pub(super) key: Field,
    /// The trigrams of the folded texts.
    trigram: Field,
    /// The role's code.
    role: Field,
    /// The branch that wrote the message.
    branch: Field,
    /// The [`Entry`].
    pub(super) entry: Field,
}

/// An open index.
pub(super) struct Opened {
    pub(super) fields: Fields,
    pub(super) writer: IndexWriter,
    pub(super) reader: IndexReader,
    /// The position of its last commit.
    pub(super) position: Position,
}

/// Opens the index in `dir`, or makes a new one. One of another log or version, with another fold
/// table, ahead of the log or damaged is replaced with a warning.
pub(super) fn open(dir: &Path, log: LogId, head: Position) -> Result<Opened, OpenError> {
    std::fs::create_dir_all(dir).map_err(|source| folder(dir, source))?;
    let found = match existing(dir, log, head) {
        Ok(found) => found,
        Err(Unusable::InUse) => return Err(OpenError::InUse { path: dir.to_owned() }),
        Err(Unusable::Stale(reason)) => {
            tracing::warn!(projection = "search", reason, "rebuilding the message index");
            std::fs::remove_dir_all(dir).map_err(|source| folder(dir, source))?;
            None
        }
        Err(Unusable::Damaged(reason)) => {
            tracing::warn!(projection = "search", reason, "rebuilding a damaged message index");
            set_aside(dir)?;
            None
        }
    };
    match found {
        Some(opened) => Ok(opened),
        None => create(dir)
            .map_err(|error| OpenError::Store { path: dir.to_owned(), reason: error.to_string() }),
    }
}

/// Why an index that is there is not used.
enum Unusable {
    InUse,
    /// It is whole, but not of this log or program.
    Stale(String),
    Damaged(String),
}

fn existing(dir: &Path, log: LogId, head: Position) -> Result<Option<Opened>, Unusable> {
    if !dir.join("meta.json").exists() {
        return Ok(None);
    }
    let index = Index::open_in_dir(dir)?;
    let payload = index.load_metas()?.payload;
    // Before its first commit it has nothing, and is made again.
    let payload = payload.ok_or_else(|| Unusable::Stale("it was never committed".to_owned()))?;
    let position = position_in(&payload, log).map_err(Unusable::Stale)?;
    if position > head {
        let reason = format!("it is at position {position}, ahead of the log at {head}");
        return Err(Unusable::Stale(reason));
    }
    let (schema, fields) = schema();
    if index.schema() != schema {
        return Err(Unusable::Damaged("its fields are not those of its version".to_owned()));
    }
    Ok(Some(begin(&index, fields, position)?))
}

fn create(dir: &Path) -> tantivy::Result<Opened> {
    std::fs::create_dir_all(dir)?;
    let (schema, fields) = schema();
    let by_key = IndexSortByField { field: "key".to_owned(), order: Order::Asc };
    let settings = IndexSettings { sort_by_field: Some(by_key), ..IndexSettings::default() };
    let index = Index::builder().schema(schema).settings(settings).create_in_dir(dir)?;
    begin(&index, fields, Position::START)
}

fn begin(index: &Index, fields: Fields, position: Position) -> tantivy::Result<Opened> {
    // One thread of each kind: this runs beside everything else, and is not what is waited for.
    let options = IndexWriterOptions::builder()
        .memory_budget_per_thread(WRITER_BYTES)
        .num_worker_threads(1)
        .num_merge_threads(1)
        .build();
    let writer = index.writer_with_options(options)?;
    // The reader is moved on by hand, together with the tail.
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    Ok(Opened { fields, writer, reader, position })
}

fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let fields = Fields {
        key: builder.add_bytes_field("key", BytesOptions::default().set_fast()),
        trigram: builder.add_u64_field("trigram", NumericOptions::default().set_indexed()),
        role: builder.add_u64_field("role", NumericOptions::default().set_indexed()),
        branch: builder.add_bytes_field("branch", INDEXED),
        entry: builder.add_bytes_field("entry", STORED),
    };
    (builder.build(), fields)
}

/// What a commit says of itself.
pub(super) fn payload(log: LogId, position: Position) -> String {
    format!("scripta-search {VERSION} {} {log} {position}", fold::VERSION)
}

/// The position in a payload, if it is one of this log and program.
fn position_in(payload: &str, log: LogId) -> Result<Position, String> {
    let words: Vec<&str> = payload.split(' ').collect();
    let [name, version, table, found, position] = words.as_slice() else {
        return Err("its commit says nothing that is known here".to_owned());
    };
    if *name != "scripta-search" || *version != VERSION.to_string() {
        return Err(format!("it has version {version}, and this program makes version {VERSION}"));
    }
    if *table != fold::VERSION.to_string() {
        return Err(format!("its case table is {table}, and this program's is {}", fold::VERSION));
    }
    if *found != log.to_string() {
        return Err(format!("it is of another log ({found})"));
    }
    position.parse().map(Position).map_err(|_| "its position is no number".to_owned())
}

impl Fields {
    pub(super) fn document(&self, entry: &Entry) -> Result<TantivyDocument, String> {
        let mut document = TantivyDocument::new();
        document.add_bytes(self.key, &key_bytes(&entry.key));
        document.add_bytes(self.branch, entry.branch.0.as_bytes());
        document.add_u64(self.role, role_code(entry.role));
        let mut found: Vec<Trigram> = entry.texts.iter().flat_map(|text| trigrams(text)).collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().for_each(|trigram| document.add_u64(self.trigram, trigram));
        document.add_bytes(self.entry, &entry.to_bytes()?);
        Ok(document)
    }

    /// The documents that may match: those with what the pattern needs, of these roles, and
    /// written by one of these branches if any are named.
    pub(super) fn query(
        &self,
        need: &Need,
        roles: &[Role],
        branches: Option<&[uuid::Uuid]>,
    ) -> Box<dyn Query> {
        let mut parts: Vec<Box<dyn Query>> = Vec::new();
        parts.extend(self.needed(need));
        let roles =
            roles.iter().map(|role| term(Term::from_field_u64(self.role, role_code(*role))));
        parts.push(Box::new(BooleanQuery::union(roles.collect())));
        if let Some(branches) = branches {
            let terms = branches
                .iter()
                .map(|branch| term(Term::from_field_bytes(self.branch, branch.as_bytes())));
            parts.push(Box::new(BooleanQuery::union(terms.collect())));
        }
        match parts.len() {
            0 => Box::new(AllQuery),
            _ => Box::new(BooleanQuery::intersection(parts)),
        }
    }

    fn needed(&self, need: &Need) -> Option<Box<dyn Query>> {
        let query = match need {
            Need::Nothing => return None,
            Need::Trigrams(trigrams) => BooleanQuery::intersection(
                trigrams
                    .iter()
                    .map(|trigram| term(Term::from_field_u64(self.trigram, *trigram)))
                    .collect(),
            ),
            Need::All(needs) => {
                BooleanQuery::intersection(needs.iter().filter_map(|it| self.needed(it)).collect())
            }
            Need::Any(needs) => {
                BooleanQuery::union(needs.iter().filter_map(|it| self.needed(it)).collect())
            }
        };
        Some(Box::new(query))
    }
}

fn term(term: Term) -> Box<dyn Query> {
    Box::new(TermQuery::new(term, IndexRecordOption::Basic))
}

/// Never changed: the numbers are in the index.
fn role_code(role: Role) -> u64 {
    match role {
        Role::System => 1,
        Role::User => 2,
        Role::Assistant => 3,
        Role::Tool => 4,
    }
}

fn folder(path: &Path, source: std::io::Error) -> OpenError {
    OpenError::Folder { path: PathBuf::from(path), source }
}

impl From<TantivyError> for Unusable {
    fn from(error: TantivyError) -> Unusable {
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => Unusable::InUse,
            other => Unusable::Damaged(other.to_string()),
        }
    }
}
