//! What the raw frames of an answer say beyond what `genai` makes of them.
//!
//! `genai` loses which call a fragment belongs to when several come interleaved, and a stream
//! that breaks off looks to it like one that ended. So tool calls and the reason for the end
//! are taken from the frames themselves.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use scripta_actors::ModelEvent;
use scripta_events::domain::Usage;
use serde::Deserialize;

/// The most tool calls of one answer (inclusive); the actors refuse an answer over it, and what
/// comes beyond is not even kept.
const MAX_CALLS: usize = 1_024;

/// The most bytes of arguments that are kept of one answer: the largest event holds them.
const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// Collects what the frames of one answer say.
#[derive(Debug, Default)]
pub struct Frames(Mutex<Seen>);

/// What was seen.
#[derive(Debug, Default)]
pub struct Seen {
    calls: BTreeMap<u64, Call>,
    bytes: usize,
    /// Whether the provider said that the answer is whole.
    pub finished: bool,
    /// What it used.
    pub usage: Option<Usage>,
    /// Why the calls can't be used, if they can't.
    pub problem: Option<String>,
}

#[derive(Debug, Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<FrameUsage>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    tool_calls: Option<Vec<Fragment>>,
}

#[derive(Deserialize)]
struct Fragment {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct FrameUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _context: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if frame.data == "[DONE]" {
            seen.finished = true;
            return;
        }
        // What is no JSON is an error of genai's own.
        let Ok(frame) = serde_json::from_str::<Frame>(frame.data) else { return };
        seen.take(frame);
    }
}

impl Frames {
    /// What was seen so far; it begins anew.
    pub fn finish(&self) -> Seen {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seen {
    fn take(&mut self, frame: Frame) {
        if let Some(usage) = frame.usage {
            self.usage =
                Some(Usage { input: usage.prompt_tokens, output: usage.completion_tokens });
        }
        let Some(choice) = frame.choices.into_iter().next() else { return };
        self.finished |= choice.finish_reason.is_some();
        let fragments = choice.delta.and_then(|delta| delta.tool_calls);
        for fragment in fragments.into_iter().flatten() {
            self.fragment(fragment);
        }
    }

    fn fragment(&mut self, fragment: Fragment) {
        let last = self.calls.keys().next_back().copied();
        // Some providers leave the index out and send each call whole.
        let fresh = last.map_or(0, |last| last.saturating_add(1));
        let index = fragment.index.unwrap_or(match fragment.id {
            Some(_) => fresh,
            None => last.unwrap_or(0),
        });
        let function = fragment.function.unwrap_or(Function { name: None, arguments: None });
        let arguments = function.arguments.unwrap_or_default();
        self.bytes = self.bytes.saturating_add(arguments.len());
        let is_new = !self.calls.contains_key(&index);
        if self.bytes > MAX_ARGUMENT_BYTES || (is_new && self.calls.len() > MAX_CALLS) {
            let problem = format!(
                "the model asked for more than {MAX_CALLS} tools, or gave them more than {MAX_ARGUMENT_BYTES} bytes of arguments"
            );
            self.problem.get_or_insert(problem);
            return;
        }
        let call = self.calls.entry(index).or_default();
        if let Some(id) = fragment.id.filter(|id| !id.is_empty()) {
            call.id = id;
        }
        call.name.push_str(&function.name.unwrap_or_default());
        call.arguments.push_str(&arguments);
    }

    /// The calls, in the provider's order.
    ///
    /// # Errors
    ///
    /// A sentence, if one of them can't be told from the frames.
    pub fn calls(&mut self) -> Result<Vec<ModelEvent>, String> {
        if let Some(problem) = self.problem.take() {
            return Err(problem);
        }
        let calls = std::mem::take(&mut self.calls).into_values();
        let event = |call: Call| match call.name.is_empty() {
            true => Err("the model asked for a tool without naming it".to_owned()),
            false => {
                let Call { id, name, arguments } = call;
                let arguments =
                    if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
                Ok(ModelEvent::ToolCall { id, name, arguments })
            }
        };
        calls.map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn seen(frames: &[&str]) -> Seen {
        let mut seen = Seen::default();
        for frame in frames {
            seen.take(serde_json::from_str(frame).unwrap());
        }
        seen
    }

    fn tool_calls(calls: &str) -> String {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{calls}]}}}}]}}"#)
    }

    #[test]
    fn interleaved_fragments_come_to_their_calls() {
        let frames = [
            tool_calls(r#"{"index":0,"id":"a","function":{"name":"one","arguments":""}}"#),
            tool_calls(r#"{"index":1,"id":"b","function":{"name":"two","arguments":"{\"x\""}}"#),
            tool_calls(r#"{"index":0,"function":{"arguments":"{}"}}"#),
            tool_calls(r#"{"index":1,"function":{"arguments":":1}"}}"#),
        ];
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        let calls = seen(&frames).calls().unwrap();
        let call = |id: &str, name: &str, arguments: &str| ModelEvent::ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        assert_eq!(calls, [call("a", "one", "{}"), call("b", "two", "{\"x\":1}")]);
    }

    #[test]
    fn an_index_from_nowhere_takes_no_memory() {
        let frame =
            tool_calls(r#"{"index":4294967295,"id":"a","function":{"name":"n","arguments":"{}"}}"#);
        assert_eq!(seen(&[&frame]).calls().unwrap().len(), 1);
        let many: Vec<String> = (0..MAX_CALLS + 5)
            .map(|n| tool_calls(&format!(r#"{{"index":{n},"id":"c","function":{{"name":"n"}}}}"#)))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(seen(&many).calls().unwrap_err().contains("more than"));
        let nameless = tool_calls(r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#);
        assert!(seen(&[&nameless]).calls().unwrap_err().contains("without naming"));
    }

    #[test]
    fn the_end_is_what_the_provider_says_it_is() {
        assert!(!seen(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#]).finished);
        let end = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5}}"#;
        let seen = seen(&[end]);
        assert!(seen.finished);
        assert_eq!(seen.usage, Some(Usage { input: Some(7), output: Some(5) }));
    }
}
