//! Zeros that are written ahead of the writer, so that a sync need not write metadata.
//!
//! Space that was only allocated is marked as unwritten in the file system's own tables, and the
//! first write to each block must change them: a sync then waits for the file system's journal
//! too. Where zeros were written before, a frame is an overwrite, and its sync is the data alone.
//! The price is that every byte is written twice, which is why large frames, whose syncs are
//! mostly data, go without.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// How much is written at once, in bytes: the writer waits for a piece that it runs into, and so
/// does a sync that meets one.
const CHUNK: u64 = 512 * 1024;

/// How far before the zeros the writer must be, in bytes, for them to be worth beginning.
const LEAD: u64 = 128 * 1024;

/// What a page of the file system has, in bytes: a piece begins with one.
const BLOCK: u64 = 4096;

/// From so many writes on, in this file, it is one that is written to again and again.
const WRITES: u64 = 16;

/// Up to this average size of the last writes, in bytes, a sync is mostly metadata.
const WORTH_IT: u64 = 64 * 1024;

/// How much a write counts in that average, as a divisor.
const AVERAGE_OVER: u64 = 8;

/// Writes zeros into the fresh space of one file, in a thread of its own.
pub(super) struct Ahead {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    /// Whose writes are on the disk when they return, so that they leave the writer's syncs
    /// nothing to do.
    file: File,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Allocated by this process and not written to, with zeros or else: what may be overwritten.
    fresh: Range<u64>,
    /// Where the writer is.
    written: u64,
    /// The part of it that is being written.
    busy: Option<Range<u64>>,
    writes: u64,
    average: u64,
    ended: bool,
}

impl Ahead {
    /// For a file, through another handle whose writes are synced.
    pub fn new(synced: File) -> Ahead {
        let shared = Shared { file: synced, state: Mutex::default(), changed: Condvar::new() };
        Ahead { shared: Arc::new(shared), thread: Mutex::default() }
    }

    /// The file was extended by this range.
    pub fn allocated(&self, range: Range<u64>) {
        let mut state = self.shared.state();
        let start = if state.fresh.end == range.start { state.fresh.start } else { range.start };
        state.fresh = start..range.end;
        self.shared.changed.notify_all();
    }

    /// This range is about to be written: no zeros go there from now on.
    pub fn claim(&self, range: Range<u64>) {
        let mut state = self.shared.wait_while(|state| {
            let busy = state.busy.as_ref();
            busy.is_some_and(|busy| busy.start < range.end && range.start < busy.end)
        });
        let length = range.end.saturating_sub(range.start);
        state.writes += 1;
        state.average += length / AVERAGE_OVER;
        state.average -= state.average / AVERAGE_OVER;
        state.written = range.end;
        state.fresh.start = state.fresh.start.max(range.end);
        if state.ended || state.next().is_none() {
            return;
        }
        drop(state);
        self.start();
        self.shared.changed.notify_all();
    }

    /// Writes no more zeros; none are being written when this returns.
    pub fn end(&self) {
        self.shared.state().ended = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes zeros ended in a panic");
        }
    }

    fn start(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_some() {
            return;
        }
        let shared = self.shared.clone();
        let spawned = std::thread::Builder::new()
            .name("scripta-zeros".to_owned())
            .spawn(move || shared.run());
        match spawned {
            Ok(started) => *thread = Some(started),
            Err(error) => {
                tracing::debug!(%error, "no zeros are written ahead");
                self.shared.state().ended = true;
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn run(&self) {
        while let Some(range) = self.next() {
            let result = self.write(range.clone());
            let mut state = self.state();
            state.busy = None;
            if let Err(error) = result {
                // The space is there all the same, and what is wrong with it the writer will see.
                tracing::debug!(%error, "no more zeros are written ahead");
                state.ended = true;
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for space that is worth it, and takes it.
    fn next(&self) -> Option<Range<u64>> {
        let mut state = self.wait_while(|state| !state.ended && state.next().is_none());
        let range = state.next().filter(|_| !state.ended)?;
        state.fresh.start = range.end;
        state.busy = Some(range.clone());
        Some(range)
    }

    fn write(&self, range: Range<u64>) -> io::Result<()> {
        self.file.write_all_at(&vec![0; (range.end - range.start) as usize], range.start)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is whole when the lock is let go of.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, condition: impl FnMut(&mut State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_while(self.state(), condition);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What is to be written next, if anything is worth it.
    fn next(&self) -> Option<Range<u64>> {
        let is_worth_it = self.writes >= WRITES && self.average <= WORTH_IT;
        let start = self.fresh.start.max(self.written + LEAD).next_multiple_of(BLOCK);
        let end = self.fresh.end.min(start + CHUNK);
        (is_worth_it && start < end).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::segment::FileDisk;
    use crate::segment::disk::{Disk as _, DiskFile as _, read_full};

    const LENGTH: u64 = 4 * 1024 * 1024;

    fn synced(path: &std::path::Path) -> Ahead {
        Ahead::new(std::fs::OpenOptions::new().write(true).open(path).unwrap())
    }

    /// Waits until there is nothing left to do.
    fn idle(ahead: &Ahead) {
        drop(ahead.shared.wait_while(|state| state.busy.is_some() || state.next().is_some()));
    }

    #[test]
    fn zeros_go_where_nothing_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // Not zeros, so that it is seen where they were written.
        std::fs::write(&path, vec![1; LENGTH as usize]).unwrap();
        let ahead = synced(&path);
        ahead.allocated(BLOCK..LENGTH);
        for nth in 0..WRITES {
            ahead.claim(BLOCK + nth * 100..BLOCK + (nth + 1) * 100);
        }
        idle(&ahead);
        let bytes = std::fs::read(&path).unwrap();
        let first_zero = bytes.iter().position(|byte| *byte == 0).unwrap() as u64;
        assert_eq!(first_zero, (BLOCK + WRITES * 100 + LEAD).next_multiple_of(BLOCK));
        assert!(bytes.iter().skip(first_zero as usize).all(|byte| *byte == 0));
    }

    #[test]
    fn large_writes_and_few_writes_go_without() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![1; LENGTH as usize]).unwrap();
        for (count, size) in [(WRITES - 1, 100), (WRITES, 10 * WORTH_IT)] {
            let ahead = synced(&path);
            ahead.allocated(0..LENGTH * 16);
            for nth in 0..count {
                ahead.claim(nth * size..(nth + 1) * size);
            }
            ahead.end();
            assert!(std::fs::read(&path).unwrap().iter().all(|byte| *byte == 1));
        }
    }

    /// Against a writer that goes on as fast as it can.
    #[test]
    fn nothing_that_was_written_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let disk = FileDisk::create(folder.path()).unwrap();
        let file = disk.create("file").unwrap();
        let (mut end, mut expected, mut state) = (0, Vec::new(), 7_u64);
        while end < 3 * LENGTH {
            file.allocate((end + LENGTH / 2).next_multiple_of(LENGTH)).unwrap();
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = vec![(state >> 40) as u8 | 1; (state >> 50) as usize + 1];
            file.write_at(&bytes, end).unwrap();
            end += bytes.len() as u64;
            expected.extend(bytes);
        }
        file.set_len(end + BLOCK).unwrap();
        let mut read = vec![1; expected.len() + BLOCK as usize];
        assert_eq!(read_full(&file, &mut read, 0).unwrap(), read.len());
        expected.resize(read.len(), 0);
        assert!(read == expected);
        assert_eq!(file.len().unwrap(), end + BLOCK, "nothing is written after the cut");
    }
}
