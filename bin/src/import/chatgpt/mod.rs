//! ChatGPT exports: `conversations.json`, an array of conversations, each a tree.

mod parts;
mod wire;

use scripta_events::Timestamp;
use scripta_events::domain::{ImportSource, Part};

use super::tree::{self, RawNode, Tree};

/// The format's name, in events and reports.
pub const FORMAT: &str = "chatgpt";

/// The longest title taken, in characters: what is longer is cut off.
const MAX_TITLE_CHARS: usize = 200;

/// A conversation, ready to be written.
#[derive(Debug)]
pub struct Conversation {
    /// Where it comes from.
    pub source: ImportSource,
    /// Its title, never empty.
    pub title: String,
    /// Its messages.
    pub tree: Tree,
}

/// Reads one conversation out of the text of one element of the array.
///
/// # Errors
///
/// A sentence that says what is wrong with it.
pub fn conversation(json: &str) -> Result<Conversation, String> {
    let wire: wire::Conversation =
        serde_json::from_str(json).map_err(|error| format!("it is not a conversation: {error}"))?;
    let id = wire.conversation_id.or(wire.id).or_else(|| root_id(&wire.mapping));
    let id = id.ok_or_else(|| "it has neither an id nor a node".to_owned())?;
    let created = wire::time(wire.create_time.as_ref());
    let fallback = created.or_else(|| wire::time(wire.update_time.as_ref()));
    let raw = wire.mapping.0.into_iter().map(|(id, node)| RawNode {
        content: parts::content(&id, node.message.as_ref()),
        id,
        parent: node.parent,
        children: node.children.unwrap_or_default(),
    });
    let mut tree = tree::build(raw.collect(), wire.current_node.as_deref());
    // A conversation without any time at all keeps its order, at the beginning of time.
    tree.fill_times(fallback.unwrap_or(Timestamp(0)));
    link_results(&mut tree);
    Ok(Conversation {
        source: ImportSource { format: FORMAT.to_owned(), id },
        title: title(wire.title.as_deref()),
        tree,
    })
}

/// A stand-in for an id that very old exports lack.
fn root_id(mapping: &wire::Mapping) -> Option<String> {
    let root = mapping.0.iter().find(|(_, node)| node.parent.is_none());
    root.or(mapping.0.first()).map(|(id, _)| format!("root:{id}"))
}

fn title(title: Option<&str>) -> String {
    let title = title.unwrap_or_default().replace(char::is_control, " ");
    let title = Some(title.trim()).filter(|title| !title.is_empty()).unwrap_or("Untitled");
    title.chars().take(MAX_TITLE_CHARS).collect()
}

/// Tells every tool result which call it answers: that of its parent, or the one that its parent
/// answers too.
fn link_results(tree: &mut Tree) {
    let mut calls: Vec<Option<String>> = Vec::with_capacity(tree.nodes.len());
    for node in &mut tree.nodes {
        let above = node.parent.and_then(|parent| calls.get(parent).cloned().flatten());
        let mut here = None;
        for part in &mut node.draft.parts {
            match part {
                Part::ToolCall(call) => here = Some(call.id.clone()),
                Part::ToolResult(result) => {
                    result.call_id = above.clone().unwrap_or_default();
                    here = above.clone();
                }
                _ => {}
            }
        }
        calls.push(here);
    }
}

#[cfg(test)]
mod tests;
