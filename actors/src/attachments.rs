//! What is attached to messages: resources of the project, and reviews of the chat.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use scripta_events::domain::{ChatId, Message, ResourceId, ResourceKind, ReviewComment, ReviewId};

use crate::engine::Engine;
use crate::replica::Replica;
use crate::{LoadError, NewMessage, ProjectState, Refusal, Review, ReviewKey, ReviewState};

/// The most that a model is told of what is attached in a conversation, in bytes of text
/// (inclusive): as much as of its memory.
pub(crate) const MAX_MANIFEST_BYTES: usize = 64 * 1024;

/// Ends an entry that isn't told whole.
const CUT: &str = "\n  - (cut here: app_read Review has all of it)";

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
            if manifest.wants(*id) {
                manifest.add(resource_line(project, ResourceId(*id)));
            }
        }
        for id in &message.reviews {
            if manifest.wants(*id) {
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
    let mut by_file: HashMap<&str, Vec<&ReviewComment>> = HashMap::new();
    comments.iter().for_each(|it| by_file.entry(&it.file).or_default().push(it));
    for file in files {
        text.push_str(&format!("\n  - {file}"));
        for ReviewComment { line, text: said, .. } in by_file.remove(&**file).unwrap_or_default() {
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
    is_full: bool,
    omitted: usize,
}

impl Manifest {
    /// Whether this is new, and there may be room for it: what has none isn't looked up.
    fn wants(&mut self, id: uuid::Uuid) -> bool {
        let is_new = self.known.insert(id);
        self.omitted += usize::from(is_new && self.is_full);
        is_new && !self.is_full
    }

    /// Adds an entry, or the lines of it that there is room for.
    fn add(&mut self, entry: Option<String>) {
        let Some(entry) = entry else { return };
        let room = MAX_MANIFEST_BYTES - self.told.len();
        if entry.len() <= room {
            self.told.push_str(&entry);
            return;
        }
        self.is_full = true;
        let room = room.saturating_sub(CUT.len());
        let fits = entry.get(..entry.floor_char_boundary(room)).unwrap_or_default();
        // Whole lines, and more of it than its name.
        let (lines, _) = fits.rsplit_once('\n').unwrap_or_default();
        match lines.trim_start().contains('\n') {
            true => self.told.extend([lines, CUT]),
            false => self.omitted += 1,
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
    #![allow(clippy::unwrap_used)]
    use scripta_events::Timestamp;
    use scripta_events::domain::MessageId;

    use super::*;

    fn entry(count: usize) -> Option<String> {
        Some("x".repeat(count))
    }

    #[test]
    fn entries_are_told_once_and_within_the_bound() {
        assert_eq!(Manifest::default().text(), "");
        let mut manifest = Manifest::default();
        let id = |number| uuid::Uuid::from_u128(number);
        assert!(manifest.wants(id(1)));
        assert!(!manifest.wants(id(1)));
        manifest.add(entry(MAX_MANIFEST_BYTES - 1));
        manifest.add(entry(2));
        // What comes then isn't looked up.
        assert!(!manifest.wants(id(2)) && !manifest.wants(id(2)));
        assert_eq!((manifest.told.len(), manifest.omitted), (MAX_MANIFEST_BYTES - 1, 2));
        assert!(
            manifest.text().ends_with(
                "- 2 more, too much for here: app_read Reviews and Resources have them."
            )
        );
    }

    #[test]
    fn an_entry_too_long_is_cut_at_a_line() {
        let mut manifest = Manifest::default();
        let line = format!("\n    - {}", "y".repeat(993));
        manifest.add(Some(format!("\n- review{}", line.repeat(70))));
        let told = &manifest.told;
        assert!(told.len() <= MAX_MANIFEST_BYTES && told.ends_with(CUT), "{}", told.len());
        assert_eq!(told.strip_suffix(CUT).unwrap(), format!("\n- review{}", line.repeat(65)));
        // Its name alone would tell nothing.
        let mut manifest = Manifest::default();
        manifest.add(entry(MAX_MANIFEST_BYTES - 200));
        manifest.add(Some(format!("\n- review{line}")));
        assert_eq!((manifest.told.len(), manifest.omitted), (MAX_MANIFEST_BYTES - 200, 1));
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
