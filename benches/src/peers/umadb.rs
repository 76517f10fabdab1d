//! UmaDB: embedded, behind its own writer thread, which groups what is waiting.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use tokio::sync::{mpsc, oneshot, watch};
use umadb_core::mvcc::{Mvcc, StorageOptions};
use umadb_core::writer_thread_blocking::writer_thread_blocking;
use umadb_core::writer_thread_request::WriterThreadRequest;
use umadb_dcb::DcbEvent;

use crate::load::{Load, Write};

/// How many events its server puts into one group.
const GROUP_EVENTS: usize = 2_000;

/// How many requests may wait for its writer: more than there are tasks.
const QUEUE: usize = 1_024;

/// How much of its pages it keeps in memory, in MB: enough for all that it reads here.
const CACHE_MB: usize = 64;

/// Events a second. They carry their stream as a tag, and are appended without a condition, which
/// costs UmaDB the least.
pub async fn append(folder: &Path, load: Load) -> anyhow::Result<f64> {
    let options = StorageOptions::default().db_path(folder).page_cache_max_mb(CACHE_MB);
    let store = Arc::new(Mvcc::new(false, options).map_err(|error| anyhow!("{error:?}"))?);
    let (requests, received) = mpsc::channel(QUEUE);
    let (head, _head) = watch::channel(None);
    let thread = std::thread::Builder::new().name("umadb".to_owned());
    let thread =
        thread.spawn(move || writer_thread_blocking(store, received, head, GROUP_EVENTS))?;
    let rate = load.drive(move |write| send(requests.clone(), write)).await?;
    thread.join().map_err(|_panic| anyhow!("UmaDB's writer panicked"))?;
    Ok(rate)
}

async fn send(requests: mpsc::Sender<WriterThreadRequest>, write: Write) -> anyhow::Result<()> {
    let tag = write.stream.simple().to_string();
    let event = |payload: &bytes::Bytes| DcbEvent {
        event_type: "event".to_owned(),
        tags: vec![tag.clone()],
        data: payload.to_vec(),
        uuid: None,
        metadata: Vec::new(),
    };
    let (response_tx, response) = oneshot::channel();
    let request = WriterThreadRequest::Append {
        events: write.events.iter().map(event).collect(),
        condition: None,
        tracking_info: None,
        response_tx,
        cancel: None,
    };
    requests.send(request).await.map_err(|_unsent| anyhow!("UmaDB's writer ended"))?;
    response.await?.map_err(|error| anyhow!("{error:?}"))?;
    Ok(())
}
