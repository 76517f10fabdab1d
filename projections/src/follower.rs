//! Following the log: batches of events, in order, on a thread of their own.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use scripta_events::Position;
use scripta_events::codec::DecodeError;
use scripta_events::log::{EventLog, Filter, ReadError, Recorded};
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::unconstrained;

use crate::QueryError;
use crate::error::REBUILD;

/// The most events in a batch: the more, the fewer times a row is written that many of them change.
/// A commit of this many takes some 50 ms, which only a projection far behind has.
const MAX_BATCH_EVENTS: usize = 8_192;

/// The payload bytes after which a batch takes no more events: a bound on its memory.
const MAX_BATCH_BYTES: usize = 8 * 1024 * 1024;

/// How long a projection that is up to date gathers events before it applies the next: a commit
/// costs the more per event the fewer it has. Whoever waits for an event ends it.
const GATHER: Duration = Duration::from_millis(25);

/// A projection that is this many events behind the log, or more, has enough to apply.
const FAR_BEHIND: u64 = 1_024;

/// What is made of the events.
pub(crate) trait Projection: Send + 'static {
    /// Applies events that follow each other without a gap, and tells how far it came: on an
    /// error, up to which position the events before the bad one are applied.
    async fn apply(&mut self, batch: &[Recorded]) -> Result<(), Halt>;

    /// Commits what was applied; called once, when the following ends.
    fn finish(&mut self) -> Result<(), ApplyError>;
}

/// An event that could not be applied.
#[derive(Debug)]
pub(crate) struct Halt {
    /// The last position that was applied.
    pub(crate) applied: Position,
    /// What is wrong with the one after it.
    pub(crate) error: ApplyError,
}

/// Why a projection stops.
#[derive(Debug, Error)]
pub(crate) enum ApplyError {
    /// The event is not known here, or not readable.
    #[error("{}: {}", .0, .0.source)]
    Decode(DecodeError),
    /// The event contradicts the events before it.
    #[error("the event at position {position} does not fit what was before it: {reason}")]
    Inconsistent { position: Position, reason: String },
    /// Positions are missing.
    #[error("position {expected} was next and {found} came: positions are missing")]
    Gap { expected: Position, found: Position },
    /// Positions come again.
    #[error("position {expected} was next and {found} came again")]
    Overlap { expected: Position, found: Position },
    /// The log could not be read.
    #[error("the log can't be read: {0}")]
    Log(ReadError),
    /// The log ended.
    #[error("the log was closed")]
    Ended,
    /// The rows could not be read or written.
    #[error("{0}{cause}", cause = cause(.0))]
    Rows(QueryError),
    /// The message index could not be written.
    #[error("the message index can't be written: {0}; {REBUILD}")]
    Index(String),
    /// The code itself failed.
    #[error(
        "its code failed at an event after position {0}, as it does over damaged files; {REBUILD}, and if it stops there again, report it as a fault of this program"
    )]
    Panicked(Position),
}

/// Where a follower is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The last position that was applied.
    pub(crate) position: Position,
    /// Why it went no further.
    pub(crate) stopped: Option<Arc<str>>,
}

/// A projection that follows the log on its own thread.
pub(crate) struct Follower {
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    progress: watch::Receiver<Progress>,
    stop: watch::Sender<bool>,
    wanted: watch::Sender<Position>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Begins to follow the log after `position`.
    pub(crate) fn start<P: Projection>(
        name: &'static str,
        version: u32,
        projection: P,
        log: Arc<dyn EventLog>,
        position: Position,
    ) -> std::io::Result<Follower> {
        let (progress, watching) = watch::channel(Progress { position, stopped: None });
        let (stop, stopping) = watch::channel(false);
        let (wanted, waited_for) = watch::channel(position);
        // A runtime of its own drives whatever the log's streams need, on this thread only.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut task = Task { name, projection, position, progress, stopping, waited_for };
        let thread = std::thread::Builder::new()
            .name(format!("projection-{name}"))
            .spawn(move || runtime.block_on(task.run(log)))?;
        Ok(Follower { name, version, progress: watching, stop, wanted, thread: Some(thread) })
    }

    /// Where it is now.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Whether it has applied this position.
    pub(crate) fn has_reached(&self, position: Position) -> bool {
        self.progress.borrow().position >= position
    }

    /// Says that somebody waits for this position.
    pub(crate) fn want(&self, position: Position) {
        self.wanted.send_if_modified(|wanted| {
            let is_new = position > *wanted;
            *wanted = position.max(*wanted);
            is_new
        });
    }

    /// A watch of where it is.
    pub(crate) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    /// Asks it to end, without waiting.
    pub(crate) fn ask_to_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Ends it and waits until it has committed what it applied.
    pub(crate) fn stop(&mut self) {
        self.ask_to_stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(projection = self.name, "the thread of a projection failed");
        }
    }
}

struct Task<P> {
    name: &'static str,
    projection: P,
    position: Position,
    progress: watch::Sender<Progress>,
    stopping: watch::Receiver<bool>,
    /// The last position that somebody waited for.
    waited_for: watch::Receiver<Position>,
}

impl<P: Projection> Task<P> {
    /// Follows until it is asked to stop or can't go on, and says why.
    async fn run(&mut self, log: Arc<dyn EventLog>) {
        let followed = AssertUnwindSafe(self.follow(log)).catch_unwind().await;
        let result = followed.unwrap_or_else(|_| Err(ApplyError::Panicked(self.position)));
        // What was applied before a failure is kept, too: it describes its own position.
        let finished = self.projection.finish();
        if let Err(error) = result.and(finished) {
            let reason = error.to_string();
            let position = self.position.0;
            tracing::error!(projection = self.name, position, reason, "a projection stopped");
            self.publish(Some(reason.into()));
        }
    }

    async fn follow(&mut self, log: Arc<dyn EventLog>) -> Result<(), ApplyError> {
        let mut stopping = self.stopping.clone();
        let head = log.head();
        let mut events = log.read_all(self.position, Filter::default());
        loop {
            let first = tokio::select! {
                biased;
                _ = stopping.wait_for(|stop| *stop) => return Ok(()),
                first = events.next() => first.ok_or(ApplyError::Ended)?,
            };
            let (batch, failure) = fill(first, &mut events);
            self.check_order(&batch)?;
            if let Err(Halt { applied, error }) = self.projection.apply(&batch).await {
                self.position = applied;
                return Err(error);
            }
            if let Some(last) = batch.last() {
                self.position = last.position;
                self.publish(None);
            }
            failure.map_or(Ok(()), |error| Err(ApplyError::Log(error)))?;
            if head.borrow().0.saturating_sub(self.position.0) < FAR_BEHIND {
                self.gather().await;
            }
        }
    }

    /// Lets more events come, until somebody waits for one or the time is over.
    async fn gather(&mut self) {
        let applied = self.position;
        tokio::select! {
            _ = self.stopping.wait_for(|stop| *stop) => {}
            _ = self.waited_for.wait_for(|wanted| *wanted > applied) => {}
            () = tokio::time::sleep(GATHER) => {}
        }
    }

    fn check_order(&self, batch: &[Recorded]) -> Result<(), ApplyError> {
        let mut expected = self.position.next();
        for event in batch {
            let found = event.position;
            if found > expected {
                return Err(ApplyError::Gap { expected, found });
            }
            if found < expected {
                return Err(ApplyError::Overlap { expected, found });
            }
            expected = found.next();
        }
        Ok(())
    }

    fn publish(&self, stopped: Option<Arc<str>>) {
        self.progress.send_replace(Progress { position: self.position, stopped });
    }
}

/// The first event and those that are ready behind it, within the bounds of a batch; and the error
/// that ended them.
fn fill(
    first: Result<Recorded, ReadError>,
    events: &mut BoxStream<'static, Result<Recorded, ReadError>>,
) -> (Vec<Recorded>, Option<ReadError>) {
    let mut batch = Vec::new();
    let mut bytes = 0_usize;
    let mut next = Some(first);
    while let Some(item) = next {
        match item {
            Ok(event) => {
                bytes = bytes.saturating_add(event.payload.len());
                batch.push(event);
            }
            Err(error) => return (batch, Some(error)),
        }
        if batch.len() >= MAX_BATCH_EVENTS || bytes >= MAX_BATCH_BYTES {
            break;
        }
        // An end of the stream is met again, and told, by the next wait. Unconstrained, since
        // tokio's budget would make every batch end after 128 events.
        next = unconstrained(events.next()).now_or_never().flatten();
    }
    (batch, None)
}

fn cause(error: &QueryError) -> String {
    let source = std::error::Error::source(error);
    source.map(|source| format!(": {source}")).unwrap_or_default()
}

impl From<QueryError> for ApplyError {
    fn from(error: QueryError) -> ApplyError {
        ApplyError::Rows(error)
    }
}

impl From<DecodeError> for ApplyError {
    fn from(error: DecodeError) -> ApplyError {
        ApplyError::Decode(error)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures::stream;
    use scripta_events::domain::ProjectId;

    use super::*;
    use crate::testing::History;

    struct Nothing;

    impl Projection for Nothing {
        async fn apply(&mut self, _batch: &[Recorded]) -> Result<(), Halt> {
            Ok(())
        }

        fn finish(&mut self) -> Result<(), ApplyError> {
            Ok(())
        }
    }

    fn order(before: u64, positions: &[u64]) -> Result<(), ApplyError> {
        let history = History::new();
        history.unknown(ProjectId::random().stream());
        let mut events = history.log.read_all(Position::START, Filter::until(Position(1)));
        let event = events.next().now_or_never().flatten().unwrap().unwrap();
        let batch: Vec<Recorded> = positions
            .iter()
            .map(|position| Recorded { position: Position(*position), ..event.clone() })
            .collect();
        let (progress, _) = watch::channel(Progress { position: Position(before), stopped: None });
        let stopping = watch::channel(false).1;
        let position = Position(before);
        let waited_for = watch::channel(position).1;
        Task { name: "test", projection: Nothing, position, progress, stopping, waited_for }
            .check_order(&batch)
    }

    #[test]
    fn gaps_and_overlaps_of_positions_are_errors() {
        assert!(order(4, &[5, 6, 7]).is_ok());
        let gap = order(4, &[5, 7]).unwrap_err();
        assert!(matches!(gap, ApplyError::Gap { expected: Position(6), found: Position(7) }));
        let overlap = order(4, &[4, 5]).unwrap_err();
        assert!(matches!(overlap, ApplyError::Overlap { expected: Position(5), .. }));
    }

    #[test]
    fn a_batch_ends_at_its_bound_and_keeps_what_came_before_an_error() {
        let history = History::new();
        for _ in 0..MAX_BATCH_EVENTS + 5 {
            history.unknown(ProjectId::random().stream());
        }
        let mut events = history.log.read_all(Position::START, Filter::default());
        let first = events.next().now_or_never().flatten().unwrap();
        let (batch, failure) = fill(first, &mut events);
        assert_eq!((batch.len(), failure.is_none()), (MAX_BATCH_EVENTS, true));

        let good = Ok(batch.into_iter().next().unwrap());
        let mut broken = stream::iter([Err(ReadError::Closed)]).boxed();
        let (batch, failure) = fill(good, &mut broken);
        assert_eq!((batch.len(), failure.is_some()), (1, true));
    }
}
