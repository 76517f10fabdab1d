//! Requests to the server that runs on the same data folder.

use std::io::Read;

use futures::StreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::failure::{Failure, Outcome, sentence};
use crate::http::Problem;
use crate::import::Progress;
use crate::key::Key;
use crate::running::{Server, client};

/// How much of a file is sent at once, in bytes.
const CHUNK_BYTES: usize = 256 * 1024;

/// Chunks that wait to be sent.
const CHUNKS_AHEAD: usize = 4;

/// The header that carries the key.
const KEY_HEADER: &str = "X-API-Key";

/// Asks for something.
pub async fn get<T: DeserializeOwned>(
    server: &Server,
    key: &Key,
    path: &str,
    query: &impl Serialize,
) -> Outcome<T> {
    let url = url(server, path, query)?;
    answer(client()?.get(url).header(KEY_HEADER, key.reveal())).await
}

/// Sends a file to be imported.
pub async fn upload<T: DeserializeOwned>(
    server: &Server,
    key: &Key,
    query: &impl Serialize,
    input: Box<dyn Read + Send>,
    progress: Box<dyn Progress>,
) -> Outcome<T> {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    let reading = tokio::task::spawn_blocking(move || read(input, progress, &sender));
    let body = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    let url = url(server, "/api/import", query)?;
    let request = client()?.post(url).header(KEY_HEADER, key.reveal());
    let result = answer(request.body(reqwest::Body::wrap_stream(body.boxed()))).await;
    // The reader ends with the request, since nobody takes its chunks any more.
    let _ = reading.await;
    result
}

fn read(
    mut input: Box<dyn Read + Send>,
    mut progress: Box<dyn Progress>,
    sender: &mpsc::Sender<std::io::Result<Vec<u8>>>,
) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let chunk = match input.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => {
                chunk.truncate(read);
                progress.advance(read as u64);
                Ok(chunk)
            }
            Err(error) => Err(error),
        };
        let failed = chunk.is_err();
        if sender.blocking_send(chunk).is_err() || failed {
            return;
        }
    }
}

fn url(server: &Server, path: &str, query: &impl Serialize) -> Outcome<reqwest::Url> {
    let base = format!("http://{}{path}", server.address);
    let request = client()?.get(base).query(query).build();
    request.map(|request| request.url().clone()).map_err(|error| failed(server, &error))
}

async fn answer<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Outcome<T> {
    let lost = |error: reqwest::Error| {
        let error = sentence(&error.without_url());
        Failure::failed(format!("the running server did not answer: {error}"))
    };
    let response = request.send().await.map_err(lost)?;
    if response.status().is_success() {
        return response.json().await.map_err(lost);
    }
    let status = response.status();
    let problem: Problem = response.json().await.map_err(lost)?;
    Err(match status.as_u16() {
        401 | 403 | 409 => Failure::refused(problem),
        _ => Failure::failed(problem),
    })
}

fn failed(server: &Server, error: &reqwest::Error) -> Failure {
    Failure::failed(format!("the server at {} can't be asked: {error}", server.address))
}
