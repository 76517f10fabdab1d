//! The readers: files are read on blocking threads, in batches.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, Stream, StreamExt as _, TryStreamExt as _};
use tokio::sync::watch;
use tokio::task::JoinError;

use super::commit_bytes::Checksums;
use super::disk::Disk;
use super::frame::Frame;
use super::index::{Index, Place};
use super::store::{FrameReader, RecordReader, Store, visit_events};
use crate::log::{Filter, ReadError, Receipt, Recorded};
use crate::{OperationId, Position, Revision, StreamId};

/// About how many bytes of payload a batch has: it keeps a reader's memory small, and makes the
/// hop to a blocking thread rare.
const BATCH_BYTES: usize = 512 * 1024;

/// How many events a batch has at most: for streams of tiny events.
const BATCH_EVENTS: usize = 2_048;

/// Runs what may block on a thread that may.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
) -> Result<T, ReadError> {
    joined(tokio::task::spawn_blocking(work).await)
}

fn joined<T>(result: Result<Result<T, ReadError>, JoinError>) -> Result<T, ReadError> {
    match result {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_cancelled) => Err(ReadError::Closed),
        },
    }
}

pub(super) fn receipt<D: Disk, I: Index>(
    store: Arc<Store<D, I>>,
    operation: OperationId,
) -> BoxFuture<'static, Result<Option<Receipt>, ReadError>> {
    Box::pin(blocking(move || store.receipt(operation)))
}

pub(super) fn read_stream<D: Disk, I: Index>(
    store: Arc<Store<D, I>>,
    stream: StreamId,
    after: Revision,
) -> BoxStream<'static, Result<Recorded, ReadError>> {
    let places = {
        let store = store.clone();
        blocking(move || store.record_places(stream, after))
    };
    let batches = stream::once(places).map_ok(move |places| {
        let cursor = StreamCursor {
            store: store.clone(),
            stream,
            places: places.into_iter(),
            next: after.next(),
        };
        stream::try_unfold(cursor, |cursor| blocking(move || cursor.batch()))
    });
    flatten(batches.try_flatten())
}

/// Where the reading of a stream is.
struct StreamCursor<D: Disk, I: Index> {
    store: Arc<Store<D, I>>,
    stream: StreamId,
    places: std::vec::IntoIter<Place>,
    next: Revision,
}

impl<D: Disk, I: Index> StreamCursor<D, I> {
    fn batch(mut self) -> Result<Option<(Vec<Recorded>, Self)>, ReadError> {
        let mut batch = Batch::default();
        let mut reader = RecordReader::new(&self.store);
        while !batch.is_full() {
            let Some(place) = self.places.next() else { break };
            batch.push(reader.read(place, self.stream, self.next)?);
            self.next = self.next.next();
        }
        drop(reader);
        Ok((!batch.events.is_empty()).then_some((batch.events, self)))
    }
}

pub(super) fn read_all<D: Disk, I: Index>(
    store: Arc<Store<D, I>>,
    after: Position,
    filter: Filter,
) -> BoxStream<'static, Result<Recorded, ReadError>> {
    let head = store.head.subscribe();
    let next = after.next();
    let cursor = AllCursor { store, reader: None, next, until: filter.until };
    let follower = Follower { head, state: State::Waiting(cursor) };
    // Decoded where they are wanted, so that the thread that reads the files goes on meanwhile.
    let frames = stream::try_unfold(follower, Follower::batch);
    let frames = frames.map_ok(|batch| stream::iter(batch.into_iter().map(Ok))).try_flatten();
    let filter = Arc::new(filter);
    let decoded = move |frame: ReadFrame| stream::iter(frame.decoded(after, filter.clone()));
    flatten(frames.map_ok(decoded).try_flatten())
}

/// A frame that was read, whole and checked.
struct ReadFrame {
    segment: Position,
    frame: Frame,
}

impl ReadFrame {
    /// Its events that are wanted, some at a time.
    fn decoded(
        self,
        after: Position,
        filter: Arc<Filter>,
    ) -> impl Iterator<Item = Result<Vec<Recorded>, ReadError>> {
        let ReadFrame { segment, frame } = self;
        let (offset, count) = (frame.header.offset, frame.header.events as usize);
        let mut commits = frame.into_commits(Checksums::Trust);
        let is_wanted = move |event: &Recorded| {
            event.position > after
                && filter.until.is_none_or(|until| event.position <= until)
                && filter.passes(event.stream.category, event.event_type)
        };
        std::iter::from_fn(move || {
            let mut events = Vec::new();
            while events.len() < BATCH_EVENTS
                && let Some(commit) = commits.next()
            {
                let mut add = |event| {
                    if is_wanted(&event) {
                        if events.is_empty() {
                            events.reserve(count.min(BATCH_EVENTS));
                        }
                        events.push(event);
                    }
                };
                if let Err(error) = visit_events(segment, offset, commit, &mut add) {
                    return Some(Err(error));
                }
            }
            (!events.is_empty()).then_some(Ok(events))
        })
    }
}

/// Batches as single events.
fn flatten(
    batches: impl Stream<Item = Result<Vec<Recorded>, ReadError>> + Send + 'static,
) -> BoxStream<'static, Result<Recorded, ReadError>> {
    batches.map_ok(|events| stream::iter(events.into_iter().map(Ok))).try_flatten().boxed()
}

/// Follows the log, one batch ahead of its consumer while there is more.
struct Follower<D: Disk, I: Index> {
    head: watch::Receiver<Position>,
    state: State<D, I>,
}

/// What was read, and where to go on.
type BatchRead<D, I> = Result<(Vec<ReadFrame>, AllCursor<D, I>), ReadError>;

enum State<D: Disk, I: Index> {
    Waiting(AllCursor<D, I>),
    Reading(BoxFuture<'static, BatchRead<D, I>>),
}

impl<D: Disk, I: Index> Follower<D, I> {
    /// The next frames; `None` is the end.
    async fn batch(self) -> Result<Option<(Vec<ReadFrame>, Self)>, ReadError> {
        let Follower { mut head, state } = self;
        let read = match state {
            State::Reading(read) => read,
            State::Waiting(cursor) => {
                if cursor.is_done() {
                    return Ok(None);
                }
                let next = cursor.next;
                // The sender lives in the store that the cursor holds, so the wait can't fail.
                if head.wait_for(|head| *head >= next).await.is_err() {
                    return Ok(None);
                }
                cursor.read()
            }
        };
        let (frames, cursor) = read.await?;
        let there_is_more = *head.borrow() >= cursor.next && !cursor.is_done();
        let state =
            if there_is_more { State::Reading(cursor.read()) } else { State::Waiting(cursor) };
        Ok(Some((frames, Follower { head, state })))
    }
}

/// Where the reading of all events is.
struct AllCursor<D: Disk, I: Index> {
    store: Arc<Store<D, I>>,
    reader: Option<FrameReader<D, I>>,
    next: Position,
    until: Option<Position>,
}

impl<D: Disk, I: Index> AllCursor<D, I> {
    fn is_done(&self) -> bool {
        self.until.is_some_and(|until| self.next > until)
    }

    /// Begins to read the next batch, whether or not the result is polled.
    fn read(self) -> BoxFuture<'static, BatchRead<D, I>> {
        let read = tokio::task::spawn_blocking(move || self.batch());
        Box::pin(async move { joined(read.await) })
    }

    fn batch(mut self) -> BatchRead<D, I> {
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => FrameReader::at(self.store.clone(), self.next)?,
        };
        let (mut frames, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES && !self.is_done() {
            let Some(frame) = reader.next_frame()? else { break };
            if frame.next() > self.next {
                self.next = frame.next();
                bytes += frame.bytes().len();
                frames.push(ReadFrame { segment: reader.segment(), frame });
            }
        }
        self.reader = Some(reader);
        Ok((frames, self))
    }
}

#[derive(Default)]
struct Batch {
    events: Vec<Recorded>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, event: Recorded) {
        self.bytes += event.payload.len();
        self.events.push(event);
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.events.len() >= BATCH_EVENTS
    }
}
