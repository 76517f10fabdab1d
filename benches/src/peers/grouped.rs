//! A writer thread for a store that has none: what arrived while the last group was made durable
//! is the next one.

use std::future::Future;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use tokio::sync::oneshot;

use crate::load::Write;

/// A store that makes a group of writes durable at once.
pub trait Store: Send + 'static {
    /// Writes all of them, or fails; what it returned `Ok` for is durable.
    fn write(&mut self, group: &[Write]) -> anyhow::Result<()>;
}

/// The writer thread of a store.
pub struct Grouped {
    queue: Sender<Job>,
    thread: JoinHandle<()>,
}

/// Hands writes to the thread.
#[derive(Clone)]
pub struct Appender {
    queue: Sender<Job>,
}

struct Job {
    write: Write,
    answer: oneshot::Sender<anyhow::Result<()>>,
}

impl Grouped {
    pub fn start(store: impl Store) -> anyhow::Result<Grouped> {
        let (queue, jobs) = channel();
        let thread = std::thread::Builder::new().name("peer".to_owned());
        let thread = thread.spawn(move || write_groups(store, &jobs))?;
        Ok(Grouped { queue, thread })
    }

    pub fn appender(&self) -> Appender {
        Appender { queue: self.queue.clone() }
    }

    /// Ends the thread and closes the store. All appenders must be gone.
    pub fn finish(self) -> anyhow::Result<()> {
        drop(self.queue);
        self.thread.join().map_err(|_panic| anyhow!("the writer of a peer panicked"))
    }
}

impl Appender {
    pub fn append(&self, write: Write) -> impl Future<Output = anyhow::Result<()>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let sent = self.queue.send(Job { write, answer });
        async move {
            sent.map_err(|_unsent| anyhow!("the writer of a peer ended"))?;
            answered.await.context("the writer of a peer ended")?
        }
    }
}

fn write_groups(mut store: impl Store, jobs: &Receiver<Job>) {
    let (mut last_group, mut last_time) = (0, Duration::ZERO);
    while let Ok(first) = jobs.recv() {
        let mut group = vec![first.write];
        let mut answers = vec![first.answer];
        // As the log does it: a moment for those of the last group, and none for a lone writer.
        let deadline = Instant::now() + last_time / 2;
        loop {
            match jobs.try_recv() {
                Ok(job) => {
                    group.push(job.write);
                    answers.push(job.answer);
                }
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) => {
                    let enough = last_group < 2 || group.len() >= last_group;
                    if enough || Instant::now() >= deadline {
                        break;
                    }
                    std::thread::yield_now();
                }
            }
        }
        let begin = Instant::now();
        let result = store.write(&group);
        (last_group, last_time) = (group.len(), begin.elapsed());
        for answer in answers {
            let result = result.as_ref().map_err(|error| anyhow!("{error:#}"));
            // The task may have gone.
            let _gone = answer.send(result);
        }
    }
}
