//! A log that is read without its lock, beside a process that may be writing it.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::commit_bytes::Checksums;
use super::disk::Disk;
use super::format::segment_name;
use super::frame::{Frame, FrameCommit};
use super::index::Sealed;
use super::live::{make_durable, read_last, segments_now};
use super::open::{Walk, must_be_sealed, reading};
use super::scan::{Progress, read_header, scan};
use super::{FileDisk, LOG_FOLDER, OpenError, VerifyError};
use crate::log::Recorded;
use crate::{LogId, Position, Timestamp};

/// Reads the events of a log in order, and follows it, without its lock.
///
/// It shows only what is durable: a frame that another follows, and the last one after this view
/// has synced the file itself. Every frame is checked, and that it continues the one before it.
pub struct View<D: Disk = FileDisk> {
    disk: D,
    after: Position,
    current: Current<D::File>,
    /// Segments after the current one, as far as they are known.
    known: VecDeque<Position>,
    walk: Walk,
    ended: bool,
}

struct Current<F> {
    first: Position,
    file: F,
    log: LogId,
    progress: Progress,
}

impl View<FileDisk> {
    /// Looks at the log in a folder, from the event after a position on. The position may be
    /// beyond the head.
    ///
    /// # Errors
    ///
    /// [`VerifyError::NoLog`], and those of [`read`](View::read).
    pub fn open(folder: &Path, after: Position) -> Result<View, VerifyError> {
        View::over(FileDisk::existing(&folder.join(LOG_FOLDER)), after)
    }
}

impl<D: Disk> View<D> {
    /// The same for the segments on a disk.
    ///
    /// # Errors
    ///
    /// Those of [`open`](View::open).
    pub fn over(disk: D, after: Position) -> Result<View<D>, VerifyError> {
        let mut known: VecDeque<_> = list(&disk)?.into();
        let before = known.partition_point(|first| *first <= after.next()).saturating_sub(1);
        known.drain(..before);
        let Some(first) = known.pop_front() else { return Err(VerifyError::NoLog) };
        let mut walk = Walk { log: None, expected: None, time: Timestamp::default() };
        if first > Position(1) && first <= after.next() {
            // What this segment says of the one before it is believed. If none that is there
            // begins early enough, one is missing, and entering the first says so.
            let io = |source| OpenError::Io { what: reading(first), source };
            let file = disk.open(&segment_name(first), false).map_err(io)?;
            if let Ok(header) = read_header(&file).map_err(io)? {
                let (chain, time) = (header.chain, header.created);
                walk.expected = Some(Sealed { next: header.first, chain, time, length: 0 });
            }
        }
        let current = enter(&disk, &mut walk, first)?;
        Ok(View { disk, after, current, known, walk, ended: false })
    }

    /// The position of the last event that was read, whether it was shown or not; the log's head
    /// after [`read`](View::read) has returned, as it was then.
    pub fn head(&self) -> Position {
        Position(self.current.progress.next.0.saturating_sub(1))
    }

    /// Gives each event that is durable by now, and was not given before, to `visit`. If it
    /// breaks, this view is at its end.
    ///
    /// # Errors
    ///
    /// [`VerifyError::Corrupt`] with the segment and the offset; the operating system's.
    pub fn read(
        &mut self,
        visit: &mut dyn FnMut(&Recorded) -> ControlFlow<()>,
    ) -> Result<(), VerifyError> {
        while !self.ended {
            if self.known.is_empty() {
                let current = self.current.first;
                self.known.extend(list(&self.disk)?.into_iter().filter(|first| *first > current));
            }
            // Another segment is there only when this one was sealed: so it was asked for first.
            let Some(next) = self.known.pop_front() else { return self.read_last(visit) };
            self.read_sealed(visit)?;
            if !self.ended {
                self.current = enter(&self.disk, &mut self.walk, next)?;
            }
        }
        Ok(())
    }

    fn read_sealed(
        &mut self,
        visit: &mut dyn FnMut(&Recorded) -> ControlFlow<()>,
    ) -> Result<(), VerifyError> {
        let Current { first, file, log, progress } = &mut self.current;
        let (after, ended) = (self.after, &mut self.ended);
        let mut show = |_: &Frame, commits: Vec<FrameCommit>| {
            let events = events_after(&commits, after)?;
            if events.iter().try_for_each(&mut *visit).is_break() {
                *ended = true;
                return Err("the reader ended".to_owned());
            }
            Ok(())
        };
        let ending = scan(file, *log, Checksums::Compare, progress, &mut show);
        let ending = ending.map_err(|source| OpenError::Io { what: reading(*first), source })?;
        if !self.ended {
            let sealed = must_be_sealed(&ending, &self.current.progress, self.current.first)?;
            self.walk.time = sealed.time;
            self.walk.expected = Some(sealed);
        }
        Ok(())
    }

    fn read_last(
        &mut self,
        visit: &mut dyn FnMut(&Recorded) -> ControlFlow<()>,
    ) -> Result<(), VerifyError> {
        let Current { first, file, log, progress } = &mut self.current;
        let (after, ended) = (self.after, &mut self.ended);
        let mut last = Vec::new();
        let mut show = |_: &Frame, commits: Vec<FrameCommit>| {
            let before_last = std::mem::replace(&mut last, events_after(&commits, after)?);
            if before_last.iter().try_for_each(&mut *visit).is_break() {
                *ended = true;
                return Err("the reader ended".to_owned());
            }
            Ok(())
        };
        let read = read_last(file, *first, *log, Checksums::Compare, progress, &mut show);
        if self.ended {
            return Ok(());
        }
        read?;
        if !last.is_empty() {
            make_durable(&self.current.file, self.current.first)?;
            self.ended = last.iter().try_for_each(visit).is_break();
        }
        Ok(())
    }
}

fn list<D: Disk>(disk: &D) -> Result<Vec<Position>, VerifyError> {
    segments_now(disk).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => VerifyError::NoLog,
        _ => VerifyError::Io { what: "listing the log's folder".to_owned(), source },
    })
}

fn enter<D: Disk>(
    disk: &D,
    walk: &mut Walk,
    first: Position,
) -> Result<Current<D::File>, OpenError> {
    let io = |source| OpenError::Io { what: reading(first), source };
    let file = disk.open(&segment_name(first), false).map_err(io)?;
    let header = walk.header(&file, first)?;
    let progress = Progress::start(&header, walk.time);
    Ok(Current { first, file, log: header.log, progress })
}

fn events_after(commits: &[FrameCommit], after: Position) -> Result<Vec<Recorded>, String> {
    let mut events = Vec::new();
    for commit in commits {
        for record in commit.records(Checksums::Compare) {
            let (_, event) = record?;
            if event.position > after {
                events.push(event);
            }
        }
    }
    Ok(events)
}
