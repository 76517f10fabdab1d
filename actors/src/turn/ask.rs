//! Asking the model, and gathering its answer.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use scripta_events::domain::{ToolCall, Usage};
use uuid::Uuid;

use super::history::History;
use super::{Halt, Turn};
use crate::attachments::manifest;
use crate::{
    Branch, BranchCommand, BranchKey, CommandMeta, ExecuteError, ModelError, ModelErrorKind,
    ModelEvent, ModelRequest, RunCommand, RunState, tool_name,
};

/// How often a model is asked for one step (inclusive), if its errors may pass.
const MAX_TRIES: u32 = 4;

/// The longest pause before a model is asked again, also where it asks for more.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The most tool calls of one answer (inclusive): more is a model out of its mind.
const MAX_CALLS: usize = 1_024;

/// The most text, reasoning and arguments of one answer together, in bytes (inclusive): it fits
/// into an event with room to spare.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// The tool calls and the usage of an answer; its text is with the live turn.
#[derive(Default)]
struct Rest {
    calls: Vec<ToolCall>,
    usage: Option<Usage>,
    bytes: usize,
}

impl Turn {
    /// Asks for this step's answer and gives it to the run.
    pub(super) async fn ask(&mut self, state: &RunState, step: u32) -> Result<Arc<RunState>, Halt> {
        let request = self.request(state).await?;
        let mut tries = 1;
        let rest = loop {
            self.live.begin(step);
            let asked = tokio::select! {
                biased;
                () = self.live.cancelled() => return Err(Halt::Rest),
                () = self.engine.closing.cancelled() => return Err(Halt::Rest),
                asked = self.gather(state, request.clone()) => asked,
            };
            let error = match asked {
                Ok(rest) => break rest,
                Err(error) => error,
            };
            let Some(pause) = self.pause(&error, tries) else {
                let partial = self.live.partial();
                return Err(Halt::Failed { reason: error.message, partial });
            };
            tracing::info!(run = %self.run, %error, ?pause, tries, "the model is asked again");
            tokio::select! {
                () = self.live.cancelled() => return Err(Halt::Rest),
                () = self.engine.closing.cancelled() => return Err(Halt::Rest),
                () = tokio::time::sleep(pause) => tries += 1,
            }
        };
        let said = self.live.partial().unwrap_or_default();
        let answered = RunCommand::Answered {
            step,
            text: said.text.clone(),
            reasoning: said.reasoning.clone(),
            calls: rest.calls,
            usage: rest.usage,
        };
        // An answer that can't be recorded as a whole is still worth keeping as far as it came.
        self.tell(answered).await.map_err(|halt| match halt {
            Halt::Failed { reason, .. } => Halt::Failed { reason, partial: Some(said) },
            halt => halt,
        })
    }

    async fn request(&mut self, state: &RunState) -> Result<ModelRequest, Halt> {
        let system = self.briefing(state).await?;
        let log = self.engine.log.clone();
        let branch = self.branch(state);
        let mut history = match self.history.take() {
            Some(history) => history,
            None => History::load(branch, &*log).await?,
        };
        history.refresh(&*log).await?;
        if history.has_asides() {
            self.append_asides(branch).await?;
            history.refresh(&*log).await?;
        }
        let messages = self.history.insert(history).messages().to_vec();
        let project = self.engine.project(state.project).await?;
        let project = project.as_deref();
        let attached = manifest(&self.engine, state.chat, project, &messages).await?;
        Ok(ModelRequest {
            connection: state.connection.clone(),
            model: state.model.clone(),
            system: system + &attached,
            messages,
            tools: state.toolset().to_vec(),
        })
    }

    /// Has the asides that came in appended, so that the model reads them.
    async fn append_asides(&self, branch: BranchKey) -> Result<(), Halt> {
        let command = BranchCommand::AppendAsides;
        let appended = self.engine.send::<Branch>(branch, command, CommandMeta::system()).await;
        match appended {
            Ok(_) => {}
            Err(ExecuteError::Load(error)) => return Err(error.into()),
            // The model goes on without them: they are appended when the turn has ended.
            Err(error) => {
                tracing::warn!(run = %self.run, ?error, "asides could not be appended");
            }
        }
        Ok(())
    }

    /// Reads one answer to its end.
    async fn gather(&self, state: &RunState, request: ModelRequest) -> Result<Rest, ModelError> {
        let silence = self.engine.options.model_silence;
        let mut parts = self.engine.models.stream(request);
        let mut rest = Rest::default();
        loop {
            let next = tokio::time::timeout(silence, parts.next()).await;
            let silent =
                |_| ModelError::retryable(format!("the model said nothing for {silence:?}"));
            let broken = "the model's answer broke off before its end";
            let part = next.map_err(silent)?.ok_or_else(|| ModelError::retryable(broken))??;
            match part {
                ModelEvent::Text(text) => {
                    rest.count(text.len())?;
                    self.live.extend(&text, "");
                }
                ModelEvent::Reasoning(text) => {
                    rest.count(text.len())?;
                    self.live.extend("", &text);
                }
                ModelEvent::ToolCall { id, name, arguments } => {
                    rest.count(id.len() + name.len() + arguments.len())?;
                    rest.call(state, id, &name, arguments)?;
                }
                ModelEvent::Done { usage } => {
                    rest.usage = usage;
                    return Ok(rest);
                }
            }
        }
    }

    /// How long to wait before asking again; `None` if that is no use. An answer that broke off
    /// after it had begun is not asked for again: what was received is kept.
    fn pause(&self, error: &ModelError, tries: u32) -> Option<Duration> {
        let ModelErrorKind::Retryable { after } = error.kind else { return None };
        let partial = self.live.partial().unwrap_or_default();
        if tries >= MAX_TRIES || !partial.text.is_empty() || !partial.reasoning.is_empty() {
            return None;
        }
        let doubled = self.engine.options.retry_pause.saturating_mul(1 << tries.min(16));
        // Half of it is chance, so that many runs don't come back at once.
        let chance = Uuid::now_v7().as_u128() % 1_000;
        let chance = u32::try_from(chance).unwrap_or(0);
        let pause = doubled / 2 + (doubled / 2).saturating_mul(chance) / 1_000;
        Some(after.unwrap_or(pause).min(MAX_PAUSE))
    }
}

impl Rest {
    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_ANSWER_BYTES {
            let message =
                format!("the model's answer is over the limit of {MAX_ANSWER_BYTES} bytes");
            return Err(ModelError::permanent(message));
        }
        Ok(())
    }

    fn call(
        &mut self,
        state: &RunState,
        id: String,
        name: &str,
        arguments: String,
    ) -> Result<(), ModelError> {
        if self.calls.len() >= MAX_CALLS {
            let message = format!("the model asked for more than {MAX_CALLS} tools at once");
            return Err(ModelError::permanent(message));
        }
        // Some providers give no ids: within a message the place is one.
        let id = if id.is_empty() { format!("call_{}", self.calls.len()) } else { id };
        if self.calls.iter().any(|call| call.id == id) {
            let message = format!("the model gave two tool calls the same id '{id}'");
            return Err(ModelError::permanent(message));
        }
        let known = state.toolset().iter().find(|tool| tool_name(&tool.server, &tool.tool) == name);
        let (server, tool) = known
            .map(|tool| (tool.server.clone(), tool.tool.clone()))
            .unwrap_or((String::new(), name.to_owned()));
        self.calls.push(ToolCall { id, server, tool, arguments });
        Ok(())
    }
}
