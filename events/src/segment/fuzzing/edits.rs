//! Changes to the files of a log, out of arbitrary bytes.

use super::super::disk::Disk as _;
use super::super::format::{END_MARK, FRAME_HEADER, FRAME_MAGIC, MARK_FRAME, SEGMENT_HEADER};
use crate::segment::simulation::SimDisk;

/// The most changes to one log: more of them rarely find more.
const MAX_EDITS: usize = 8;

/// The longest run of bytes that one change moves.
const MAX_RUN: usize = 300;

/// Arbitrary bytes as numbers; zeros when they are used up.
pub(super) struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    pub fn u8(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn bool(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// Below `bound`, or 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let value = usize::from(self.u8()) << 8 | usize::from(self.u8());
        value.checked_rem(bound).unwrap_or(0)
    }
}

/// Changes the log as `input` says, until it ends.
pub(super) fn edit(disk: &SimDisk, input: &mut Input<'_>) {
    for _ in 0..MAX_EDITS {
        if input.0.is_empty() {
            return;
        }
        let (name, mut bytes) = file(disk, input);
        let action = input.u8() % 8;
        let at = input.below(bytes.len());
        match action {
            0 => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (input.u8() % 8)),
            1 => bytes.get_mut(at).into_iter().for_each(|byte| *byte = input.u8()),
            2 => bytes.truncate(at),
            3 => {
                let end = at + input.below(MAX_RUN).min(bytes.len() - at);
                bytes.get_mut(at..end).into_iter().for_each(|run| run.fill(0));
            }
            4 => {
                let run: Vec<u8> = (0..input.u8() % 16).map(|_| input.u8()).collect();
                bytes.splice(at..at, run);
            }
            5 => {
                let (_, from) = file(disk, input);
                let start = input.below(from.len());
                let end = start + input.below(MAX_RUN).min(from.len() - start);
                let run = from.get(start..end).unwrap_or_default();
                let kept = bytes.len() - at;
                let replaced = at + run.len().min(kept);
                bytes.splice(at..replaced, run.iter().copied());
            }
            6 => {
                let (other, theirs) = file(disk, input);
                disk.put(&other, &bytes);
                bytes = theirs;
            }
            _ => {
                let _gone = disk.remove(&name);
                continue;
            }
        }
        disk.put(&name, &bytes);
    }
}

fn names(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list().unwrap_or_default();
    names.sort();
    names
}

/// One of the files; an empty one, if all are gone.
fn file(disk: &SimDisk, input: &mut Input<'_>) -> (String, Vec<u8>) {
    let names = names(disk);
    let index = usize::from(input.u8()).checked_rem(names.len()).unwrap_or(0);
    let name =
        names.into_iter().nth(index).unwrap_or_else(|| "00000000000000000001.segment".into());
    let bytes = disk.contents(&name);
    (name, bytes)
}

/// Makes every checksum right, and the chain of hashes, as far as frames can be told.
pub(super) fn repair(disk: &SimDisk) {
    let mut chain = [0; 32];
    for name in names(disk) {
        let mut bytes = disk.contents(&name);
        repair_segment(&mut bytes, &mut chain);
        disk.put(&name, &bytes);
    }
}

fn repair_segment(bytes: &mut [u8], chain: &mut [u8; 32]) {
    put(bytes, 48, chain);
    repair_crc(bytes, 0, SEGMENT_HEADER - 4, SEGMENT_HEADER - 4);
    let mut at = SEGMENT_HEADER;
    while let Some(length) = frame_length(bytes, at) {
        let Some(frame) = bytes.get_mut(at..at + length) else { return };
        let body_end = length - END_MARK.len();
        repair_body(frame.get_mut(FRAME_HEADER..body_end).unwrap_or_default());
        put(frame, body_end, &END_MARK);
        let body = crc32c::crc32c(frame.get(FRAME_HEADER..body_end).unwrap_or_default());
        put(frame, 60, &body.to_le_bytes());
        put(frame, 64, chain);
        repair_crc(frame, 0, FRAME_HEADER - 4, FRAME_HEADER - 4);
        *chain = *blake3::hash(frame).as_bytes();
        at += length;
    }
}

/// The length that a frame at `at` says it has, if it begins like one and fits.
fn frame_length(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let length = u32_at(rest, 4)?;
    let fits = rest.starts_with(&FRAME_MAGIC) && (MARK_FRAME..=rest.len()).contains(&length);
    fits.then_some(length)
}

/// The checksums of commits and their records.
fn repair_body(mut body: &mut [u8]) {
    while let (Some(head), Some(length)) = (u32_at(body, 0), u32_at(body, 8)) {
        if head < 12 || length < head || length > body.len() {
            return;
        }
        let (commit, rest) = std::mem::take(&mut body).split_at_mut(length);
        let (head, mut records) = commit.split_at_mut(head);
        repair_split_crc(head);
        while let Some(length) = u32_at(records, 0) {
            if length < 8 || length > records.len() {
                break;
            }
            let (record, rest) = records.split_at_mut(length);
            repair_split_crc(record);
            records = rest;
        }
        body = rest;
    }
}

fn repair_split_crc(bytes: &mut [u8]) {
    let length = crc32c::crc32c(bytes.get(..4).unwrap_or_default());
    let crc = crc32c::crc32c_append(length, bytes.get(8..).unwrap_or_default());
    put(bytes, 4, &crc.to_le_bytes());
}

fn repair_crc(bytes: &mut [u8], from: usize, to: usize, at: usize) {
    if let Some(covered) = bytes.get(from..to) {
        let crc = crc32c::crc32c(covered).to_le_bytes();
        put(bytes, at, &crc);
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*four) as usize)
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}
