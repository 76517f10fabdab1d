//! What a call answers: one shape for all changes, one for all reads.

use std::error::Error;

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use scripta_actors::{Aggregate, ExecuteError, Refusal};
use scripta_events::log::Receipt;
use serde::Serialize;
use uuid::Uuid;

use crate::arguments::ArgumentError;
use crate::view::{
    AttentionView, ChatView, EffectView, HitView, InstructionsView, MemoryView, MessageView,
    ProjectView, ResourceView, ReviewView, RunView, SettingsView,
};

/// The answer of a changing tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeResult<D> {
    status: ChangeStatus,
    /// Whether this repeats the answer to an earlier call with the same operation id.
    replayed: bool,
    /// What happened, for a person.
    phrase: String,
    /// The document after the change; in a conflict, the document as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<D>,
    /// The document's revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    /// The place in the log that a read sees this change from.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    /// What a deletion would take with it; only in the answer to a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<EffectView>,
}

// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) enum ChangeStatus {
    Applied,
    Planned,
    Conflict,
    Refused,
}

/// A change that was made, now or before, or rehearsed.
pub(crate) struct Applied<D> {
    /// For a dry run, which wrote nothing: what it would do.
    pub(crate) planned: Option<EffectView>,
    pub(crate) replayed: bool,
    pub(crate) phrase: String,
    pub(crate) document: D,
    /// `None` for a document without one.
    pub(crate) revision: Option<u64>,
    pub(crate) position: u64,
}

impl<D> Applied<D> {
    /// A change of a document without a revision.
    pub(crate) fn new(receipt: &Receipt, phrase: String, document: D) -> Applied<D> {
        let (replayed, position) = (receipt.replayed, receipt.position.0);
        Applied { planned: None, replayed, phrase, document, revision: None, position }
    }

    /// A deletion that was rehearsed: what it would take, as of this position.
    pub(crate) fn planned(
        phrase: String,
        document: D,
        effect: EffectView,
        position: u64,
    ) -> Applied<D> {
        let planned = Some(effect);
        Applied { planned, replayed: false, phrase, document, revision: None, position }
    }

    /// Something that was done and is no change: there is nothing to repeat.
    pub(crate) fn unwritten(phrase: String, document: D, position: u64) -> Applied<D> {
        Applied { planned: None, replayed: false, phrase, document, revision: None, position }
    }

    /// The same of a document that is at this revision.
    pub(crate) fn at(self, revision: u64) -> Applied<D> {
        Applied { revision: Some(revision), ..self }
    }
}

/// A change that was not made: nothing was written.
pub(crate) enum Rejected<D> {
    /// Somebody wrote first.
    Conflict { phrase: String, document: Box<D>, revision: u64 },
    /// Anything else.
    Refused { phrase: String },
}

/// What a changing tool comes to.
pub(crate) type Outcome<D> = Result<Applied<D>, Rejected<D>>;

/// The answer of a read: a page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageResult {
    pub(crate) items: Vec<Item>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
    /// Whether the page ended at a limit, and there is or may be more.
    pub(crate) truncated: bool,
    /// The place in the log that this page is at least as new as.
    pub(crate) position: u64,
    /// What was read, for a person.
    pub(crate) phrase: String,
}

/// One item of a page: which kind follows from the resource.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Item {
    Project(ProjectView),
    Instructions(InstructionsView),
    Memory(Box<MemoryView>),
    Resource(ResourceView),
    Review(Box<ReviewView>),
    Chat(ChatView),
    Message(Box<MessageView>),
    Run(Box<RunView>),
    Hit(HitView),
    Settings(Box<SettingsView>),
    Attention(Box<AttentionView>),
}

impl<D: Serialize> ChangeResult<D> {
    /// The answer to an outcome, and whether it is an error.
    fn of(outcome: Outcome<D>) -> (ChangeResult<D>, bool) {
        match outcome {
            Ok(applied) => {
                let result = ChangeResult {
                    status: match applied.planned {
                        Some(_) => ChangeStatus::Planned,
                        None => ChangeStatus::Applied,
                    },
                    replayed: applied.replayed,
                    phrase: applied.phrase,
                    document: Some(applied.document),
                    revision: applied.revision,
                    position: Some(applied.position),
                    effect: applied.planned,
                };
                (result, false)
            }
            Err(Rejected::Conflict { phrase, document, revision }) => {
                let result = ChangeResult {
                    document: Some(*document),
                    revision: Some(revision),
                    ..ChangeResult::rejected(ChangeStatus::Conflict, phrase)
                };
                (result, true)
            }
            Err(Rejected::Refused { phrase }) => {
                (ChangeResult::rejected(ChangeStatus::Refused, phrase), true)
            }
        }
    }

    fn rejected(status: ChangeStatus, phrase: String) -> ChangeResult<D> {
        let (document, revision, position) = (None, None, None);
        let effect = None;
        ChangeResult { status, replayed: false, phrase, document, revision, position, effect }
    }
}

/// The result of a changing tool.
pub(crate) fn change<D: Serialize>(outcome: Outcome<D>) -> CallToolResult {
    let (result, is_error) = ChangeResult::of(outcome);
    structured(&result, is_error)
}

/// The result of a read. One that failed has only its sentence: it is no page.
pub(crate) fn read<E: Error>(page: Result<PageResult, E>) -> CallToolResult {
    match page {
        Ok(page) => structured(&page, false),
        Err(error) => sentence(sentence_of(&error)),
    }
}

/// A failure that is for the model to read.
pub(crate) fn sentence(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn structured(result: &impl Serialize, is_error: bool) -> CallToolResult {
    let written = serde_json::to_value(result).and_then(|value| {
        let text = serde_json::to_string(&value)?;
        Ok((text, value))
    });
    let (text, value) = match written {
        Ok(written) => written,
        Err(error) => return sentence(format!("The answer can't be written as JSON: {error}")),
    };
    let content = vec![ContentBlock::text(text)];
    let mut answer = match is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    answer.structured_content = Some(value);
    answer
}

impl<D> Rejected<D> {
    pub(crate) fn refused(phrase: impl Into<String>) -> Rejected<D> {
        Rejected::Refused { phrase: bounded(phrase.into()) }
    }

    /// What the actors answered, with the document as callers see it.
    pub(crate) fn from_execute<A: Aggregate>(
        error: ExecuteError<A>,
        view: impl FnOnce(&A::State) -> D,
    ) -> Rejected<D> {
        let phrase = sentence_of(&error);
        match error {
            ExecuteError::Conflict { revision, state, .. } => {
                Rejected::Conflict { phrase, document: Box::new(view(&state)), revision }
            }
            ExecuteError::Refused(refusal) => {
                Rejected::Refused { phrase: bounded(refused(&refusal)) }
            }
            _ => Rejected::Refused { phrase },
        }
    }
}

/// A decider's refusal in the words of the tools: its arguments, and where ids are listed.
fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Invalid { field, problem } => format!("`{field}` {problem}"),
        Refusal::NotFound { what, id } => not_found(what, *id),
        Refusal::Gone { what, id } => gone(what, *id),
        other => sentence_of(other),
    }
}

fn not_found(what: &str, id: Uuid) -> String {
    if what == "queued message" {
        return format!(
            "There is no {what} {id} in this branch; app_read Chat says what is queued"
        );
    }
    let (thing, place) = match what {
        "memory entry" => (what, ""),
        _ => what.split_once(' ').unwrap_or((what, "")),
    };
    let Some(listing) = listing_of(thing) else {
        return format!("There is no {what} {id}");
    };
    let space = if place.is_empty() { "" } else { " " };
    format!("There is no {thing} {id}{space}{place}; app_read {listing} lists what there is")
}

/// In the words that a read has for it too.
fn gone(what: &str, id: Uuid) -> String {
    match listing_of(what) {
        Some(listing) => {
            format!("The {what} {id} was deleted; app_read {listing} lists what there is")
        }
        None => format!("The {what} {id} was deleted"),
    }
}

/// The resource that lists things of this kind.
fn listing_of(thing: &str) -> Option<&'static str> {
    Some(match thing {
        "project" => "Projects",
        "chat" => "Chats",
        "branch" => "Chat",
        "message" => "Messages",
        "run" => "Runs",
        "connection" | "tool" => "Settings",
        "memory entry" => "Memory",
        _ => return None,
    })
}

impl<D> From<ArgumentError> for Rejected<D> {
    fn from(error: ArgumentError) -> Rejected<D> {
        Rejected::refused(sentence_of(&error))
    }
}

/// An error with what caused it, as one sentence.
pub(crate) fn sentence_of(error: &dyn Error) -> String {
    bounded(whole_sentence_of(error))
}

/// The longest sentence of a refusal, in characters (inclusive): what a caller sent may stand in it,
/// and is not sent back whole.
const MAX_SENTENCE: usize = 1_500;

fn bounded(text: String) -> String {
    match text.char_indices().nth(MAX_SENTENCE) {
        None => text,
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
    }
}

fn whole_sentence_of(error: &dyn Error) -> String {
    let mut text = capitalised(&error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A sentence begins with a capital, unless it begins with a name of ours.
fn capitalised(text: &str) -> String {
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        return text.to_owned();
    }
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}
