//! Ids that follow from the source's ids, so that importing again adds nothing.

use scripta_events::domain::{BranchId, ChatId, ImportSource, MessageId, ProjectId};
use scripta_events::{Fingerprint, OperationId};
use uuid::Uuid;

/// The version of how ids are derived. Changing the way without changing this would make copies.
const FORM: &str = "scripta import 1";

/// The id that these words lead to, always: a UUIDv8 of their hash.
pub fn derive(kind: &str, words: &[&[u8]]) -> Uuid {
    let mut hasher = blake3::Hasher::new_derive_key(FORM);
    for word in [kind.as_bytes()].iter().chain(words) {
        // With its length before it, no word can run into the next.
        hasher.update(&(word.len() as u64).to_le_bytes());
        hasher.update(word);
    }
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The chat that a conversation becomes in a project: another project gets a chat of its own.
pub fn chat(project: ProjectId, source: &ImportSource) -> ChatId {
    let words = [project.0.as_bytes(), source.format.as_bytes(), source.id.as_bytes()];
    ChatId(derive("chat", &words.map(|word: &[u8]| word)))
}

/// The message that a node becomes.
pub fn message(chat: ChatId, node: &str) -> MessageId {
    MessageId(derive("message", &[chat.0.as_bytes(), node.as_bytes()]))
}

/// The branch whose first own message this is.
pub fn branch(chat: ChatId, first: MessageId) -> BranchId {
    BranchId(derive("branch", &[chat.0.as_bytes(), first.0.as_bytes()]))
}

/// The operation that writes these messages into a branch, and its fingerprint.
pub fn operation(branch: BranchId, messages: &[MessageId]) -> (OperationId, Fingerprint) {
    let mut words: Vec<&[u8]> = vec![branch.0.as_bytes()];
    words.extend(messages.iter().map(|message| message.0.as_bytes().as_slice()));
    let id = derive("operation", &words);
    (OperationId(id), Fingerprint::of(id.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_from_words_and_nothing_else() {
        assert_eq!(derive("a", &[b"b", b"c"]), derive("a", &[b"b", b"c"]));
        assert_ne!(derive("a", &[b"b", b"c"]), derive("a", &[b"bc"]));
        assert_ne!(derive("a", &[b"b"]), derive("b", &[b"a"]));
        assert_eq!(derive("a", &[]).get_version_num(), 8);
    }
}
