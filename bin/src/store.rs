//! The log and the projections of a data folder, opened by this process.

use std::sync::Arc;

use scripta_events::log::EventLog;
use scripta_events::segment::{self, LockError, SegmentLog};
use scripta_projections::{OpenError as ProjectionsError, Options, Projections, WaitError};

use crate::data::DataFolder;
use crate::failure::{Failure, Outcome, Status, sentence};
use crate::progress::IndexProgress;

/// What the whole program reads from and writes to.
pub struct Store {
    segments: SegmentLog,
    /// The log, as everything above knows it.
    pub log: Arc<dyn EventLog>,
    /// What can be asked.
    pub projections: Arc<Projections>,
}

impl Store {
    /// Opens the folder, which is made if it is not there, and locks it.
    pub async fn open(data: &DataFolder) -> Outcome<Store> {
        let data = data.clone();
        blocking(move || open(&data)).await
    }

    /// Waits until reads see everything that is in the log.
    pub async fn catch_up(&self) -> Outcome {
        let head = *self.log.head().borrow();
        self.projections.reach(head).await.map_err(|error| Failure::failed(sentence(&error)))
    }

    /// The same however long it takes, as after a projection's rebuild.
    pub async fn catch_up_fully(&self) -> Outcome {
        let head = *self.log.head().borrow();
        loop {
            match self.projections.reach(head).await {
                Ok(()) => return Ok(()),
                Err(error @ WaitError::Timeout { .. }) => {
                    tracing::info!("still catching up: {error}");
                }
                Err(error) => return Err(Failure::failed(sentence(&error))),
            }
        }
    }

    /// Writes out what is held back, and unlocks the folder.
    pub async fn close(&self) -> Outcome {
        let projections = Arc::clone(&self.projections);
        blocking(move || {
            projections.close();
            Ok(())
        })
        .await?;
        let closed = self.segments.close().await;
        closed.map_err(|error| Failure::failed(sentence(&error)))
    }
}

/// Runs what may block where it may.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> Outcome<T> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.map_err(|_| Failure::failed("a part of the program broke off; look at the log lines"))?
}

fn open(data: &DataFolder) -> Outcome<Store> {
    data.create()?;
    let opened = {
        let mut shown = IndexProgress::default();
        SegmentLog::open_with(data.root(), data.segments(), &mut |rebuilt| shown.tell(rebuilt))
    };
    let (segments, opened) = opened.map_err(|error| log_failure(data, &error))?;
    if let Some(cut) = &opened.cut {
        tracing::warn!(
            segment = cut.segment,
            offset = cut.offset,
            bytes = cut.bytes,
            "a crash left a torn frame at the end of the log, which was never acknowledged; it was cut off"
        );
    }
    tracing::info!(head = %opened.head, segments = opened.segments, "the log is open");
    let log: Arc<dyn EventLog> = Arc::new(segments.clone());
    let projections = Projections::open(Arc::clone(&log), &data.projections(), Options::default())
        .map_err(|error| projections_failure(&error))?;
    Ok(Store { segments, log, projections: Arc::new(projections) })
}

fn log_failure(data: &DataFolder, error: &segment::OpenError) -> Failure {
    match error {
        segment::OpenError::Locked(LockError::Held { pid }) => {
            let holder = match pid {
                Some(pid) => format!("process {pid}"),
                None => "another process".to_owned(),
            };
            Failure::refused(format!(
                "the data folder {} is in use by {holder}; stop it, or name another folder with --data",
                data.root().display()
            ))
        }
        segment::OpenError::Corrupt { .. } => Failure::corrupt(sentence(error)),
        other => Failure::failed(format!(
            "the log in {} can't be opened: {}",
            data.log().display(),
            sentence(other)
        )),
    }
}

fn projections_failure(error: &ProjectionsError) -> Failure {
    let status = match error {
        ProjectionsError::InUse { .. } => Status::Refused,
        _ => Status::Failed,
    };
    Failure::new(status, sentence(error))
}
