//! A log in append-only files: segments of frames, one sync a frame, one writer thread.
//!
//! The bytes are described in [`mod@format`]. What is written is durable before it is answered; what
//! a crash leaves at the end of the last segment is mended at the next opening; anything else
//! that is not as it was written is an error that names the file and the offset.
//!
//! # What opening tells apart
//!
//! A frame is written after the one before it was synced. So only the last frame can be torn, and
//! opening cuts it off, with a warning, if nothing valid follows and the file was open for
//! writing. A bad frame that a good one follows, or that is in a log that was closed cleanly, is
//! damage: opening fails. When the log falls idle a *mark* follows the last frame, so that rot in
//! that frame is seen as damage too. What remains: rot in the very last frame after a crash in
//! the moment between its sync and its mark is taken for a torn write, and so is rot in a mark
//! of a log that was not closed cleanly, which holds no events.

mod ahead;
mod backup;
mod commit_bytes;
mod copy;
mod core;
pub mod disk;
mod file_disk;
pub mod format;
mod frame;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod index;
mod live;
mod open;
mod reader;
mod salvage;
mod scan;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod sled_index;
mod store;
mod verify;
mod view;
mod writer;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::sync::watch;

use self::sled_index::SledIndex;
use self::store::Store;
use self::writer::Writer;
use crate::log::{AppendError, Commit, EventLog, Filter, ReadError, Receipt, Recorded};
use crate::{LogId, OperationId, Position, Revision, StreamId, Timestamp};

pub use backup::{BackupError, Copied, backup, restore};
pub use file_disk::{FileDisk, FolderLock, LockError, LogFile};
pub use salvage::{Behind, Damage, Mended, SalvageError, Salvaged, salvage};
pub use verify::{Demands, Verified, VerifyError, verify, verify_with};
pub use view::View;

/// What a segment is called while it is being made.
const TEMPORARY_SUFFIX: &str = ".new";

/// How a log keeps its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// From this length on, in bytes, a segment is sealed and another begun. At most
    /// [`MAX_SEGMENT_BYTES`]; a larger value counts as that.
    pub segment_bytes: u64,
    /// Appends are refused while less than this is free on the disk, in bytes.
    pub reserve_bytes: u64,
}

/// The longest that [`Options::segment_bytes`] may be, in bytes: with the largest frame after it,
/// an offset still fits the four bytes that an index keeps of it.
pub const MAX_SEGMENT_BYTES: u64 = 1024 * 1024 * 1024;

/// How much space a segment gets ahead of its frames, in bytes: so that a full disk is met
/// before a commit is half written, and so that most syncs need not write the file's length.
const PREALLOCATED: u64 = 4 * 1024 * 1024;

/// The least of it, in bytes, for logs with tiny segments.
const PREALLOCATED_LEAST: u64 = 4 * 1024;

impl Default for Options {
    fn default() -> Options {
        Options { segment_bytes: 64 * 1024 * 1024, reserve_bytes: 256 * 1024 * 1024 }
    }
}

impl Options {
    fn preallocated(&self) -> u64 {
        self.segment_bytes.clamp(PREALLOCATED_LEAST, PREALLOCATED)
    }
}

/// What opening found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The log's id.
    pub log: LogId,
    /// The position of its last event.
    pub head: Position,
    /// How many segments it has.
    pub segments: usize,
    /// Whether it was made just now.
    pub created: bool,
    /// The torn frame that was cut off, if there was one.
    pub cut: Option<CutTail>,
}

/// A torn frame that a crash left; it was never acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutTail {
    /// The segment's file name.
    pub segment: String,
    /// Where it began, in bytes.
    pub offset: u64,
    /// How many bytes were overwritten with zeros, to the end of the file.
    pub bytes: u64,
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// Bytes are not what was written.
    #[error(
        "{segment} is damaged at byte {offset}: {reason}; run `scripta log verify`, and restore a backup or keep what is good with `scripta log salvage`"
    )]
    Corrupt {
        /// The segment's file name.
        segment: String,
        /// Where in it, in bytes.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The operating system refused.
    #[error("{what} failed: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Its reason.
        source: io::Error,
    },
    /// The index can't be used.
    #[error("the index of the log can't be used")]
    Index(#[source] ReadError),
}

/// How far an index has been rebuilt from the segments that it didn't hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// How many sealed segments are indexed by now.
    pub segments: usize,
    /// How many there are.
    pub of: usize,
}

/// The subfolder with the segments: the truth.
pub const LOG_FOLDER: &str = "log";

/// The subfolder with the index, which can be deleted: it is rebuilt.
pub const INDEX_FOLDER: &str = "index";

/// The log in a folder. Clones share it.
#[derive(Clone)]
pub struct SegmentLog {
    store: Arc<Store<FileDisk, SledIndex>>,
    writer: Arc<Writer>,
}

impl SegmentLog {
    /// Opens the log in a folder, or makes one there: its segments are in the subfolder
    /// [`LOG_FOLDER`], its index in [`INDEX_FOLDER`]. The log is locked until it is closed, or its
    /// last clone is dropped.
    ///
    /// # Errors
    ///
    /// [`OpenError::Locked`] with the holder's process id; [`OpenError::Corrupt`] with the segment
    /// and the offset; the operating system's.
    pub fn open(folder: &Path, options: Options) -> Result<(SegmentLog, Opened), OpenError> {
        SegmentLog::open_with(folder, options, &mut |_| {})
    }

    /// Like [`open`](SegmentLog::open), and tells how an index is being rebuilt, which takes a
    /// while on a long log.
    ///
    /// # Errors
    ///
    /// Those of [`open`](SegmentLog::open).
    pub fn open_with(
        folder: &Path,
        options: Options,
        progress: &mut dyn FnMut(Rebuilt),
    ) -> Result<(SegmentLog, Opened), OpenError> {
        let options =
            Options { segment_bytes: options.segment_bytes.min(MAX_SEGMENT_BYTES), ..options };
        let (segments, index) = (folder.join(LOG_FOLDER), folder.join(INDEX_FOLDER));
        let disk = FileDisk::create(&segments).map_err(|source| OpenError::Io {
            what: format!("creating {}", segments.display()),
            source,
        })?;
        let lock = disk.lock()?;
        let (core, opened) = std::thread::scope(|scope| {
            // sled and the last segment both take their time, and need nothing of each other.
            let opening = scope.spawn(|| SledIndex::open(&index));
            let index = || opening.join().unwrap_or_else(panicked).map_err(OpenError::Index);
            open::open(disk, index, options, Timestamp::now(), progress)
        })?;
        let store = core.store().clone();
        let writer = Writer::start(core, lock)
            .map_err(|source| OpenError::Io { what: "starting the writer".to_owned(), source })?;
        Ok((SegmentLog { store, writer: Arc::new(writer) }, opened))
    }

    /// Closes the log: what was taken is written, a mark follows, and the folder is unlocked.
    /// Later appends are refused. Dropping the last clone does the same without telling.
    ///
    /// # Errors
    ///
    /// [`AppendError::Poisoned`] if the log could not be ended cleanly; what was acknowledged is
    /// durable all the same.
    pub async fn close(&self) -> Result<(), AppendError> {
        self.writer.close().await
    }
}

fn panicked(_panic: Box<dyn std::any::Any + Send>) -> Result<SledIndex, ReadError> {
    Err(ReadError::Index { reason: "opening it ended in a panic".to_owned() })
}

impl EventLog for SegmentLog {
    fn id(&self) -> LogId {
        self.store.log
    }

    fn append(&self, commit: Commit) -> BoxFuture<'static, Result<Receipt, AppendError>> {
        let writer = self.writer.clone();
        Box::pin(async move { writer.append(commit).await })
    }

    fn receipt(
        &self,
        operation: OperationId,
    ) -> BoxFuture<'static, Result<Option<Receipt>, ReadError>> {
        reader::receipt(self.store.clone(), operation)
    }

    fn revision(&self, stream: StreamId) -> BoxFuture<'static, Result<Revision, ReadError>> {
        let known = self.store.tail().revision(stream);
        match known {
            Some(known) => Box::pin(futures::future::ready(Ok(known))),
            None => {
                let store = self.store.clone();
                Box::pin(reader::blocking(move || store.revision(stream)))
            }
        }
    }

    fn is_still_at(&self, stream: StreamId, revision: Revision, seen: Position) -> bool {
        self.store.is_still_at(stream, revision, seen)
    }

    fn read_stream(
        &self,
        stream: StreamId,
        after: Revision,
    ) -> BoxStream<'static, Result<Recorded, ReadError>> {
        reader::read_stream(self.store.clone(), stream, after)
    }

    fn read_at(&self, position: Position) -> BoxFuture<'static, Result<Recorded, ReadError>> {
        let store = self.store.clone();
        Box::pin(reader::blocking(move || store.read_at(position)))
    }

    fn read_all(
        &self,
        after: Position,
        filter: Filter,
    ) -> BoxStream<'static, Result<Recorded, ReadError>> {
        reader::read_all(self.store.clone(), after, filter)
    }

    fn head(&self) -> watch::Receiver<Position> {
        self.store.head.subscribe()
    }
}
