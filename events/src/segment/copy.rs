//! Writing copies of segments: each under a temporary name, and all of them shown at once.

use std::io;

use super::TEMPORARY_SUFFIX;
use super::disk::{Disk, DiskFile};
use super::format::{Chain, FrameKind, SegmentHeader, segment_first, segment_name};
use super::frame::{self, FramePlace};
use super::scan::Progress;
use crate::{LogId, Position};

/// How much is written at once, in bytes.
const CHUNK: usize = 1024 * 1024;

/// What could not be written.
#[derive(Debug)]
pub(super) struct WriteFailed {
    pub what: String,
    pub source: io::Error,
}

/// The segments that are being added to a folder. Until they are published, the folder has the
/// log that it had; dropped before, they are gone.
pub(super) struct Copies<'a, D: Disk> {
    disk: &'a D,
    /// Ascending.
    drafts: Vec<Position>,
}

/// One of them.
pub(super) struct Draft<F> {
    first: Position,
    file: F,
    buffer: Vec<u8>,
    written: u64,
}

/// Where a copy ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub offset: u64,
    pub chain: Chain,
}

impl<'a, D: Disk> Copies<'a, D> {
    /// Begins, and removes what an earlier attempt left.
    pub fn begin(disk: &'a D) -> Result<Copies<'a, D>, WriteFailed> {
        let sweep = || -> io::Result<()> {
            for name in disk.list()? {
                if name.strip_suffix(TEMPORARY_SUFFIX).and_then(segment_first).is_some() {
                    disk.remove(&name)?;
                }
            }
            Ok(())
        };
        sweep().map_err(|source| WriteFailed { what: "clearing the folder".to_owned(), source })?;
        Ok(Copies { disk, drafts: Vec::new() })
    }

    /// Begins the next segment.
    pub fn draft(&mut self, header: &SegmentHeader) -> Result<Draft<D::File>, WriteFailed> {
        let first = header.first;
        let file = self.disk.create(&temporary(first)).map_err(|source| failed(first, source))?;
        self.drafts.push(first);
        Ok(Draft { first, file, buffer: header.encode(), written: 0 })
    }

    /// Gives the last one up again.
    pub fn discard(&mut self) -> Result<(), WriteFailed> {
        let Some(first) = self.drafts.pop() else { return Ok(()) };
        self.disk.remove(&temporary(first)).map_err(|source| failed(first, source))
    }

    /// Shows all of them, whatever happens meanwhile: until the lowest has its name, the folder
    /// holds the log that it held before, or one with a segment missing, which doesn't open.
    pub fn publish(mut self) -> Result<(), WriteFailed> {
        let drafts = std::mem::take(&mut self.drafts);
        let Some((lowest, others)) = drafts.split_first() else { return Ok(()) };
        let show = |first: &Position| {
            let shown = self.disk.rename(&temporary(*first), &segment_name(*first));
            shown.map_err(|source| failed(*first, source))
        };
        let sync = || self.disk.sync_folder().map_err(|source| failed(*lowest, source));
        others.iter().rev().try_for_each(show)?;
        if !others.is_empty() {
            sync()?;
        }
        show(lowest)?;
        sync()
    }
}

impl<D: Disk> Drop for Copies<'_, D> {
    fn drop(&mut self) {
        for first in &self.drafts {
            // What can't be removed now is removed when the next attempt begins.
            let _left = self.disk.remove(&temporary(*first));
        }
    }
}

impl<F: DiskFile> Draft<F> {
    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WriteFailed> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Ends the copy as a log ends that was closed, so that whatever happens to it later is seen
    /// as damage: with a close mark, unless the last frame was a closing one. Syncs it.
    pub fn close(mut self, log: LogId, progress: &Progress) -> Result<End, WriteFailed> {
        let mut end = End { offset: progress.offset, chain: progress.chain };
        if !matches!(progress.last, Some(FrameKind::CloseMark | FrameKind::SealMark)) {
            let (mark, chain) = mark(log, progress, FrameKind::CloseMark);
            self.push(&mark)?;
            end = End { offset: progress.offset + mark.len() as u64, chain };
        }
        self.flush()?;
        self.file.sync().map_err(|source| failed(self.first, source))?;
        Ok(end)
    }

    fn flush(&mut self) -> Result<(), WriteFailed> {
        let written = self.file.write_at(&self.buffer, self.written);
        written.map_err(|source| failed(self.first, source))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// The mark that would follow the frames read so far, and its hash.
pub(super) fn mark(log: LogId, progress: &Progress, kind: FrameKind) -> (Vec<u8>, Chain) {
    let Progress { offset, next: first, time, chain, .. } = *progress;
    let bytes = frame::mark(FramePlace { log, offset, first, time, chain }, kind);
    let hash = frame::hash(&bytes);
    (bytes, hash)
}

fn temporary(first: Position) -> String {
    format!("{}{TEMPORARY_SUFFIX}", segment_name(first))
}

fn failed(first: Position, source: io::Error) -> WriteFailed {
    WriteFailed { what: format!("writing the copy of {}", segment_name(first)), source }
}
