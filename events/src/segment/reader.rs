//! The readers: files are read on blocking threads, in batches.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;

use super::disk::Disk;
use super::index::{Index, Place};
use super::store::{FrameReader, RecordReader, Store};
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
    match tokio::task::spawn_blocking(work).await {
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
    stream::once(places)
        .map(move |places| match places {
            Ok(places) => stream_batches(store.clone(), stream, after, places),
            Err(error) => stream::iter([Err(error)]).boxed(),
        })
        .flatten()
        .boxed()
}

fn stream_batches<D: Disk, I: Index>(
    store: Arc<Store<D, I>>,
    stream: StreamId,
    after: Revision,
    places: Vec<Place>,
) -> BoxStream<'static, Result<Recorded, ReadError>> {
    let first = (places.into_iter(), after.next());
    stream::unfold(Some(first), move |state| {
        let store = store.clone();
        async move {
            let (mut places, mut revision) = state?;
            let read = blocking(move || {
                let mut reader = RecordReader::new(&store);
                let mut batch = Batch::default();
                while !batch.is_full() {
                    let Some(place) = places.next() else { break };
                    batch.push(reader.read(place, stream, revision)?);
                    revision = revision.next();
                }
                Ok((batch.events, places, revision))
            });
            match read.await {
                Ok((events, _, _)) if events.is_empty() => None,
                Ok((events, places, revision)) => {
                    let events: Vec<_> = events.into_iter().map(Ok).collect();
                    Some((stream::iter(events), Some((places, revision))))
                }
                Err(error) => Some((stream::iter(vec![Err(error)]), None)),
            }
        }
    })
    .flatten()
    .boxed()
}

pub(super) fn read_all<D: Disk, I: Index>(
    store: Arc<Store<D, I>>,
    after: Position,
    filter: Filter,
) -> BoxStream<'static, Result<Recorded, ReadError>> {
    let head = store.head.subscribe();
    let follower = Follower { store, head, reader: None, next: after.next(), filter };
    stream::unfold(Some(follower), |follower| async move {
        let mut follower = follower?;
        match follower.batch().await {
            Some(Ok(events)) => {
                let events: Vec<_> = events.into_iter().map(Ok).collect();
                Some((stream::iter(events), Some(follower)))
            }
            Some(Err(error)) => Some((stream::iter(vec![Err(error)]), None)),
            None => None,
        }
    })
    .flatten()
    .boxed()
}

struct Follower<D: Disk, I: Index> {
    store: Arc<Store<D, I>>,
    head: watch::Receiver<Position>,
    reader: Option<FrameReader<D, I>>,
    next: Position,
    filter: Filter,
}

impl<D: Disk, I: Index> Follower<D, I> {
    /// The next events that pass; perhaps none, when a batch was all filtered away. `None` is
    /// the end.
    async fn batch(&mut self) -> Option<Result<Vec<Recorded>, ReadError>> {
        let next = self.next;
        if self.filter.until.is_some_and(|until| next > until) {
            return None;
        }
        // The sender lives in the store that this reader holds, so the wait can't fail.
        self.head.wait_for(|head| *head >= next).await.ok()?;
        let reader = self.reader.take();
        let (store, filter) = (self.store.clone(), self.filter.clone());
        let read = blocking(move || {
            let mut reader = match reader {
                Some(reader) => reader,
                None => FrameReader::at(store, next)?,
            };
            let (events, next) = read_batch(&mut reader, next, &filter)?;
            Ok((reader, events, next))
        });
        match read.await {
            Ok((reader, events, next)) => {
                self.reader = Some(reader);
                self.next = next;
                Some(Ok(events))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// What passes of the next frames, and the position to go on at.
fn read_batch<D: Disk, I: Index>(
    reader: &mut FrameReader<D, I>,
    mut next: Position,
    filter: &Filter,
) -> Result<(Vec<Recorded>, Position), ReadError> {
    let mut batch = Batch::default();
    while !batch.is_full()
        && let Some(frame) = reader.next_frame()?
    {
        if frame.next() <= next {
            continue;
        }
        for event in reader.events(&frame)? {
            if event.position < next {
                continue;
            }
            if filter.until.is_some_and(|until| event.position > until) {
                return Ok((batch.events, event.position));
            }
            next = event.position.next();
            if filter.passes(event.stream.category, event.event_type) {
                batch.push(event);
            }
        }
        batch.frames += 1;
    }
    Ok((batch.events, next))
}

#[derive(Default)]
struct Batch {
    events: Vec<Recorded>,
    bytes: usize,
    frames: usize,
}

impl Batch {
    fn push(&mut self, event: Recorded) {
        self.bytes += event.payload.len();
        self.events.push(event);
    }

    fn is_full(&self) -> bool {
        // The frames count too, so that a filter that lets nothing pass still lets others run.
        self.bytes >= BATCH_BYTES
            || self.events.len() >= BATCH_EVENTS
            || self.frames >= BATCH_EVENTS
    }
}
