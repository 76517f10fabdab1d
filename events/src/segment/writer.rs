//! The writer thread: what arrived while the last sync ran is the next group.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Semaphore, oneshot};

use super::core::{Core, Draft};
use super::disk::Disk;
use super::file_disk::FolderLock;
use super::index::Index;
use crate::Timestamp;
use crate::log::{AppendError, Commit, Receipt};

/// How many bytes of commits may wait for the writer: a permit is a KiB. Beyond it, appends wait
/// for their turn.
const QUEUE_KIB: usize = 128 * 1024;

/// What a commit costs of that beyond its payloads, in bytes: so that tiny ones are bounded too.
const COMMIT_OVERHEAD: usize = 1024;

/// After so long without work, a mark says that all before it is durable.
const IDLE: Duration = Duration::from_millis(50);

/// From so many answers on, the runtime that waits for them hands them out: it wakes its own tasks
/// for a fraction of what waking them from this thread costs, one by one.
const HANDED_OVER: usize = 8;

/// How much of the last sync's time a group may wait for company, as a divisor.
const WAIT_DIVISOR: u32 = 2;

/// The handle of the writer thread.
pub(super) struct Writer {
    /// `None` once dropping began, which ends the thread.
    queue: Option<Sender<Job>>,
    permits: Arc<Semaphore>,
    /// Set when the log was closed and all that was taken is answered.
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Append { commit: Commit, answer: Answer },
    Close { answer: oneshot::Sender<Result<(), AppendError>> },
}

struct Answer {
    sender: oneshot::Sender<Result<Receipt, AppendError>>,
    /// The runtime of the task that waits, if it has threads that can work for it: one with a
    /// single thread may be waiting in that thread for this very answer.
    runtime: Option<Handle>,
}

/// Answers with their results; they are sent when this is dropped, wherever that is.
struct Ready(Vec<(Answer, Result<Receipt, AppendError>)>);

impl Writer {
    pub fn start<D: Disk, I: Index>(core: Core<D, I>, lock: FolderLock) -> io::Result<Writer> {
        let (queue, jobs) = channel();
        let permits = Arc::new(Semaphore::new(QUEUE_KIB));
        let closed = Arc::new(AtomicBool::new(false));
        let thread = Thread {
            core,
            jobs,
            closed: closed.clone(),
            lock: Some(lock),
            last_group: 0,
            last_sync: Duration::ZERO,
        };
        let thread = std::thread::Builder::new()
            .name("scripta-log".to_owned())
            .spawn(move || thread.run())?;
        Ok(Writer { queue: Some(queue), permits, closed, thread: Some(thread) })
    }

    pub async fn append(&self, commit: Commit) -> Result<Receipt, AppendError> {
        let permits = cost(&commit).div_ceil(1024).min(QUEUE_KIB) as u32;
        let permit = self.permits.acquire_many(permits).await;
        let _permit = permit.map_err(|_| AppendError::Closed)?;
        let (sender, answered) = oneshot::channel();
        let runtime = Handle::try_current().ok();
        let runtime = runtime.filter(|it| it.runtime_flavor() == RuntimeFlavor::MultiThread);
        let job = Job::Append { commit, answer: Answer { sender, runtime } };
        self.send(job).map_err(|_unsent| AppendError::Closed)?;
        match answered.await {
            Ok(result) => result,
            // It was still waiting when the log was closed.
            Err(_) if self.closed.load(Ordering::Acquire) => Err(AppendError::Closed),
            // The thread ended between taking the commit and answering.
            Err(_) => Err(AppendError::OutcomeUnknown { cause: "the writer ended".into() }),
        }
    }

    pub async fn close(&self) -> Result<(), AppendError> {
        let (answer, answered) = oneshot::channel();
        if self.send(Job::Close { answer }).is_err() {
            return Ok(());
        }
        answered.await.unwrap_or(Ok(()))
    }

    fn send(&self, job: Job) -> Result<(), Box<Job>> {
        match &self.queue {
            Some(queue) => queue.send(job).map_err(|unsent| Box::new(unsent.0)),
            None => Err(Box::new(job)),
        }
    }
}

impl Drop for Writer {
    /// Waits for the thread, so that the folder is free again when the log is gone.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the log's writer ended in a panic");
        }
    }
}

fn cost(commit: &Commit) -> usize {
    let events = commit.appends.iter().flat_map(|append| &append.events);
    let payloads: usize = events.map(|event| event.payload.len() + 64).sum();
    COMMIT_OVERHEAD + commit.meta.len() + payloads
}

struct Thread<D: Disk, I: Index> {
    core: Core<D, I>,
    jobs: Receiver<Job>,
    closed: Arc<AtomicBool>,
    lock: Option<FolderLock>,
    last_group: usize,
    last_sync: Duration,
}

/// What arrived.
#[derive(Default)]
struct Group {
    draft: Option<Draft>,
    answers: Vec<Answer>,
    /// A close that ends the group.
    close: Option<oneshot::Sender<Result<(), AppendError>>>,
    /// Whether nobody can send any more.
    ended: bool,
}

impl<D: Disk, I: Index> Thread<D, I> {
    fn run(mut self) {
        loop {
            let mut group = Group::default();
            self.wait_for_work(&mut group);
            self.collect(&mut group);
            self.write(&mut group);
            if group.ended {
                self.close_silently();
                return;
            }
            if let Some(answer) = group.close {
                let result = self.core.close();
                self.lock = None;
                self.closed.store(true, Ordering::Release);
                // Whoever asked may have gone.
                let _gone = answer.send(result);
                return;
            }
        }
    }

    fn wait_for_work(&mut self, group: &mut Group) {
        match self.jobs.recv_timeout(IDLE) {
            Ok(job) => return self.take(group, job),
            Err(RecvTimeoutError::Disconnected) => return group.ended = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // A failure poisons the core, which tells the next caller.
        let _told_later = self.core.mark_idle();
        self.last_group = 0;
        match self.jobs.recv() {
            Ok(job) => self.take(group, job),
            Err(_) => group.ended = true,
        }
    }

    /// Takes what is there, and waits a moment for as many as the last group had: they were
    /// answered just now and are likely to come back. A lone writer never waits.
    fn collect(&mut self, group: &mut Group) {
        let deadline = Instant::now() + self.last_sync / WAIT_DIVISOR;
        while !group.is_closed() {
            match self.jobs.try_recv() {
                Ok(job) => self.take(group, job),
                Err(TryRecvError::Disconnected) => group.ended = true,
                Err(TryRecvError::Empty) => {
                    let enough = group.answers.len() >= self.last_group || self.last_group < 2;
                    if enough || Instant::now() >= deadline {
                        return;
                    }
                    // Shorter than what a timed wait of the operating system can do.
                    std::thread::yield_now();
                }
            }
        }
    }

    fn take(&mut self, group: &mut Group, job: Job) {
        match job {
            Job::Append { commit, answer } => {
                let draft = group.draft.get_or_insert_with(|| self.core.begin(Timestamp::now()));
                self.core.take(draft, &commit);
                group.answers.push(answer);
            }
            Job::Close { answer } => group.close = Some(answer),
        }
    }

    fn write(&mut self, group: &mut Group) {
        let Some(draft) = group.draft.take() else { return };
        let begin = Instant::now();
        let results = self.core.write(draft);
        self.last_sync = begin.elapsed();
        self.last_group = group.answers.len();
        Ready(group.answers.drain(..).zip(results).collect()).send();
        // While those who were answered work on.
        self.core.settle();
    }

    fn close_silently(&mut self) {
        match self.core.close() {
            Ok(()) | Err(AppendError::Closed) => {}
            Err(error) => tracing::error!(%error, "the log could not be closed cleanly"),
        }
    }
}

impl Ready {
    fn send(self) {
        match self.runtime() {
            Some(runtime) if self.0.len() >= HANDED_OVER => {
                // A runtime that has ended drops the task, which sends them all the same.
                runtime.spawn(async move { drop(self) });
            }
            _ => drop(self),
        }
    }

    /// The runtime of all of them, if it is one.
    fn runtime(&self) -> Option<Handle> {
        let mut runtimes = self.0.iter().map(|(answer, _)| answer.runtime.as_ref());
        let first = runtimes.next().flatten()?;
        let same = runtimes.all(|other| other.is_some_and(|other| other.id() == first.id()));
        same.then(|| first.clone())
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        for (answer, result) in self.0.drain(..) {
            // A caller who gave up can ask again by the operation id.
            let _gone = answer.sender.send(result);
        }
    }
}

impl Group {
    fn is_closed(&self) -> bool {
        let is_full = self.draft.as_ref().is_some_and(Draft::is_full);
        self.ended || self.close.is_some() || is_full
    }
}
