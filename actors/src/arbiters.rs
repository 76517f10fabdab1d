//! The threads that actors live on.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use actix::{Arbiter, ArbiterHandle, System};
use thiserror::Error;

/// Why the actors could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The operating system gave no thread or no event loop.
    #[error("the threads of the actors could not be started")]
    Threads(#[source] std::io::Error),
    /// There is no tokio runtime to carry turns out on.
    #[error("the actors need a tokio runtime; start them from within one")]
    NoRuntime,
}

/// An actix system of our own, on a thread of its own, so that it works beside any runtime: a
/// system can't be made within one.
pub(crate) struct Arbiters {
    system: System,
    thread: Option<JoinHandle<()>>,
}

impl Arbiters {
    /// Starts this many arbiters, each a thread with an event loop.
    pub(crate) fn start(count: usize) -> Result<(Arbiters, Vec<ArbiterHandle>), StartError> {
        let (started, starting) = mpsc::sync_channel(1);
        let body = move || {
            let runner = System::new();
            let arbiters: Result<Vec<_>, _> = (0..count).map(|_| Arbiter::try_new()).collect();
            let handles = arbiters.map(|all| all.iter().map(Arbiter::handle).collect());
            // Whoever started this waits for it.
            let _ = started.send(handles.map(|handles| (System::current(), handles)));
            if let Err(error) = runner.run() {
                tracing::error!(%error, "the actors' event loop broke off");
            }
        };
        let thread = thread::Builder::new().name("scripta-actors".to_owned()).spawn(body);
        let thread = thread.map_err(StartError::Threads)?;
        let gone = |_| StartError::Threads(std::io::Error::other("the thread ended at once"));
        let (system, handles) = starting.recv().map_err(gone)?.map_err(StartError::Threads)?;
        Ok((Arbiters { system, thread: Some(thread) }, handles))
    }

    /// Stops the arbiters. Actors are let go where they are; their state is in the log.
    pub(crate) fn stop(&self) {
        self.system.stop();
    }
}

impl Drop for Arbiters {
    fn drop(&mut self) {
        self.stop();
        // Not joined: this may run on one of the threads itself.
        drop(self.thread.take());
    }
}
