//! The JSON of a ChatGPT export, as far as it is used. Fields come and go between exports, so
//! nearly everything is optional.

use std::fmt;

use scripta_events::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The latest time that is believed, in seconds: the year 9999.
const MAX_SECONDS: f64 = 253_402_300_799.0;

/// One conversation.
#[derive(Debug, Deserialize)]
pub struct Conversation {
    pub title: Option<String>,
    pub create_time: Option<Value>,
    pub update_time: Option<Value>,
    pub mapping: Mapping,
    pub current_node: Option<String>,
    pub conversation_id: Option<String>,
    pub id: Option<String>,
}

/// The nodes, in the order of the file and with what stands there twice: a map would lose both.
#[derive(Debug)]
pub struct Mapping(pub Vec<(String, Node)>);

/// One node.
#[derive(Debug, Deserialize)]
pub struct Node {
    pub message: Option<Message>,
    pub parent: Option<String>,
    pub children: Option<Vec<String>>,
}

/// One message.
#[derive(Debug, Deserialize)]
pub struct Message {
    pub author: Option<Author>,
    pub create_time: Option<Value>,
    pub content: Option<Value>,
    pub status: Option<String>,
    pub recipient: Option<String>,
    pub metadata: Option<Metadata>,
}

/// Who speaks.
#[derive(Debug, Deserialize)]
pub struct Author {
    pub role: Option<String>,
}

/// What is known about a message.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    pub is_visually_hidden_from_conversation: Option<bool>,
    pub model_slug: Option<String>,
    pub attachments: Option<Vec<Attachment>>,
}

/// A file that was attached.
#[derive(Debug, Deserialize)]
pub struct Attachment {
    pub id: Option<String>,
    pub name: Option<String>,
    #[serde(alias = "mimeType")]
    pub mime_type: Option<String>,
}

/// Seconds since 1970, as a number or as text; `None` for everything else.
pub fn time(value: Option<&Value>) -> Option<Timestamp> {
    let seconds = match value? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds))?;
    // The range above fits an i64 in microseconds.
    Some(Timestamp((seconds * 1e6).round() as i64))
}

impl<'de> Deserialize<'de> for Mapping {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Mapping, D::Error> {
        struct Nodes;

        impl<'de> Visitor<'de> for Nodes {
            type Value = Mapping;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the nodes of a conversation by id")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Mapping, A::Error> {
                let mut nodes = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    nodes.push(entry);
                }
                Ok(Mapping(nodes))
            }
        }

        deserializer.deserialize_map(Nodes)
    }
}
