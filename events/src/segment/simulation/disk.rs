//! A disk that keeps what is written apart from what is synced, and forgets on demand.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;

use crate::segment::disk::{Disk, DiskFile};

/// What a disk writes whole or not at all, in bytes.
const SECTOR: usize = 512;

/// What is free, in bytes, while the disk isn't full: it is never used up.
pub(crate) const FREE_BYTES: u64 = 1 << 40;

/// What goes wrong, and when. Steps are counted over all that changes or syncs something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes: this step is done in part or not at all, and nothing works any more.
    PowerCut,
    /// This step fails, once. A write may have been done in part; after a failed sync, what was
    /// written may be lost though it reads back until the power goes.
    Error,
    /// From this step on there is no space for what extends a file, until [`SimDisk::mend`].
    Full,
}

/// A simulated disk. Clones share it.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

/// An open file of a simulated disk.
pub struct SimFile {
    state: Arc<Mutex<State>>,
    inode: u64,
}

struct State {
    rng: Rng,
    files: BTreeMap<u64, File>,
    /// The folder as a running program sees it.
    entries: BTreeMap<String, u64>,
    /// The folder as it is after a power cut, before what was not synced is drawn.
    durable: BTreeMap<String, u64>,
    /// What was done to the folder since its last sync.
    changes: Vec<Entry>,
    next_inode: u64,
    steps: u64,
    fault: Option<(u64, Fault)>,
    off: bool,
    full: bool,
    broken: Breakage,
}

/// Which promise this disk breaks on purpose, to see that the simulator notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakage {
    /// Syncing a file does nothing.
    pub no_sync: bool,
    /// Syncing the folder does nothing.
    pub no_folder_sync: bool,
}

#[derive(Clone, Default)]
struct File {
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Clone)]
enum Entry {
    Create(String, u64),
    Rename(String, String),
    Remove(String),
}

impl SimDisk {
    /// An empty disk whose chances come from `seed`.
    pub fn new(seed: u64, broken: Breakage) -> SimDisk {
        let state = State {
            rng: Rng::with_seed(seed),
            files: BTreeMap::new(),
            entries: BTreeMap::new(),
            durable: BTreeMap::new(),
            changes: Vec::new(),
            next_inode: 1,
            steps: 0,
            fault: None,
            off: false,
            full: false,
            broken,
        };
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// Plans a fault `steps` from now: 1 is the next step.
    pub fn plan(&self, steps: u64, fault: Fault) {
        let mut state = self.state();
        state.fault = Some((state.steps + steps, fault));
    }

    /// Whether the power is gone.
    pub fn is_off(&self) -> bool {
        self.state().off
    }

    /// Takes back planned faults, and what they left: there is space again.
    pub fn mend(&self) {
        let mut state = self.state();
        state.fault = None;
        state.full = false;
    }

    /// The power goes, and comes back: what was not synced is there in part, at random.
    pub fn power_cycle(&self) {
        let mut state = self.state();
        state.lose_unsynced();
        state.fault = None;
        state.off = false;
        state.full = false;
    }

    /// Flips one bit of a file, as it is now and as it is on the disk.
    pub fn flip(&self, name: &str, offset: usize, bit: u8) {
        let mut state = self.state();
        let inode = state.entries.get(name).copied().unwrap_or_default();
        if let Some(file) = state.files.get_mut(&inode) {
            for bytes in [&mut file.seen, &mut file.durable] {
                if let Some(byte) = bytes.get_mut(offset) {
                    *byte ^= 1 << (bit % 8);
                }
            }
        }
    }

    /// The bytes of a file, as a running program sees them.
    pub fn contents(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        let inode = state.entries.get(name).copied().unwrap_or_default();
        state.files.get(&inode).map(|file| file.seen.clone()).unwrap_or_default()
    }

    /// Replaces the bytes of a file, or makes one; all of it is durable.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let mut state = self.state();
        let inode = match state.entries.get(name) {
            Some(inode) => *inode,
            None => {
                state.next_inode += 1;
                state.next_inode
            }
        };
        state.entries.insert(name.to_owned(), inode);
        state.durable.insert(name.to_owned(), inode);
        let file = File { seen: bytes.to_vec(), durable: bytes.to_vec(), pending: Vec::new() };
        state.files.insert(inode, file);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a step is to be done.
enum Step {
    Do,
    /// The power goes in the middle of it.
    Cut,
    Fail,
}

impl State {
    fn step(&mut self) -> io::Result<Step> {
        if self.off {
            return Err(io::Error::other("the power is off"));
        }
        self.steps += 1;
        match self.fault {
            Some((at, fault)) if self.steps >= at => match fault {
                Fault::PowerCut => {
                    self.off = true;
                    Ok(Step::Cut)
                }
                Fault::Error => {
                    self.fault = None;
                    Ok(Step::Fail)
                }
                Fault::Full => {
                    self.full = true;
                    Ok(Step::Do)
                }
            },
            _ => Ok(Step::Do),
        }
    }

    fn file(&mut self, inode: u64) -> io::Result<&mut File> {
        self.files.get_mut(&inode).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// What a power cut leaves: for each file and for the folder, one of: nothing of what was
    /// not synced, all of it, the first part, or parts at random.
    fn lose_unsynced(&mut self) {
        let inodes: Vec<u64> = self.files.keys().copied().collect();
        for inode in inodes {
            let Some(mut file) = self.files.remove(&inode) else { continue };
            file.lose(&mut self.rng);
            self.files.insert(inode, file);
        }
        let kept = match self.rng.u8(..3) {
            0 => 0,
            1 => self.changes.len(),
            _ => self.rng.usize(..=self.changes.len()),
        };
        let mut entries = std::mem::take(&mut self.durable);
        for change in self.changes.drain(..).take(kept) {
            change.apply(&mut entries);
        }
        self.changes.clear();
        self.entries = entries.clone();
        self.durable = entries;
    }
}

impl Entry {
    fn apply(&self, entries: &mut BTreeMap<String, u64>) {
        match self {
            Entry::Create(name, inode) => {
                entries.insert(name.clone(), *inode);
            }
            Entry::Rename(from, to) => {
                if let Some(inode) = entries.remove(from) {
                    entries.insert(to.clone(), inode);
                }
            }
            Entry::Remove(name) => {
                entries.remove(name);
            }
        }
    }
}

impl File {
    fn change(&mut self, change: Change) {
        apply(&mut self.seen, &change);
        self.pending.push(change);
    }

    /// Only what is pending reaches the disk: what a failed sync forgot does not.
    fn sync(&mut self) {
        for change in self.pending.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    fn lose(&mut self, rng: &mut Rng) {
        // The length changes in order, up to some point; bytes beyond it are not there.
        let lengths: Vec<usize> = self.lengths();
        let length = lengths.get(rng.usize(..lengths.len())).copied().unwrap_or_default();
        let mode = rng.u8(..4);
        let kept_writes = rng.usize(..=self.pending.len());
        self.durable.resize(length.max(self.durable.len()), 0);
        for (index, change) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            let Change::Write { offset, bytes } = change else { continue };
            let mut at = offset;
            for piece in sectors(offset, &bytes) {
                let kept = match mode {
                    0 => false,
                    1 => true,
                    2 => index < kept_writes,
                    _ => rng.bool(),
                };
                if kept {
                    write(&mut self.durable, at, piece);
                }
                at += piece.len();
            }
        }
        self.durable.resize(length, 0);
        self.seen.clone_from(&self.durable);
    }

    /// The lengths that the file may have after a power cut.
    fn lengths(&self) -> Vec<usize> {
        let mut length = self.durable.len();
        let mut lengths = vec![length];
        for change in &self.pending {
            let changed = match change {
                Change::Write { offset, bytes } => length.max(offset + bytes.len()),
                Change::Length(changed) => *changed,
            };
            if changed != length {
                length = changed;
                lengths.push(length);
            }
        }
        lengths
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: written } => write(bytes, *offset, written),
        Change::Length(length) => bytes.resize(*length, 0),
    }
}

fn write(bytes: &mut Vec<u8>, offset: usize, written: &[u8]) {
    let end = offset + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    if let Some(place) = bytes.get_mut(offset..end) {
        place.copy_from_slice(written);
    }
}

/// The parts of a write that fall into one sector each.
fn sectors(offset: usize, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (first, rest) = bytes.split_at((SECTOR - offset % SECTOR).min(bytes.len()));
    std::iter::once(first).filter(|first| !first.is_empty()).chain(rest.chunks(SECTOR))
}

fn broke() -> io::Error {
    io::Error::other("a simulated fault")
}

impl Disk for SimDisk {
    type File = SimFile;

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.state();
        if state.off {
            return Err(broke());
        }
        Ok(state.entries.keys().cloned().collect())
    }

    fn open(&self, name: &str, _writable: bool) -> io::Result<SimFile> {
        let state = self.state();
        let inode = state.entries.get(name).copied();
        let inode = inode.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(SimFile { state: self.state.clone(), inode })
    }

    fn create(&self, name: &str) -> io::Result<SimFile> {
        let mut state = self.state();
        if !matches!(state.step()?, Step::Do) {
            return Err(broke());
        }
        state.next_inode += 1;
        let inode = state.next_inode;
        state.files.insert(inode, File::default());
        let entry = Entry::Create(name.to_owned(), inode);
        entry.apply(&mut state.entries);
        state.changes.push(entry);
        Ok(SimFile { state: self.state.clone(), inode })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change_folder(Entry::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.change_folder(Entry::Remove(name.to_owned()))
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.state();
        match state.step()? {
            Step::Do if state.broken.no_folder_sync => Ok(()),
            Step::Do => {
                state.durable = state.entries.clone();
                state.changes.clear();
                Ok(())
            }
            Step::Cut | Step::Fail => Err(broke()),
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        Ok(if self.state().full { 0 } else { FREE_BYTES })
    }
}

impl SimDisk {
    fn change_folder(&self, entry: Entry) -> io::Result<()> {
        let mut state = self.state();
        match state.step()? {
            Step::Do => {
                entry.apply(&mut state.entries);
                state.changes.push(entry);
                Ok(())
            }
            // It was on its way: a power cut may keep it.
            Step::Cut => {
                state.changes.push(entry);
                Err(broke())
            }
            Step::Fail => Err(broke()),
        }
    }
}

impl SimFile {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.state();
        let step = state.step()?;
        let full = state.full;
        let part = state.rng.f64();
        let file = state.file(self.inode)?;
        if full && change.extends(file.seen.len()) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        match step {
            Step::Do => {
                file.change(change);
                Ok(())
            }
            Step::Cut => {
                file.pending.push(change);
                Err(broke())
            }
            Step::Fail => {
                if let Change::Write { offset, bytes } = change {
                    let kept = (bytes.len() as f64 * part) as usize;
                    let bytes = bytes.get(..kept).unwrap_or_default().to_vec();
                    file.change(Change::Write { offset, bytes });
                }
                Err(broke())
            }
        }
    }
}

impl Change {
    fn extends(&self, length: usize) -> bool {
        match self {
            Change::Write { offset, bytes } => offset + bytes.len() > length,
            Change::Length(changed) => *changed > length,
        }
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().file(self.inode)?.seen.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state();
        if state.off {
            return Err(broke());
        }
        let file = state.file(self.inode)?;
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(file.seen.len());
        let there = file.seen.get(from..).unwrap_or_default();
        let count = there.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), there.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        self.change(Change::Write { offset, bytes: bytes.to_vec() })
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        if len <= self.len()? {
            return Ok(());
        }
        self.set_len(len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Change::Length(usize::try_from(len).map_err(io::Error::other)?))
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        let step = state.step()?;
        let broken = state.broken.no_sync;
        let lost = state.rng.bool();
        let file = state.file(self.inode)?;
        match step {
            Step::Do => {
                if !broken {
                    file.sync();
                }
                Ok(())
            }
            Step::Cut => Err(broke()),
            Step::Fail => {
                // The operating system forgets that these pages are not on the disk.
                if lost {
                    file.pending.clear();
                }
                Err(broke())
            }
        }
    }
}
