//! What is attached to messages: resources of the project, and reviews of the chat.

use std::collections::HashSet;
use std::sync::Arc;

use scripta_events::domain::{ChatId, Message, ResourceId, ResourceKind, ReviewComment, ReviewId};

use crate::engine::Engine;
use crate::replica::Replica;
use crate::{LoadError, NewMessage, ProjectState, Refusal, Review, ReviewKey, ReviewState};

/// The most that a model is told of what is attached in a conversation, in bytes of text
/// (inclusive): as much as of its memory.
pub(crate) const MAX_MANIFEST_BYTES: usize = 64 * 1024;

const HEADING: &str = "# What is attached to the messages\n\nFiles and directories are named, not \
                       read; reviews are as they are now, the newest message's first.";

/// Why what a message names can't be attached to it; `None` where it can.
pub(crate) async fn problem(
    engine: &Engine,
    chat: ChatId,
    project: Option<&ProjectState>,
    message: &NewMessage,
) -> Result<Option<Refusal>, LoadError> {
    for id in &message.refs {
        match project.and_then(|project| project.resources.get(&ResourceId(*id))) {
            None => {
                return Ok(Some(Refusal::NotFound { what: "resource of the project", id: *id }));
            }
            Some(resource) if resource.is_retired() => {
                let path = &resource.path;
                let reason = format!(
                    "the resource {id} for {path} was retired; attach another, or make one with \
                     app_resources Create"
                );
                return Ok(Some(Refusal::Refused { reason }));
            }
            Some(_) => {}
        }
    }
    for id in &message.reviews {
        if review(engine, chat, ReviewId(*id)).await?.is_none() {
            return Ok(Some(Refusal::NotFound { what: "review in the chat", id: *id }));
        }
    }
    Ok(None)
}

/// What a model is told of all that is attached to these messages; empty where nothing is.
pub(crate) async fn manifest(
    engine: &Engine,
    chat: ChatId,
    project: Option<&ProjectState>,
    messages: &[Message],
) -> Result<String, LoadError> {
    let mut manifest = Manifest::default();
    for message in messages.iter().rev() {
        for id in &message.refs {
            if manifest.is_new(*id) {
                manifest.add(resource_line(project, ResourceId(*id)));
            }
        }
        for id in &message.reviews {
            if manifest.is_new(*id) {
                let state = review(engine, chat, ReviewId(*id)).await?;
                manifest.add(state.map(|state| review_text(&state)));
            }
        }
    }
    Ok(manifest.text())
}

async fn review(
    engine: &Engine,
    chat: ChatId,
    review: ReviewId,
) -> Result<Option<Arc<ReviewState>>, LoadError> {
    let mut replica = Replica::<Review>::new(ReviewKey { chat, review });
    replica.refresh(&*engine.log).await?;
    Ok(replica.state().cloned())
}

fn resource_line(project: Option<&ProjectState>, id: ResourceId) -> Option<String> {
    let resource = project?.resources.get(&id)?;
    let kind = match resource.kind {
        ResourceKind::File => "file",
        ResourceKind::Directory => "directory",
    };
    Some(format!("\n- the {kind} {} (resource {id})", resource.path))
}

fn review_text(state: &ReviewState) -> String {
    let ReviewState { id, message, name, files, comments, .. } = state;
    let mut text = format!("\n- review '{name}' ({id}) of the changes of message {message}");
    for file in files {
        text.push_str(&format!("\n  - {file}"));
        for ReviewComment { line, text: said, .. } in comments.iter().filter(|it| it.file == *file)
        {
            let place = line.map_or(String::new(), |line| format!("line {line}: "));
            text.push_str(&format!("\n    - {place}{said}"));
        }
    }
    text
}

#[derive(Default)]
struct Manifest {
    known: HashSet<uuid::Uuid>,
    told: String,
    omitted: usize,
}

impl Manifest {
    fn is_new(&mut self, id: uuid::Uuid) -> bool {
        self.known.insert(id)
    }

    /// Adds an entry whole, as long as there is room.
    fn add(&mut self, entry: Option<String>) {
        let Some(entry) = entry else { return };
        if self.told.len() + entry.len() > MAX_MANIFEST_BYTES {
            self.omitted += 1;
        } else {
            self.told.push_str(&entry);
        }
    }

    fn text(self) -> String {
        if self.known.is_empty() {
            return String::new();
        }
        let mut text = format!("\n\n{HEADING}\n{}", self.told);
        if self.omitted > 0 {
            let more = "more, too much for here: app_read Reviews and Resources have them.";
            text.push_str(&format!("\n- {} {more}", self.omitted));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use scripta_events::Timestamp;
    use scripta_events::domain::MessageId;

    use super::*;

    fn entry(count: usize) -> Option<String> {
        Some("x".repeat(count))
    }

    #[test]
    fn entries_are_told_whole_once_and_within_the_bound() {
        assert_eq!(Manifest::default().text(), "");
        let mut manifest = Manifest::default();
        let id = uuid::Uuid::from_u128(1);
        assert!(manifest.is_new(id));
        assert!(!manifest.is_new(id));
        manifest.add(entry(MAX_MANIFEST_BYTES - 1));
        manifest.add(entry(2));
        manifest.add(entry(1));
        assert_eq!((manifest.told.len(), manifest.omitted), (MAX_MANIFEST_BYTES, 1));
        assert!(
            manifest.text().ends_with(
                "- 1 more, too much for here: app_read Reviews and Resources have them."
            )
        );
    }

    #[test]
    fn a_review_is_told_file_by_file() {
        let comment = |file: &str, line, text: &str| ReviewComment {
            file: file.to_owned(),
            line,
            text: text.to_owned(),
        };
        let (id, chat, message) = (ReviewId::random(), ChatId::random(), MessageId::random());
        let state = ReviewState {
            id,
            chat,
            message,
            name: "First look".to_owned(),
            files: vec!["a".to_owned(), "b".to_owned()],
            comments: vec![comment("b", Some(3), "Why?"), comment("a", None, "Nice.")],
            revision: 1,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        };
        let expected = format!(
            "\n- review 'First look' ({id}) of the changes of message {message}\n  - a\n    - \
             Nice.\n  - b\n    - line 3: Why?"
        );
        assert_eq!(review_text(&state), expected);
    }
}
