//! OpenAI-compatible chat completions, by `genai`.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, ReasoningEffort};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use scripta_actors::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use serde_json::Value;
use tokio::sync::mpsc;

use super::frames::Frames;
use super::history::chat_request;
use crate::config::FileConnection;
use crate::failure::{Failure, Outcome, sentence};

/// How long a provider may take to be reached.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a provider may say nothing, not even a heartbeat, before the answer counts as lost:
/// reasoning models think for minutes.
const SILENCE: Duration = Duration::from_secs(300);

/// Events that wait for the run to read them; the provider waits when it is full.
const EVENTS_AHEAD: usize = 64;

/// The most of a provider's complaint that is repeated, in characters (inclusive).
const MAX_COMPLAINT_CHARS: usize = 500;

/// What stands in the place of a key.
const REDACTED: &str = "[key]";

/// One connection.
#[derive(Clone)]
pub struct OpenAi {
    connection: Arc<FileConnection>,
    key: Option<Arc<str>>,
    client: Client,
}

impl OpenAi {
    /// A connection with the key that its environment variable holds.
    pub fn new(connection: FileConnection, key: Option<String>) -> Outcome<OpenAi> {
        let build = || {
            let mut http = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT);
            // A model on this machine is never asked through a proxy.
            if is_loopback(&connection.base_url) {
                http = http.no_proxy();
            }
            let http = http.build().map_err(|error| sentence(&error))?;
            let client = Client::builder().with_reqwest(http).build();
            client.map_err(|error| error.to_string())
        };
        let client = build().map_err(|reason| {
            Failure::failed(format!("the connection '{}' can't be used: {reason}", connection.name))
        })?;
        Ok(OpenAi { connection: Arc::new(connection), key: key.map(Arc::from), client })
    }

    /// The connection's own model.
    pub fn model(&self) -> &str {
        &self.connection.model
    }

    /// Streams an answer. Dropping it drops the request.
    pub fn stream(
        &self,
        request: ModelRequest,
    ) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (sender, receiver) = mpsc::channel(EVENTS_AHEAD);
        let connection = self.clone();
        let answer = async move {
            let result = connection.answer(&request, &sender).await;
            if let Err(error) = result {
                // Nobody to tell it to: the run is over.
                let _ = sender.send(Err(error)).await;
            }
            None
        };
        let events = futures::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|event| (event, receiver))
        });
        // Both in one stream, so that dropping it ends the request too.
        let driver = futures::stream::once(answer).filter_map(std::future::ready);
        futures::stream::select(events, driver).boxed()
    }

    async fn answer(
        &self,
        request: &ModelRequest,
        events: &mpsc::Sender<Result<ModelEvent, ModelError>>,
    ) -> Result<(), ModelError> {
        let target = self.target(request.model.as_deref())?;
        let frames = Arc::new(Frames::default());
        let options = ChatOptions::default()
            .with_capture_usage(true)
            .with_stream_header_timeout(SILENCE)
            .with_stream_read_timeout(SILENCE)
            // Otherwise a model's name that ends with -low or the like loses its end.
            .with_reasoning_effort(ReasoningEffort::Budget(0))
            .with_raw_frame_sink_arc(frames.clone());
        let chat = chat_request(request);
        let answer = self.client.exec_chat_stream(target, chat, Some(&options)).await;
        let mut answer = answer.map_err(|error| self.error(&error))?.stream;
        while let Some(event) = answer.next().await {
            let event = match event.map_err(|error| self.error(&error))? {
                ChatStreamEvent::Chunk(chunk) => ModelEvent::Text(chunk.content),
                ChatStreamEvent::ReasoningChunk(chunk) => ModelEvent::Reasoning(chunk.content),
                _ => continue,
            };
            if events.send(Ok(event)).await.is_err() {
                return Ok(());
            }
        }
        let mut seen = frames.finish();
        if !seen.finished {
            let text = format!("{} broke its answer off before the end", self.named());
            return Err(ModelError::retryable(text));
        }
        let calls = seen.calls().map_err(ModelError::permanent)?;
        for event in calls.into_iter().chain([ModelEvent::Done { usage: seen.usage }]) {
            if events.send(Ok(event)).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    fn target(&self, model: Option<&str>) -> Result<ServiceTarget, ModelError> {
        let model = model.unwrap_or(&self.connection.model);
        // genai joins paths to it as a browser would, which needs the slash at the end.
        let base = format!("{}/", self.connection.base_url.trim_end_matches('/'));
        let auth = match (&self.key, &self.connection.api_key_env) {
            (Some(key), _) => AuthData::from_single(key.to_string()),
            (None, Some(variable)) => {
                return Err(ModelError::permanent(format!(
                    "{} has no key: set the environment variable {variable} and restart the server",
                    self.named()
                )));
            }
            (None, None) => AuthData::RequestOverride {
                url: format!("{base}chat/completions"),
                headers: Headers::default(),
            },
        };
        let endpoint = Endpoint::from_owned(base);
        Ok(ServiceTarget { endpoint, auth, model: ModelIden::new(AdapterKind::OpenAI, model) })
    }

    fn named(&self) -> String {
        format!("the model connection '{}'", self.connection.name)
    }

    /// Sorts an error, and says it in a sentence without the key.
    fn error(&self, error: &genai::Error) -> ModelError {
        let error = innermost(error);
        let status = error.status().map(|status| status.as_u16());
        let complaint = self.redact(&complaint(error));
        let message = match status {
            Some(status) => format!("{} answered with status {status}: {complaint}", self.named()),
            None => format!("{} failed: {complaint}", self.named()),
        };
        let after = error.headers().and_then(|headers| headers.get("retry-after"));
        let after = after.and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
        let kind = match (status, error) {
            (Some(408 | 425 | 429 | 500..), _) => {
                ModelErrorKind::Retryable { after: after.map(Duration::from_secs) }
            }
            (Some(_), _) => ModelErrorKind::Final,
            (None, genai::Error::WebStream { .. } | genai::Error::ChatResponse { .. }) => {
                ModelErrorKind::Retryable { after: None }
            }
            (None, genai::Error::WebModelCall { .. }) => ModelErrorKind::Retryable { after: None },
            (None, _) => ModelErrorKind::Final,
        };
        ModelError { message, kind }
    }

    fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(&**key, REDACTED),
            None => text.to_owned(),
        }
    }
}

/// The error that a stream's error has inside, where it is one of genai's.
fn innermost(error: &genai::Error) -> &genai::Error {
    match error {
        genai::Error::WebStream { error: inside, .. } => {
            inside.downcast_ref::<genai::Error>().map_or(error, innermost)
        }
        other => other,
    }
}

/// What went wrong, in the provider's words where it has some.
fn complaint(error: &genai::Error) -> String {
    let text = match error {
        genai::Error::HttpError { body, .. } => said(body),
        genai::Error::WebModelCall { webc_error, .. } => match webc_error {
            genai::webc::Error::ResponseFailedStatus { body, .. } => said(body),
            other => sentence(other),
        },
        genai::Error::ChatResponse { body, .. } => said(&body.to_string()),
        genai::Error::StreamParse { serde_error, .. } => {
            format!("malformed answer ({serde_error})")
        }
        genai::Error::WebStream { error, .. } => sentence(error.as_ref()),
        other => other.to_string(),
    };
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.chars().take(MAX_COMPLAINT_CHARS).collect()
}

/// The message in a provider's error body, or the body.
fn said(body: &str) -> String {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| {
        let message = json.pointer("/error/message").or_else(|| json.get("message"));
        message.or_else(|| json.get("error")).and_then(Value::as_str)
    });
    message.unwrap_or(body).to_owned()
}

fn is_loopback(url: &str) -> bool {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    host.is_some_and(|host| {
        let bare = host.trim_matches(['[', ']']);
        bare == "localhost" || bare.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests;
