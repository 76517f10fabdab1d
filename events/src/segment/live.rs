//! Reading segments beside the process that writes them, without its lock.
//!
//! Two things make that safe. A frame is written after the one before it was synced: so what a
//! good frame follows is whole, and durable. And what was read while it was being written is read
//! again: only what stays wrong, though nothing can be writing it any more, is damage.

use std::io;

use super::OpenError;
use super::commit_bytes::Checksums;
use super::disk::{Disk, DiskFile};
use super::format::segment_name;
use super::open::{judge_tail, reading, segment_firsts};
use super::scan::{Progress, Visit, scan};
use crate::{LogId, Position};

/// The first positions of the segments that there are, in order.
///
/// A listing takes a while, so that one alone might show a segment and not the one before it, if
/// both were made meanwhile. The second shows all up to the last of the first.
pub(super) fn segments_now<D: Disk>(disk: &D) -> io::Result<Vec<Position>> {
    let until = segment_firsts(disk)?.last().copied();
    let mut firsts = segment_firsts(disk)?;
    firsts.retain(|first| Some(*first) <= until);
    Ok(firsts)
}

/// Reads the last segment from `progress` to its end, which may be moving, and gives each good
/// frame to `visit`, once. Whether a torn frame is at the end: one that a crash left, or that is
/// being written.
///
/// A verdict is believed when a second reading that began after it gets no further. Each of them
/// says that the bad frame was written whole before: a good frame follows, or the file was ended.
pub(super) fn read_last<F: DiskFile>(
    file: &F,
    first: Position,
    log: LogId,
    checksums: Checksums,
    progress: &mut Progress,
    visit: &mut Visit<'_>,
) -> Result<bool, OpenError> {
    let mut doubted = None;
    loop {
        let mut refused = false;
        let ending = scan(file, log, checksums, progress, &mut |frame, commits| {
            let seen = visit(frame, commits);
            refused = seen.is_err();
            seen
        });
        let ending = ending.map_err(|source| OpenError::Io { what: reading(first), source })?;
        match judge_tail(file, log, &ending, progress, first) {
            Err(OpenError::Corrupt { .. }) if !refused && doubted != Some(progress.offset) => {
                doubted = Some(progress.offset);
            }
            verdict => return verdict,
        }
    }
}

/// Makes durable what was read of a file before. What can't be written needs no sync.
pub(super) fn make_durable<F: DiskFile>(file: &F, first: Position) -> Result<(), OpenError> {
    match file.sync() {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(()),
        synced => synced.map_err(|source| OpenError::Io {
            what: format!("syncing {}", segment_name(first)),
            source,
        }),
    }
}
