//! The random history of one log, and the comparison with the model.

use std::collections::HashMap;
use std::fmt;

use fastrand::Rng;

use super::disk::{Breakage, Fault, SimDisk};
use super::model::{Expected, Model, ModelEvent};
use super::workload::Workload;
use crate::log::{AppendError, Commit, Receipt, Recorded};
use crate::segment::core::Core;
use crate::segment::disk::Disk as _;
use crate::segment::format::FRAME_MAGIC;
use crate::segment::index::MemoryIndex;
use crate::segment::open;
use crate::segment::store::{FrameReader, RecordReader};
use crate::segment::{OpenError, Opened, Options, verify};
use crate::{Position, Revision, Timestamp};

/// How many cuts one log lives through before the next begins: so that opening stays quick, and
/// there are many young logs, where most edges are.
const CUTS_A_LOG: u64 = 12;

/// How many lines of a failed history are shown.
const HISTORY_LINES: usize = 40;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Where all chances come from.
    pub seed: u64,
    /// How many power cuts, killed processes and failures to survive.
    pub cuts: u64,
    /// Promises that the disk breaks on purpose.
    pub broken: Breakage,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { seed: 1, cuts: 1_000, broken: Breakage::default() }
    }
}

/// What a simulation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Power cuts at a random step.
    pub power_cuts: u64,
    /// Processes that ended without closing the log.
    pub kills: u64,
    /// Writes or syncs that failed.
    pub errors: u64,
    /// Disks that were full.
    pub full: u64,
    /// Clean closes.
    pub closes: u64,
    /// Commits that were acknowledged.
    pub acknowledged: u64,
    /// Commits of unknown outcome that turned out to be there.
    pub survived: u64,
    /// Torn frames that were cut off.
    pub torn: u64,
    /// Segments that were sealed.
    pub seals: u64,
    /// Bits that flipped, and were found.
    pub rot: u64,
}

/// A history that broke a promise.
#[derive(Debug)]
pub struct Failure {
    /// The seed of the log that failed: with it and one log's cuts the failure comes again.
    pub seed: u64,
    /// How many cuts were survived before.
    pub cuts: u64,
    /// What is wrong.
    pub reason: String,
    /// What was done to this log, oldest first.
    pub history: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "after {} cuts, seed {}: {}", self.cuts, self.seed, self.reason)?;
        let hidden = self.history.len().saturating_sub(HISTORY_LINES);
        if hidden > 0 {
            writeln!(f, "  … {hidden} earlier steps")?;
        }
        for line in self.history.iter().skip(hidden) {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl Summary {
    /// All interruptions together.
    pub fn cuts(&self) -> u64 {
        self.power_cuts + self.kills + self.errors + self.full + self.closes
    }
}

/// Simulates until the plan's cuts are survived. `progress` sees the summary now and then.
///
/// # Errors
///
/// [`Failure`] with the seed of the log that broke a promise, and its history. [`shorten`] looks
/// for a shorter one.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(&Summary)) -> Result<Summary, Box<Failure>> {
    let mut summary = Summary::default();
    let mut seeds = Rng::with_seed(plan.seed);
    while summary.cuts() < plan.cuts {
        // The first log has the plan's own seed, so that a failure's seed reproduces it.
        let seed = if summary.cuts() == 0 { plan.seed } else { seeds.u64(..) };
        let before = summary.cuts();
        let mut world = World::new(seed, plan, &mut summary);
        if let Err(reason) = world.live() {
            let history = std::mem::take(&mut world.history);
            return Err(Box::new(Failure { seed, cuts: before, reason, history }));
        }
        progress(&summary);
    }
    Ok(summary)
}

/// The shortest history that breaks a promise among those of `tries` further logs, or `failure`
/// itself if theirs are longer.
pub fn shorten(plan: &Plan, failure: Box<Failure>, tries: u64) -> Box<Failure> {
    let mut seeds = Rng::with_seed(failure.seed);
    let mut shortest = failure;
    for _ in 0..tries {
        let plan = Plan { seed: seeds.u64(..), cuts: 1, ..*plan };
        if let Err(other) = run(&plan, &mut |_| {})
            && other.history.len() < shortest.history.len()
        {
            shortest = Box::new(Failure { cuts: shortest.cuts, ..*other });
        }
    }
    shortest
}

type SimCore = Core<SimDisk, MemoryIndex>;

struct World<'a> {
    rng: Rng,
    disk: SimDisk,
    index: MemoryIndex,
    options: Options,
    model: Model,
    /// The accepted commits of the frame whose outcome is unknown, in order.
    unknown: Vec<Commit>,
    /// Commits that were sent before, to repeat.
    sent: Vec<Commit>,
    workload: Workload,
    now: i64,
    history: Vec<String>,
    summary: &'a mut Summary,
}

impl<'a> World<'a> {
    fn new(seed: u64, plan: &Plan, summary: &'a mut Summary) -> World<'a> {
        let mut rng = Rng::with_seed(seed);
        let options = Options { segment_bytes: rng.u64(2_000..20_000), reserve_bytes: 1 };
        World {
            disk: SimDisk::new(rng.u64(..), plan.broken),
            workload: Workload::new(&mut rng),
            rng,
            index: MemoryIndex::default(),
            options,
            model: Model::default(),
            unknown: Vec::new(),
            sent: Vec::new(),
            now: 1,
            history: Vec::new(),
            summary,
        }
    }

    fn live(&mut self) -> Result<(), String> {
        for _ in 0..CUTS_A_LOG {
            self.epoch()?;
        }
        Ok(())
    }

    /// From one opening to the end of that process.
    fn epoch(&mut self) -> Result<(), String> {
        if self.rng.u8(..8) == 0 {
            self.rot()?;
        }
        let fault = match self.rng.u8(..10) {
            0..5 => Some(Fault::PowerCut),
            5 => Some(Fault::Error),
            6 => Some(Fault::Full),
            _ => None,
        };
        if let Some(fault) = fault {
            let steps = self.rng.u64(1..40);
            self.note(format!("plan {fault:?} in {steps} steps"));
            self.disk.plan(steps, fault);
        }
        match self.open() {
            Ok(Some(mut core)) => {
                self.compare(&core)?;
                self.work(&mut core)?;
                self.end(core, fault)
            }
            Ok(None) => self.end_without_core(fault),
            Err(reason) => Err(reason),
        }
    }

    /// The opened log; `None` where a planned fault kept it from opening.
    fn open(&mut self) -> Result<Option<SimCore>, String> {
        match self.open_core() {
            Ok((core, opened)) => {
                self.note(format!("opened at {}, cut {:?}", opened.head, opened.cut));
                self.summary.torn += u64::from(opened.cut.is_some());
                Ok(Some(core))
            }
            Err(OpenError::Io { what, source }) => {
                self.note(format!("not opened: {what}: {source}"));
                Ok(None)
            }
            Err(error) => Err(format!("can't be opened: {error}")),
        }
    }

    fn open_core(&mut self) -> Result<(SimCore, Opened), OpenError> {
        self.now += 1;
        // The index of the process before, or one that lost the newest part or all of it.
        self.index.forget(self.rng.usize(..4));
        open::open(
            self.disk.clone(),
            || Ok(self.index.clone()),
            self.options,
            Timestamp(self.now),
            &mut |_| {},
        )
    }

    /// A bit flips where good frames follow: it must be found, and named. Then it flips back.
    fn rot(&mut self) -> Result<(), String> {
        let Some((name, before)) = self.settled_part() else { return Ok(()) };
        let (offset, bit) = (self.rng.usize(..before), self.rng.u8(..8));
        self.note(format!("rot in byte {offset} of {name}"));
        self.disk.flip(&name, offset, bit);
        let opened = self.open_core();
        self.disk.flip(&name, offset, bit);
        self.summary.rot += 1;
        match opened {
            Err(OpenError::Corrupt { segment, .. }) if segment == name => Ok(()),
            Err(error) => Err(format!("rot in byte {offset} of {name} was taken for: {error}")),
            Ok(_) => Err(format!("rot in byte {offset} of {name} was not found")),
        }
    }

    /// A segment, and the offset before which each byte of it is followed by a good frame: the
    /// last frame may be torn, so it is the one before that counts.
    fn settled_part(&self) -> Option<(String, usize)> {
        let name = self.disk.list().ok()?.into_iter().rfind(|name| name.ends_with(".segment"))?;
        let bytes = self.disk.contents(&name);
        let starts = bytes.windows(FRAME_MAGIC.len()).enumerate();
        let starts = starts.filter(|(_, start)| *start == FRAME_MAGIC).map(|(at, _)| at);
        let settled = starts.rev().nth(1)?;
        Some((name, settled))
    }

    /// Everything in the log against the model. What was in flight is there whole or not at all.
    fn compare(&mut self, core: &SimCore) -> Result<(), String> {
        let events = all_events(core)?;
        if events.len() < self.model.events.len() {
            return Err(format!(
                "{} events are there, and {} were acknowledged",
                events.len(),
                self.model.events.len()
            ));
        }
        let unknown = std::mem::take(&mut self.unknown);
        let first = unknown.first().map(|commit| commit.operation);
        let receipt = first.map(|operation| core.store().receipt(operation));
        if let Some(Ok(Some(_))) = receipt {
            self.summary.survived += unknown.len() as u64;
            unknown.iter().for_each(|commit| self.model.write(commit));
            self.note(format!("{} commits in flight survived", unknown.len()));
        }
        let expected = &self.model.events;
        if events.len() != expected.len() {
            return Err(format!("{} events are there, not {}", events.len(), expected.len()));
        }
        for (index, (event, expected)) in events.iter().zip(expected).enumerate() {
            let position = Position(index as u64 + 1);
            if event.position != position || as_model(event) != *expected {
                return Err(format!("at {position} there is {event:?}, not {expected:?}"));
            }
        }
        self.compare_receipts(core)?;
        self.compare_streams(core)?;
        self.compare_verified()
    }

    fn compare_receipts(&self, core: &SimCore) -> Result<(), String> {
        for operation in &self.model.order {
            let receipt = core.store().receipt(*operation).map_err(|error| error.to_string())?;
            if !receipt.as_ref().is_some_and(|held| self.model.same_receipt(*operation, held)) {
                return Err(format!("the receipt of {operation} is {receipt:?}"));
            }
        }
        for commit in &self.sent {
            let known = self.model.operations.contains_key(&commit.operation);
            let held = core.store().receipt(commit.operation).map_err(|error| error.to_string())?;
            if held.is_some() != known {
                return Err(format!("operation {} has a receipt: {held:?}", commit.operation));
            }
        }
        Ok(())
    }

    fn compare_streams(&mut self, core: &SimCore) -> Result<(), String> {
        let store = core.store();
        for stream in self.workload.streams() {
            let expected = self.model.revision(*stream);
            let revision = store.revision(*stream).map_err(|error| error.to_string())?;
            if revision != expected {
                return Err(format!("stream {stream} is at {revision}, not {expected}"));
            }
            let after = Revision(self.rng.u64(..=expected.0));
            let places = store.record_places(*stream, after).map_err(|error| error.to_string())?;
            if places.len() as u64 != expected.0 - after.0 {
                return Err(format!("stream {stream} has {} records after {after}", places.len()));
            }
            let mut reader = RecordReader::new(store);
            for (place, revision) in places.into_iter().zip(after.0 + 1..) {
                let event = reader.read(place, *stream, Revision(revision));
                let event = event.map_err(|error| error.to_string())?;
                let held = usize::try_from(event.position.0 - 1).ok();
                let held = held.and_then(|index| self.model.events.get(index));
                if held != Some(&as_model(&event)) {
                    return Err(format!("stream {stream} has {event:?}, not {held:?}"));
                }
            }
        }
        Ok(())
    }

    fn compare_verified(&self) -> Result<(), String> {
        if self.disk.is_off() {
            return Ok(());
        }
        let verified = verify(&self.disk, &mut |_| Ok(()), &mut |_, _| {});
        let verified = verified.map_err(|error| format!("not verified: {error}"))?;
        if verified.events != self.model.events.len() as u64 {
            return Err(format!("verified {} events", verified.events));
        }
        Ok(())
    }

    /// Groups of commits, idle marks in between, until the fault strikes or enough was done.
    fn work(&mut self, core: &mut SimCore) -> Result<(), String> {
        for _ in 0..self.rng.usize(1..12) {
            if self.rng.u8(..6) == 0 {
                self.note("idle mark".to_owned());
                // What fails here shows in the next group.
                let _shows_later = core.mark_idle();
            }
            if !self.group(core)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One group of commits; whether the log still takes more.
    fn group(&mut self, core: &mut SimCore) -> Result<bool, String> {
        let count = self.rng.usize(1..6);
        let commits: Vec<Commit> = (0..count).map(|_| self.commit()).collect();
        self.sent.extend(commits.iter().cloned());
        self.now += self.rng.i64(-3..20);
        let segments = self.segments();
        let answers = core.append_group(&commits, Timestamp(self.now));
        self.summary.seals += (self.segments() > segments) as u64;
        self.note(format!("group of {count}: {}", summarise(&answers)));
        let before = self.model.clone();
        let mut written = Vec::new();
        let mut failed = None;
        let mut unknown = false;
        for (commit, answer) in commits.iter().zip(&answers) {
            let expected = self.model.expect(commit);
            match answer {
                Err(error) if is_failure(error) => {
                    unknown |= matches!(error, AppendError::OutcomeUnknown { .. });
                    failed = Some(error.clone());
                }
                answer => {
                    if expected == Expected::Written {
                        self.model.write(commit);
                        self.summary.acknowledged += 1;
                    }
                    self.model.compare(commit, &expected, answer)?;
                    continue;
                }
            }
            if expected == Expected::Written {
                // As if it were written, so that what follows in the group is judged rightly.
                self.model.write(commit);
                written.push(commit.clone());
            }
        }
        let Some(error) = failed else { return Ok(true) };
        // Nothing of the group that failed was acknowledged but repeats.
        self.model = before;
        if unknown {
            self.unknown = written;
        }
        Ok(matches!(error, AppendError::DiskFull { .. }))
    }

    /// The end of the process, in the way that the fault or a chance wants it.
    fn end(&mut self, mut core: SimCore, fault: Option<Fault>) -> Result<(), String> {
        if fault.is_none() && self.rng.bool() {
            self.note("close".to_owned());
            core.close().map_err(|error| format!("can't be closed: {error}"))?;
            self.summary.closes += 1;
            return Ok(());
        }
        if fault == Some(Fault::Full) && self.rng.bool() {
            // A log on a full disk is closed, and opened, like any other.
            self.note("close on a full disk".to_owned());
            core.close().map_err(|error| format!("can't be closed on a full disk: {error}"))?;
            drop(core);
            if let Some(core) = self.open()? {
                self.compare(&core)?;
            } else {
                return Err("can't be opened on a full disk".to_owned());
            }
        } else {
            drop(core);
        }
        self.end_without_core(fault)
    }

    fn end_without_core(&mut self, fault: Option<Fault>) -> Result<(), String> {
        self.disk.mend();
        match fault {
            Some(Fault::Error) => self.summary.errors += 1,
            Some(Fault::Full) => self.summary.full += 1,
            _ => {}
        }
        if self.disk.is_off() || self.rng.bool() {
            self.note("power cut".to_owned());
            self.disk.power_cycle();
            self.summary.power_cuts += 1;
        } else {
            self.note("killed".to_owned());
            self.summary.kills += 1;
        }
        Ok(())
    }

    fn segments(&self) -> usize {
        self.disk.list().map_or(0, |names| names.len())
    }

    /// A random commit: mostly right, sometimes a repeat, a misuse, or a wrong expectation.
    fn commit(&mut self) -> Commit {
        let chance = self.rng.u8(..12);
        let sent = self.rng.usize(..=self.sent.len());
        let fresh = self.workload.commit(&self.model);
        match self.sent.get(sent) {
            Some(sent) if chance == 0 => sent.clone(),
            Some(sent) if chance == 1 => Commit { operation: sent.operation, ..fresh },
            _ => fresh,
        }
    }

    fn note(&mut self, line: String) {
        self.history.push(line);
    }
}

/// Errors of the disk, as opposed to refusals.
fn is_failure(error: &AppendError) -> bool {
    matches!(
        error,
        AppendError::OutcomeUnknown { .. }
            | AppendError::Poisoned { .. }
            | AppendError::DiskFull { .. }
            | AppendError::Read(_)
    )
}

fn summarise(answers: &[Result<Receipt, AppendError>]) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for answer in answers {
        let kind = match answer {
            Ok(receipt) if receipt.replayed => "replayed",
            Ok(_) => "written",
            Err(AppendError::OutcomeUnknown { .. }) => "unknown",
            Err(AppendError::DiskFull { .. }) => "disk full",
            Err(AppendError::Poisoned { .. }) => "poisoned",
            Err(_) => "refused",
        };
        *counts.entry(kind).or_default() += 1;
    }
    let mut parts: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    parts.sort();
    parts.join(", ")
}

fn all_events(core: &SimCore) -> Result<Vec<Recorded>, String> {
    let reader = FrameReader::at(core.store().clone(), Position(1));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let mut events = Vec::new();
    while let Some(frame) = reader.next_frame().map_err(|error| error.to_string())? {
        reader.each_event(&frame, |event| events.push(event)).map_err(|error| error.to_string())?;
    }
    Ok(events)
}

fn as_model(event: &Recorded) -> ModelEvent {
    ModelEvent {
        stream: event.stream,
        revision: event.revision,
        operation: event.operation,
        event_type: event.event_type,
        payload: event.payload.clone(),
    }
}
