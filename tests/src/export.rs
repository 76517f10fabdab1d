//! ChatGPT exports, made small.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// A conversation of a ChatGPT export, built node by node.
pub struct Conversation {
    id: String,
    title: String,
    mapping: Map<String, Value>,
    current: String,
}

impl Conversation {
    /// One with nothing but the root that every export has: a node without a message.
    pub fn new(id: &str, title: &str) -> Conversation {
        let mut mapping = Map::new();
        let root = json!({ "id": "root", "message": null, "parent": null, "children": [] });
        mapping.insert("root".to_owned(), root);
        Conversation {
            id: id.to_owned(),
            title: title.to_owned(),
            mapping,
            current: "root".to_owned(),
        }
    }

    /// Adds a message of plain text below `parent` and makes it the current node.
    pub fn say(mut self, id: &str, parent: &str, role: &str, text: &str) -> Conversation {
        let order = self.mapping.len();
        let message = json!({
            "id": id,
            "author": { "role": role, "name": null, "metadata": {} },
            "create_time": 1_700_000_000.5 + order as f64,
            "content": { "content_type": "text", "parts": [text] },
            "status": "finished_successfully",
            "metadata": {},
        });
        let node = json!({ "id": id, "message": message, "parent": parent, "children": [] });
        self.mapping.insert(id.to_owned(), node);
        let siblings = self.mapping[parent]["children"].as_array_mut().expect("a list");
        siblings.push(json!(id));
        self.current = id.to_owned();
        self
    }

    /// Makes another node the current one: the path to it is what the person saw last.
    pub fn at(mut self, id: &str) -> Conversation {
        self.current = id.to_owned();
        self
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "conversation_id": self.id,
            "title": self.title,
            "create_time": 1_700_000_000.0,
            "update_time": 1_700_000_100.0,
            "mapping": self.mapping,
            "current_node": self.current,
        })
    }
}

/// Writes `conversations.json` into a folder; its path.
pub fn write(folder: &Path, conversations: &[Conversation]) -> PathBuf {
    let all: Vec<Value> = conversations.iter().map(Conversation::to_json).collect();
    let path = folder.join("conversations.json");
    std::fs::write(&path, Value::Array(all).to_string()).expect("the export is written");
    path
}
