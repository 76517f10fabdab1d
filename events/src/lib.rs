//! An event log for Rust programs: what happened, kept for ever, in order, and once.
//!
//! A program *appends* facts to streams and never changes them. The log tells it what happened
//! so far, tells others what happens now, and loses nothing that it acknowledged.
//!
//! This page is the manual: [quick start](#quick-start), [concepts](#concepts),
//! [guarantees](#guarantees), [expectations and checks](#expectations-and-checks),
//! [effect-once](#effect-once), [reading and following](#reading-and-following),
//! [typed events](#typed-events), [operating](#operating), [on disk](#on-disk),
//! [limits](#limits), [testing](#testing), [what it is not](#what-it-is-not). Whole programs stand
//! in `examples/`: a counter, a bank ledger and a live subscription.
//!
//! # Quick start
//!
//! Beside this crate you need `serde`, `uuid`, `futures`, and `tokio` with a runtime.
//!
//! ```
//! use futures::TryStreamExt as _;
//! use scripta_events::codec::{self, Payload};
//! use scripta_events::log::{Commit, EventLog as _, Expectation};
//! use scripta_events::segment::{Options, SegmentLog};
//! use scripta_events::{Category, Revision, RootId, StreamId};
//! use serde::{Deserialize, Serialize};
//! use uuid::Uuid;
//!
//! // 1. The facts: a payload each, in its first version, and the set that they form.
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct TaskAdded {
//!     title: String,
//! }
//! impl Payload for TaskAdded {
//!     const VERSION: u8 = 1;
//! }
//! scripta_events::events! {
//!     #[derive(Debug, PartialEq)]
//!     enum TaskEvent {
//!         0x7001 => TaskAdded, // its code: registered once, never reused
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 2. A log is a folder. It is made if it isn't there.
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let (log, opened) = SegmentLog::open(folder, Options::default())?;
//! assert!(opened.created);
//!
//! // 3. A stream holds the events of one thing; this one is a consistency unit of its own.
//! let id = Uuid::now_v7();
//! let stream = StreamId { category: Category(1), root: RootId(id), id };
//!
//! // 4. Append. When this returns, the event survives a power cut.
//! let added = TaskEvent::from(TaskAdded { title: "Read the manual".to_owned() });
//! let events = codec::encode_all(&[added])?;
//! let commit = Commit::new(stream.root).append(stream, Expectation::NoStream, events);
//! let receipt = log.append(commit.clone()).await?;
//! assert_eq!(receipt.revision(stream), Some(Revision(1)));
//!
//! // Was the answer lost? Repeat the commit: it has an operation id, and takes effect once.
//! assert!(log.append(commit).await?.replayed);
//!
//! // 5. Read it back.
//! let mut events = log.read_stream(stream, Revision::NONE);
//! while let Some(event) = events.try_next().await? {
//!     let TaskEvent::TaskAdded(task) = codec::decode(&event)?;
//!     println!("{}: {}", event.position, task.title);
//! }
//! log.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Concepts
//!
//! | term | meaning |
//! |---|---|
//! | event | a fact, with a [type](EventType), a schema version and a payload; never changed |
//! | stream | the events of one thing (an account, a chat), in order; named by a [`StreamId`] |
//! | root | the unit of consistency that a stream belongs to: the [`RootId`] in its id |
//! | [`Revision`] of a stream | how many events it has; its first event makes it 1 |
//! | [`Position`] | an event's place in the one global order: 1, 2, 3 … without gaps |
//! | [`Commit`](log::Commit) | all events of one command: written whole or not at all, over one or several streams of one root |
//! | [`Receipt`](log::Receipt) | what an operation did: its position, the revisions it left |
//! | [`OperationId`] | one intention to change something; it takes effect once, for ever |
//! | [`Fingerprint`] | a digest of what the operation was asked to do |
//! | [`Category`] | what kind of thing a stream is about; readers filter by it |
//!
//! **Choosing roots.** Streams that must change together, or whose rules span each other, share a
//! root: the accounts of a ledger, a chat with its branches. What has no rule in common has roots
//! of its own. One root can't be spread over machines later, so a root for everything is a choice
//! against growth.
//!
//! # Guarantees
//!
//! 1. **An acknowledged commit is durable.** `append` answers `Ok` after the bytes were synced
//!    (`fdatasync`). A killed process or a power cut at any later instant doesn't lose it, as long
//!    as the disk keeps what it said it had synced.
//! 2. **A commit is whole or not there**, whatever happens while it is being written.
//! 3. **Positions have no gaps** and never move; neither do the revisions of a stream.
//! 4. **Nothing is shown before it is durable**, to any reader.
//! 5. **An operation id takes effect once**, across restarts and crashes, for ever.
//! 6. **Damage is an error, not an answer.** All that is read from disk is checked against its
//!    checksums; what is not as it was written is refused with file and offset.
//!
//! ## When an append fails
//!
//! Every error but `OutcomeUnknown` means that *nothing was written*, and the operation id is free.
//!
//! | [`AppendError`](log::AppendError) | what happened | what to do |
//! |---|---|---|
//! | `Conflict` | a stream is not where the commit expects it; the error has both | read again, decide again, append again |
//! | `OperationReused` | this id did something else before | a fault of the caller: a new intention has a new id |
//! | `WrongRoot`, `StreamTwice` | the commit is malformed | correct the program |
//! | `EventTooLarge`, `CommitTooLarge`, `TooManyEvents`, `TooManyStreams` | over a [limit](#limits); the error has both figures | split it, or keep large things elsewhere |
//! | `DiskFull` | less is free than the reserve; reads go on | free space, and repeat: appends are taken again by themselves |
//! | `OutcomeUnknown` | writing or syncing failed midway | [reopen](#poison-and-reopening), and repeat *under the same operation id* |
//! | `Poisoned` | an earlier write failed | reopen, then repeat |
//! | `Read` | what the checks needed could not be read | as for reading, below |
//! | `Closed` | the log was closed | open it again |
//!
//! [`AppendError::is_retryable`](log::AppendError::is_retryable) tells those that the same commit
//! can survive. A future of `append` that was dropped is like `OutcomeUnknown`: it may have been
//! written or not, and repeating it tells.
//!
//! ## When reading or opening fails
//!
//! | error | what happened | what to do |
//! |---|---|---|
//! | [`ReadError`](log::ReadError)`::NoSuchPosition` | there is no such event yet | wait for it with `read_all` or `head` |
//! | `ReadError::Corrupt`, [`OpenError`](segment::OpenError)`::Corrupt` | bytes are not what was written | [verify](#verify) names the place; restore a [backup](#back-up-and-restore), or [salvage](#salvage) |
//! | `ReadError::Io`, `OpenError::Io` | the operating system refused | look at the disk and the permissions |
//! | `ReadError::Index`, `OpenError::Index` | the derived index can't be used | stop, delete the folder [`index`](segment::INDEX_FOLDER), open again: it is rebuilt |
//! | `OpenError::Locked` | a process has the log open; the error has its id | stop that process; one log has one writing process |
//! | [`CodecError`](codec::CodecError) | the bytes are sound, but no event that this program knows | a newer program wrote it: upgrade |
//!
//! # Expectations and checks
//!
//! A decision is made from what was read, and another writer may have been faster. So a commit
//! says what it expects of each stream, and the log compares in the same step in which it writes:
//!
//! | [`Expectation`](log::Expectation) | holds if the stream | for |
//! |---|---|---|
//! | `Any` | … always | facts that depend on nothing, such as measurements |
//! | `NoStream` | has no events | making something new |
//! | `Exists` | has at least one | adding to something that must be there |
//! | `Exactly(revision)` | has exactly so many | a decision from its state |
//!
//! What a decision relied on in a stream that it does *not* write goes into
//! [`checks`](log::Commit::check): "the ledger is not closed", without a write to the ledger that
//! all transfers would compete for. A conflict is no failure: load, decide, append again, a bounded
//! number of times. `examples/ledger.rs` does it over two streams and a check.
//!
//! The order of the checks is fixed: the operation id first, then the expectations, then root and
//! limits. So a repeat is answered as the first time, though its expectations hold no longer.
//!
//! # Effect-once
//!
//! Answers get lost: a client times out, a process dies between the write and the reply. Whoever
//! wants something makes an [`OperationId`] for the intention, once, and repeats it unchanged:
//!
//! ```
//! # use scripta_events::log::{AppendError, Commit, EventLog as _, Expectation, memory::MemoryLog};
//! # use scripta_events::{Category, Fingerprint, OperationId, RootId, StreamId};
//! # #[tokio::main]
//! # async fn main() -> Result<(), AppendError> {
//! # let log = MemoryLog::new();
//! # let id = uuid::Uuid::now_v7();
//! # let stream = StreamId { category: Category(1), root: RootId(id), id };
//! let operation = OperationId::random(); // comes with the request
//! let asked = Fingerprint::of(b"rename 1 to: Ledger"); // a version, then what was asked
//! let commit = Commit::new(stream.root)
//!     .once(operation, asked)
//!     .append(stream, Expectation::NoStream, Vec::new());
//!
//! let first = log.append(commit.clone()).await?;
//! let again = log.append(commit.clone()).await?;
//! assert!(again.replayed && again.position == first.position);
//!
//! // The same id for something else is refused, not answered with the first receipt.
//! let other = commit.once(operation, Fingerprint::of(b"rename 1 to: Accounts"));
//! assert!(matches!(log.append(other).await, Err(AppendError::OperationReused { .. })));
//! # Ok(())
//! # }
//! ```
//!
//! * The fingerprint is over what was *asked*, not over the events: a repeat may decide
//!   differently by now.
//! * Where the decision itself could refuse a repeat (the money is gone: the first one took it),
//!   ask for the [`receipt`](log::EventLog::receipt) before deciding.
//! * A commit without events leaves a receipt too, for a change that found nothing to change.
//! * A refused commit leaves no receipt. Refusals are decided anew each time.
//! * Effects outside (a mail, a payment) come *after* the commit that asks for them, from a reader
//!   of the log, and carry the operation id on, so that the other side can tell a repeat.
//!
//! # Reading and following
//!
//! | to … | call |
//! |---|---|
//! | rebuild one thing from its events | [`read_stream`](log::EventLog::read_stream), after a revision |
//! | build a view of many | [`read_all`](log::EventLog::read_all), after a position, with a [`Filter`](log::Filter) |
//! | look one event up | [`read_at`](log::EventLog::read_at) |
//! | know how far the log is | [`head`](log::EventLog::head), a watch |
//!
//! `read_all` is one stream from history into the present, without a gap or a duplicate where they
//! meet, however slow its reader. It ends at [`Filter::until`](log::Filter), if that is set; it
//! ends after an error, and when the log is closed. A slow reader holds up nobody and costs the log
//! nothing: it reads from the files.
//!
//! **Checkpoints.** Store the position of the last event together with what you computed from it,
//! in one step (one row, one file that is renamed, one transaction), and begin after it next time:
//! then each event counts once in your view. Store the log's [`id`](log::EventLog::id) beside it,
//! and begin anew if it is another, or if the position is beyond the head (a backup was restored).
//! `examples/subscription.rs` does that. With a filter, the checkpoint stays at the last event
//! that passed; that is correct, and only reads what was skipped once more.
//!
//! **Read your writes.** A receipt has a position. A view that has reached it contains the change.
//!
//! # Typed events
//!
//! The log takes bytes. [`codec`] makes them from types, and back: strictly, bounded, with a
//! version a payload, so that what is written today is read for ever. Each old version keeps its
//! struct, and is *upcast* when it is read. The how-to is in [its documentation](codec); a payload
//! that grew is in `examples/counter.rs`.
//!
//! # Operating
//!
//! A [`SegmentLog`](segment::SegmentLog) is a folder with the subfolders
//! [`log`](segment::LOG_FOLDER), the truth, and [`index`](segment::INDEX_FOLDER), which is derived
//! and can be deleted. Clones share it, and one process has it open at a time. End it with
//! [`close`](segment::SegmentLog::close), or drop the last clone; a process that is killed instead
//! costs a short recovery at the next opening: the last segment is read.
//!
//! ## Verify
//!
//! [`segment::verify`] reads every byte: checksums, the hash chain from the first frame to the
//! head, positions, revisions, and each event through a function of yours that may decode it. It
//! works beside a process that is writing. Keep the `head_hash` elsewhere, and
//! [`verify_with`](segment::verify_with) finds out whether the log still has that point: a log
//! whose end was cut off on purpose looks whole otherwise. Scripta's own command line has it as
//! `scripta log verify`, and what follows here as `scripta log backup`, `restore`, `tail` and so on.
//!
//! ```
//! # use scripta_events::log::{Commit, EventLog as _};
//! # use scripta_events::segment::{Options, SegmentLog};
//! use scripta_events::segment::{FileDisk, LOG_FOLDER, verify};
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let (log, _) = SegmentLog::open(folder, Options::default())?;
//! # log.append(Commit::new(scripta_events::RootId(uuid::Uuid::nil()))).await?;
//! let disk = FileDisk::existing(&folder.join(LOG_FOLDER));
//! let verified = verify(&disk, &mut |_event| Ok(()), &mut |_read, _total| {})?;
//! println!("{} events, {} commits", verified.events, verified.commits);
//! # assert_eq!((verified.events, verified.commits), (0, 1));
//! # Ok(())
//! # }
//! ```
//!
//! ## Back up and restore
//!
//! [`segment::backup`] copies a log while it is being written, and into the same folder again
//! only what is new: sealed segments never change. The copy is a log: it verifies and opens.
//! [`segment::restore`] makes a folder of it elsewhere, and verifies what it copies. Positions and
//! the log's id are the same there; views that were ahead of the backup must begin anew.
//!
//! ## Look from beside
//!
//! A [`segment::View`] reads the events of a log in order, and follows it, without its lock: for
//! tools beside the process that has the log open. It shows only what is durable.
//!
//! ## Salvage
//!
//! [`segment::salvage`] makes a new log of what can be kept of a damaged one, which it only reads:
//! the longest beginning that is right. What could be read behind the damage is shown, so that a
//! person can bring it in again as new.
//!
//! ## Disk full
//!
//! Appends are refused with `DiskFull` while less than
//! [`reserve_bytes`](segment::Options::reserve_bytes) is free. Space for the next writes is
//! allocated ahead, so that a full disk is met *before* a commit is half written. Reads go on,
//! nothing needs to be restarted, and appends are taken again once there is space.
//!
//! ## Poison and reopening
//!
//! After a failed write or sync nobody knows what is on the disk, and a second sync would lie: the
//! kernel may have dropped the pages. So the log takes no appends any more (`Poisoned`), the
//! callers of that moment get `OutcomeUnknown`, and reads of what is durable go on. Drop all clones
//! and readers and open it again: opening looks at what is really there, writes the tail again and
//! syncs it. Then repeat what was unknown under the same operation ids.
//!
//! ## After a crash
//!
//! A frame is written after the one before it was synced, so only the last one can be torn. It was
//! never acknowledged; opening cuts it off and says so in [`Opened::cut`](segment::Opened). A bad
//! frame anywhere else is damage, which is never mended in silence. What remains is told in
//! [`segment`].
//!
//! # On disk
//!
//! Append-only files, `log/<first position>.segment`: frames, one a sync, with a CRC-32C each and
//! the BLAKE3 hash of the frame before. All tables are in [`segment::format`](mod@segment::format).
//! A file of every version of the format is kept in the tests, and stays readable for ever.
//!
//! # Limits
//!
//! | what | limit | |
//! |---|---|---|
//! | payload of an event | 16 MiB | [`MAX_EVENT_BYTES`](log::MAX_EVENT_BYTES) |
//! | payloads and metadata of a commit | 32 MiB | [`MAX_COMMIT_BYTES`](log::MAX_COMMIT_BYTES) |
//! | events of a commit; streams of a commit | 4,096 each | [`MAX_COMMIT_EVENTS`](log::MAX_COMMIT_EVENTS) |
//! | length of a segment | 64 MiB unless told, at most 1 GiB | [`Options`](segment::Options), [`MAX_SEGMENT_BYTES`](segment::MAX_SEGMENT_BYTES) |
//! | free space kept | 256 MiB unless told | [`Options`](segment::Options) |
//! | processes that write one log | 1 | readers of files beside it: `verify`, `backup` |
//! | events, streams, operations | what the disk holds | in memory: the newest sealed segment's index and what is newer, and filters of about three bytes a commit and a stream |
//!
//! Inclusive all. What is over a limit is refused with the figure and the limit, before anything is
//! written.
//!
//! # Testing
//!
//! [`MemoryLog`](log::memory::MemoryLog) is the same contract without a disk, for tests of your
//! own. Feature `conformance` has the suite that every implementation of
//! [`EventLog`](log::EventLog) passes (`event_log_conformance!`). Feature `simulation` has a disk
//! that loses, tears and reorders what was not synced, and a simulator that drives the log over it
//! from a seed.
//!
//! # What it is not
//!
//! * **No database.** There are no queries but by stream and by position. Views are yours to build,
//!   from `read_all`.
//! * **No message broker.** There are no consumer groups and no acknowledgements by readers; a
//!   reader keeps its own position.
//! * **Not on many machines.** One process writes. [`EventLog`](log::EventLog) is a trait so that
//!   another engine can stand behind it; keeping commits within one root keeps that door open.
//! * **Not forgetful.** Nothing is deleted or compacted. Keep what must be erasable elsewhere, or
//!   encrypted under a key that you can destroy.
//! * **No protection from whoever can write its files.** Checksums and the hash chain tell damage
//!   and, with a head hash that is kept elsewhere, tampering; they do not prevent it.

pub mod codec;
pub mod domain;
mod ids;
pub mod log;
pub mod segment;

pub use ids::{
    Category, EventType, Fingerprint, LogId, OperationId, Position, Revision, RootId, StreamId,
    Timestamp,
};
