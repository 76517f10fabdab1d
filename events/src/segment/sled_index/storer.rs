//! The thread that stores what was sealed, so that the log's writer need not wait for sled.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::{Shared, index_error};
use crate::log::ReadError;
use crate::segment::index::{Sealed, SegmentIndex};

/// How many sealed segments may wait in memory to be stored before a seal waits for one.
const PENDING: usize = 2;

pub(super) struct Storer {
    jobs: Option<Sender<(Arc<SegmentIndex>, Sealed)>>,
    pending: Arc<Pending>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Pending {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Storer {
    pub fn start(shared: Arc<Shared>) -> Result<Storer, ReadError> {
        let (jobs, received) = channel();
        let pending = Arc::new(Pending::default());
        let counted = pending.clone();
        let thread = std::thread::Builder::new()
            .name("scripta-index".to_owned())
            .spawn(move || store_all(&shared, &received, &counted))
            .map_err(index_error)?;
        Ok(Storer { jobs: Some(jobs), pending, thread: Some(thread) })
    }

    /// Waits until few enough segments are waiting.
    pub fn make_room(&self) {
        let count = self.pending.count.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.pending.changed.wait_while(count, |count| *count >= PENDING);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    pub fn store(&self, segment: Arc<SegmentIndex>, end: Sealed) {
        self.pending.add(1);
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send((segment, end)).is_ok());
        if !sent {
            // The thread is gone: the segment stays in memory, and is stored by the next opening.
            self.pending.add(-1);
        }
    }

    /// Stores what waits, and ends the thread.
    pub fn finish(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the log's indexer ended in a panic");
        }
    }
}

impl Pending {
    fn add(&self, change: isize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.saturating_add_signed(change);
        self.changed.notify_all();
    }
}

fn store_all(shared: &Shared, jobs: &Receiver<(Arc<SegmentIndex>, Sealed)>, pending: &Pending) {
    while let Ok((segment, end)) = jobs.recv() {
        // This thread alone changes the filters.
        let state = shared.state();
        let (mut commits, mut streams) = (state.commits.clone(), state.streams.clone());
        match shared.rows.store(&segment, end, &mut commits, &mut streams) {
            Ok(stored) => shared.change(|state| {
                state.stored(stored, segment.clone());
                state.commits = commits;
                state.streams = streams;
            }),
            Err(error) => {
                tracing::warn!(%error, segment = %segment.first(), "a segment could not be indexed and stays in memory");
            }
        }
        pending.add(-1);
    }
}
