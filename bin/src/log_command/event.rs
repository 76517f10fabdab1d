//! One event as a line, and which events are wanted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use scripta_events::codec::{self, CodecError, DecodeError};
use scripta_events::domain::{
    BRANCH, BranchEvent, CHAT, ChatEvent, MEMORY, MemoryEvent, Meta, PROJECT, ProjectEvent, REVIEW,
    RUN, ReviewEvent, RunEvent, WORKSPACE, WorkspaceEvent,
};
use scripta_events::log::Recorded;
use scripta_events::{Category, EventType};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::cli::Only;
use crate::failure::{Failure, Outcome, sentence};

/// Codes of event types, each with its name.
type Types = &'static [(EventType, &'static str)];

/// The categories of Scripta's own streams, and the types of the events in them.
const CATEGORIES: &[(Category, &str, Types)] = &[
    (WORKSPACE, "workspace", WorkspaceEvent::TYPES),
    (PROJECT, "project", ProjectEvent::TYPES),
    (CHAT, "chat", ChatEvent::TYPES),
    (BRANCH, "branch", BranchEvent::TYPES),
    (RUN, "run", RunEvent::TYPES),
    (MEMORY, "memory", MemoryEvent::TYPES),
    (REVIEW, "review", ReviewEvent::TYPES),
];

/// Which events are wanted.
pub struct Wanted {
    category: Option<Category>,
    event_type: Option<EventType>,
    stream: Option<Uuid>,
}

impl Wanted {
    /// What the arguments ask for.
    pub fn of(only: &Only) -> Outcome<Wanted> {
        let category = only.category.as_deref().map(|text| {
            let known = CATEGORIES.iter().find(|(_, name, _)| *name == text);
            let number = || text.parse().ok().map(Category);
            known.map(|(category, ..)| *category).or_else(number).ok_or_else(|| {
                Failure::usage(format!(
                    "{text:?} is no category; write workspace, project, chat, branch, run, memory, review or a number"
                ))
            })
        });
        let event_type = only.event_type.as_deref().map(|text| {
            let mut types = CATEGORIES.iter().flat_map(|(_, _, types)| *types);
            let known = types.find(|(_, name)| *name == text).map(|(code, _)| *code);
            let digits = text.strip_prefix("0x").unwrap_or(text);
            let code = || u16::from_str_radix(digits, 16).ok().map(EventType);
            known.or_else(code).ok_or_else(|| {
                Failure::usage(format!(
                    "{text:?} is no type of event; write a name such as ChatRenamed, or a code such as 0x0302"
                ))
            })
        });
        Ok(Wanted {
            category: category.transpose()?,
            event_type: event_type.transpose()?,
            stream: only.stream,
        })
    }

    /// Whether this event is one of them.
    pub fn has(&self, event: &Recorded) -> bool {
        self.category.is_none_or(|category| event.stream.category == category)
            && self.event_type.is_none_or(|wanted| event.event_type == wanted)
            && self.stream.is_none_or(|id| event.stream.id == id || event.stream.root.0 == id)
    }
}

/// The category's name, or its number.
pub fn category_name(category: Category) -> String {
    let known = CATEGORIES.iter().find(|(known, ..)| *known == category);
    known.map_or_else(|| category.to_string(), |(_, name, _)| (*name).to_owned())
}

/// The name of an event's type, or its code.
pub fn type_name(event: &Recorded) -> String {
    let types = CATEGORIES.iter().find(|(known, ..)| *known == event.stream.category);
    let types = types.map(|(_, _, types)| *types).unwrap_or_default();
    let known = types.iter().find(|(code, _)| *code == event.event_type);
    known.map_or_else(|| event.event_type.to_string(), |(_, name)| (*name).to_owned())
}

/// The time of an event, as people write it.
pub fn time(event: &Recorded) -> Timestamp {
    Timestamp::from_microsecond(event.time.0).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// An event as a line for people.
pub fn as_text(event: &Recorded) -> String {
    format!(
        "{:>10}  {:.6}  {} {}  r{}  {} v{}  {} bytes",
        event.position.0,
        time(event),
        category_name(event.stream.category),
        event.stream.id,
        event.revision,
        type_name(event),
        event.version,
        event.payload.len(),
    )
}

/// An event as JSON: its payload decoded, or as it is stored if `raw`, or if this program doesn't
/// know it; then `problem` says why.
pub fn as_json(event: &Recorded, raw: bool) -> Value {
    let mut line = json!({
        "position": event.position.0,
        "stream": {
            "category": category_name(event.stream.category),
            "root": event.stream.root.0,
            "id": event.stream.id,
        },
        "revision": event.revision.0,
        "time": format!("{:.6}", time(event)),
        "operation": event.operation.0,
        "type": type_name(event),
        "code": event.event_type.to_string(),
        "version": event.version,
        "size": event.payload.len(),
    });
    let decoded = if raw { None } else { Some(payload(event)) };
    let Some(fields) = line.as_object_mut() else { return line };
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    match decoded {
        Some(Ok(value)) => {
            set("payload", value);
            if let Ok(meta) = Meta::from_bytes(&event.meta) {
                set("meta", serde_json::to_value(meta).unwrap_or_default());
            }
        }
        other => {
            set("codec", event.codec.into());
            set("base64", STANDARD.encode(&event.payload).into());
            set("metaBase64", STANDARD.encode(&event.meta).into());
            if let Some(Err(problem)) = other {
                set("problem", problem.into());
            }
        }
    }
    line
}

/// Whether an event is one that this program knows, whole.
pub fn decodes(event: &Recorded) -> Result<(), String> {
    payload(event)?;
    let meta = Meta::from_bytes(&event.meta).map(|_| ());
    meta.map_err(|reason| format!("the event at {}: {reason}", event.position))
}

fn payload(event: &Recorded) -> Result<Value, String> {
    macro_rules! as_value {
        ($set:ty) => {
            codec::decode::<$set>(event).and_then(|decoded| {
                let value = decoded.serialize_payload(serde_json::value::Serializer);
                value.map_err(|error| DecodeError {
                    position: event.position,
                    source: CodecError::Encode {
                        event_type: event.event_type,
                        reason: error.to_string(),
                    },
                })
            })
        };
    }
    let decoded = match event.stream.category {
        WORKSPACE => as_value!(WorkspaceEvent),
        PROJECT => as_value!(ProjectEvent),
        CHAT => as_value!(ChatEvent),
        BRANCH => as_value!(BranchEvent),
        RUN => as_value!(RunEvent),
        MEMORY => as_value!(MemoryEvent),
        REVIEW => as_value!(ReviewEvent),
        other => {
            let position = event.position;
            return Err(format!("the event at {position} is of the unknown category {other}"));
        }
    };
    decoded.map_err(|error| sentence(&error))
}
