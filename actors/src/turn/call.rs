//! Making a tool call: every call gets a result, whatever becomes of it.

use std::sync::Arc;

use scripta_events::OperationId;
use scripta_events::domain::{ToolCall, ToolsetTool};

use super::{Halt, Turn};
use crate::{APP_SERVER, RunCommand, RunKey, RunState, ToolOutcome, ToolRequest, tool_name};

/// The longest result that is kept, in bytes (inclusive), text and structure each: models read
/// no more, and it fits into an event.
const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// The most tools that an error names (inclusive).
const MAX_NAMED_TOOLS: usize = 20;

impl Turn {
    /// Makes one call and gives its result to the run.
    pub(super) async fn call(
        &mut self,
        state: &RunState,
        (step, index): (u32, u32),
        call: ToolCall,
        again: bool,
    ) -> Result<Arc<RunState>, Halt> {
        let outcome = match self.check(state, &call, again) {
            Err(refused) => refused,
            Ok(arguments) => {
                let session = self.session(state).await?;
                // It is on record that the call went out before it does.
                let started = self.tell(RunCommand::CallStarted { step, index }).await?;
                if started.is_over() {
                    return Ok(started);
                }
                // One that is made again is not another.
                let before = state.calls_of(&call).saturating_sub(u32::from(again));
                let request = ToolRequest {
                    before,
                    server: call.server,
                    tool: call.tool,
                    arguments,
                    operation: operation(self.run, step, index),
                };
                let token = self.live.token();
                let work = session.call(request, token.clone());
                let limit = self.engine.options.tool_timeout;
                tokio::select! {
                    biased;
                    // The run has its results already.
                    () = self.live.cancelled() => return Err(Halt::Rest),
                    outcome = tokio::time::timeout(limit, work) => outcome.unwrap_or_else(|_| {
                        token.cancel();
                        ToolOutcome::error(format!(
                            "the tool didn't answer within {limit:?} and was cancelled; it may have taken effect"
                        ))
                    }),
                }
            }
        };
        let outcome = bounded(outcome);
        self.tell(RunCommand::CallFinished { step, index, outcome }).await
    }

    /// The arguments to call with, or the result that refuses the call.
    fn check(&self, state: &RunState, call: &ToolCall, again: bool) -> Result<String, ToolOutcome> {
        let tools = state.toolset();
        let called = |tool: &&ToolsetTool| tool.server == call.server && tool.tool == call.tool;
        let Some(tool) = tools.iter().find(called) else {
            let names = tools.iter().map(|tool| tool_name(&tool.server, &tool.tool));
            let names: Vec<_> = names.take(MAX_NAMED_TOOLS).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let text =
                format!("there is no tool '{}' in this run; its tools are: {names}", call.tool);
            return Err(ToolOutcome::error(text));
        };
        if again && !may_be_repeated(tool) {
            let text = "the server was restarted during this call; it may have taken effect, so it \
                        was not made again: find out before you repeat it";
            return Err(ToolOutcome::error(text));
        }
        let limit = self.engine.options.max_calls_per_run;
        if state.calls_made >= limit && !again {
            let text = format!("this run has made the {limit} tool calls that it may make");
            return Err(ToolOutcome::error(text));
        }
        if call.arguments.trim().is_empty() {
            return Ok("{}".to_owned());
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments) {
            Ok(_) => Ok(call.arguments.clone()),
            Err(error) => {
                let text = format!("the arguments are not valid JSON ({error}); send one object");
                Err(ToolOutcome::error(text))
            }
        }
    }
}

/// Whether a call whose answer was lost is made again: it only reads, or takes effect once under
/// its operation id.
fn may_be_repeated(tool: &ToolsetTool) -> bool {
    tool.read_only || tool.server == APP_SERVER
}

/// The operation of a call, made from the place of its request, since providers repeat call ids:
/// made again after a crash, it takes effect once.
fn operation(run: RunKey, step: u32, index: u32) -> OperationId {
    let mut hasher = blake3::Hasher::new_derive_key("scripta tool call operation v1");
    hasher.update(run.chat.0.as_bytes());
    hasher.update(run.run.0.as_bytes());
    hasher.update(&step.to_le_bytes());
    hasher.update(&index.to_le_bytes());
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    OperationId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

fn bounded(outcome: ToolOutcome) -> ToolOutcome {
    let ToolOutcome { is_error, mut text, structured } = outcome;
    let size = text.len();
    if size > MAX_RESULT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_RESULT_BYTES));
        text.push_str(&format!(
            "\n[cut: the result had {size} bytes, {MAX_RESULT_BYTES} are kept]"
        ));
    }
    let structured = structured.filter(|json| json.len() <= MAX_RESULT_BYTES);
    ToolOutcome { is_error, text, structured }
}
