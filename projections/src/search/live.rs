//! The index together with its tail: what was read from the log and is not committed yet.
//!
//! The follower puts entries at the end of the tail; a thread of its own takes them into the
//! index, commits, and publishes the new index and the shorter tail as one pair, so that a search
//! finds every message in exactly one of the two.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use scripta_events::{LogId, Position};
use tantivy::{IndexReader, IndexWriter, Searcher};

use super::entry::Entry;
use super::index::{Fields, Opened, open, payload};
use crate::OpenError;

/// The entries after which the tail is committed: a commit has costs of its own, which this many
/// share, and takes some 300 ms; a search reads as many in a few milliseconds. Only a rebuild or an
/// import brings so many within [`COMMIT_AFTER`].
const COMMIT_ENTRIES: usize = 8_000;

/// How long an entry waits in the tail, at most, before a commit begins.
const COMMIT_AFTER: Duration = Duration::from_millis(500);

/// The most entries in the tail; then the follower waits for the commit.
const MAX_TAIL_ENTRIES: usize = 16_384;

/// The most text in the tail, in bytes; one entry may go beyond it.
const MAX_TAIL_BYTES: usize = 32 * 1024 * 1024;

/// The most positions without a message that a commit is behind: what a restart reads again.
const MAX_BEHIND: u64 = 50_000;

/// The index and its tail. Cheap to clone.
#[derive(Clone)]
pub(super) struct Live {
    shared: Arc<Shared>,
    pub(super) fields: Fields,
}

/// The index and its tail at one moment.
pub(super) struct Snapshot {
    pub(super) searcher: Searcher,
    pub(super) tail: Vec<Arc<Entry>>,
}

/// The thread that commits.
pub(super) struct Indexer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// There may be something to commit.
    work: Condvar,
    /// There may be room in the tail.
    room: Condvar,
}

struct State {
    searcher: Searcher,
    tail: VecDeque<Arc<Entry>>,
    tail_bytes: usize,
    /// When the oldest entry of the tail came.
    since: Option<Instant>,
    /// The last position that was read.
    seen: Position,
    /// The position of the last commit.
    committed: Position,
    closing: bool,
    failed: Option<String>,
}

/// Opens the index and starts the thread that commits; tells the position to follow from.
pub(super) fn start(
    dir: &Path,
    log: LogId,
    head: Position,
) -> Result<(Live, Indexer, Position), OpenError> {
    let Opened { fields, writer, reader, position } = open(dir, log, head)?;
    let state = State {
        searcher: reader.searcher(),
        tail: VecDeque::new(),
        tail_bytes: 0,
        since: None,
        seen: position,
        committed: position,
        closing: false,
        failed: None,
    };
    let shared =
        Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() });
    let committer = Committer { shared: shared.clone(), fields, writer, reader, log };
    let thread = std::thread::Builder::new()
        .name("search-index".to_owned())
        .spawn(move || committer.run())
        .map_err(|source| OpenError::Thread { name: "search", source })?;
    let indexer = Indexer { shared: shared.clone(), thread: Some(thread) };
    Ok((Live { shared, fields }, indexer, position))
}

impl Live {
    /// Adds what was read up to and including `seen`. Waits while the tail is full.
    pub(super) fn push(&self, entries: Vec<Entry>, seen: Position) -> Result<(), String> {
        let mut state = self.shared.lock();
        while state.is_full() && state.failed.is_none() {
            state = self.shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(reason) = &state.failed {
            return Err(reason.clone());
        }
        for entry in entries {
            state.tail_bytes = state.tail_bytes.saturating_add(entry.weight());
            state.tail.push_back(Arc::new(entry));
        }
        state.seen = seen;
        if !state.tail.is_empty() {
            state.since.get_or_insert_with(Instant::now);
        }
        self.shared.work.notify_one();
        Ok(())
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let state = self.shared.lock();
        Snapshot { searcher: state.searcher.clone(), tail: state.tail.iter().cloned().collect() }
    }
}

impl Indexer {
    /// Commits the rest, and ends.
    pub(super) fn close(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the message index failed");
        }
    }

    /// Why it stopped, if it did by itself.
    pub(super) fn failure(&self) -> Option<String> {
        self.shared.lock().failed.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is changed by whole steps only: a poisoned lock holds a usable one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.tail.len() >= MAX_TAIL_ENTRIES || self.tail_bytes >= MAX_TAIL_BYTES
    }

    /// How long until a commit is due: zero for now, `None` while nothing calls for one.
    fn due(&self) -> Option<Duration> {
        let behind = self.seen.0.saturating_sub(self.committed.0);
        let now = self.tail.len() >= COMMIT_ENTRIES
            || self.tail_bytes >= MAX_TAIL_BYTES
            || behind >= MAX_BEHIND
            || (self.closing && behind > 0);
        if now {
            return Some(Duration::ZERO);
        }
        self.since.map(|since| COMMIT_AFTER.saturating_sub(since.elapsed()))
    }
}

struct Committer {
    shared: Arc<Shared>,
    fields: Fields,
    writer: IndexWriter,
    reader: IndexReader,
    log: LogId,
}

impl Committer {
    fn run(mut self) {
        let result = catch_unwind(AssertUnwindSafe(|| self.commit_until_closed()));
        let result = result.unwrap_or_else(|_| Err("its code failed".to_owned()));
        if let Err(reason) = result {
            tracing::error!(reason, "the message index takes no more messages");
            self.shared.lock().failed = Some(reason);
            self.shared.room.notify_all();
        }
        if let Err(error) = self.writer.wait_merging_threads() {
            tracing::warn!(%error, "a merge of the message index failed");
        }
    }

    fn commit_until_closed(&mut self) -> Result<(), String> {
        while let Some((entries, seen)) = self.wait_for_work() {
            self.commit(&entries, seen)?;
        }
        Ok(())
    }

    /// What to commit next; `None` when everything is, and the index is being closed.
    fn wait_for_work(&self) -> Option<(Vec<Arc<Entry>>, Position)> {
        let mut state = self.shared.lock();
        loop {
            match state.due() {
                Some(Duration::ZERO) => {
                    return Some((state.tail.iter().cloned().collect(), state.seen));
                }
                None if state.closing => return None,
                Some(rest) => {
                    let waited = self.shared.work.wait_timeout(state, rest);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                None => {
                    let waited = self.shared.work.wait(state);
                    state = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Commits the entries with the position they reach, and publishes index and tail as a pair.
    fn commit(&mut self, entries: &[Arc<Entry>], seen: Position) -> Result<(), String> {
        for entry in entries {
            let document = self.fields.document(entry)?;
            self.writer.add_document(document).map_err(|error| error.to_string())?;
        }
        self.commit_writer(seen).map_err(|error| error.to_string())?;
        let searcher = self.reader.searcher();
        let mut state = self.shared.lock();
        state.searcher = searcher;
        state.tail.drain(..entries.len());
        state.tail_bytes = state.tail.iter().map(|entry| entry.weight()).sum();
        state.since = (!state.tail.is_empty()).then(Instant::now);
        state.committed = seen;
        self.shared.room.notify_all();
        Ok(())
    }

    fn commit_writer(&mut self, seen: Position) -> tantivy::Result<()> {
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload(self.log, seen));
        prepared.commit()?;
        self.reader.reload()
    }
}
