//! The load that every store is measured under: tasks that each write the next commit when the
//! last one was answered.

use std::future::Future;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use uuid::Uuid;

/// The payload of every measured event, in bytes.
pub const EVENT_BYTES: usize = 256;

/// How many tasks write, and how much at once.
#[derive(Clone, Copy)]
pub struct Load {
    pub writers: usize,
    /// Events a commit.
    pub events: usize,
    pub time: Duration,
}

/// One commit: events of one stream.
#[derive(Clone)]
pub struct Write {
    pub stream: Uuid,
    /// How many events the stream has before it.
    pub after: u64,
    pub events: Vec<Bytes>,
}

impl Load {
    /// Events a second that `append` makes durable.
    pub async fn drive<F>(
        self,
        append: impl Fn(Write) -> F + Clone + Send + 'static,
    ) -> anyhow::Result<f64>
    where
        F: Future<Output = anyhow::Result<()>> + Send,
    {
        let begin = Instant::now();
        let tasks = (0..self.writers).map(|_| {
            let append = append.clone();
            tokio::spawn(async move {
                let stream = Uuid::now_v7();
                let mut after = 0;
                while begin.elapsed() < self.time {
                    append(Write { stream, after, events: payloads(self.events) }).await?;
                    after += self.events as u64;
                }
                anyhow::Ok(after)
            })
        });
        let mut total = 0;
        for written in join_all(tasks).await {
            total += written??;
        }
        Ok(total as f64 / begin.elapsed().as_secs_f64())
    }
}

/// Payloads of letters, half noise: a store that compresses gains about what it would with text.
pub fn payloads(count: usize) -> Vec<Bytes> {
    static PAYLOADS: std::sync::OnceLock<Bytes> = std::sync::OnceLock::new();
    /// So many differ, one after another.
    const DIFFERENT: usize = 64;
    let all = PAYLOADS.get_or_init(|| {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let noise = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            b'a' + (state >> 60) as u8
        });
        noise.take(EVENT_BYTES * DIFFERENT).collect::<Vec<u8>>().into()
    });
    (0..count)
        .map(|nth| {
            let begin = nth % DIFFERENT * EVENT_BYTES;
            all.slice(begin..begin + EVENT_BYTES)
        })
        .collect()
}
