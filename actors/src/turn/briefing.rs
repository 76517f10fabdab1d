//! What a model is told before the conversation: where it is, the project's instructions, and
//! long-term memory.

use std::fmt::Write as _;

use crate::{MemoryNote, RunState};

/// The most memory that stands before a turn, in bytes of text (inclusive): some twenty thousand
/// tokens, which leaves every model most of what it can read.
pub(super) const MAX_MEMORY_BYTES: usize = 64 * 1024;

const INSTRUCTIONS: &str = "# Instructions of this project";

const MEMORY: &str = "# Memory\n\nWhat was noted for later turns, the pinned first.";

/// The text. Notes come in the order that they are given in, whole, as long as there is room.
pub(super) fn text(run: &RunState, instructions: &str, notes: &[MemoryNote]) -> String {
    let mut text = format!(
        "You are in projectId {}, chatId {}, branchId {}.",
        run.project, run.chat, run.branch
    );
    if !instructions.trim().is_empty() {
        text.push_str(&format!("\n\n{INSTRUCTIONS}\n\n{instructions}"));
    }
    text.push_str(&memory(notes));
    text
}

fn memory(notes: &[MemoryNote]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut text = format!("\n\n{MEMORY}");
    let mut left = MAX_MEMORY_BYTES;
    let mut omitted = 0;
    for note in notes {
        let entry = entry(note);
        match left.checked_sub(entry.len()) {
            Some(rest) => {
                left = rest;
                text.push_str(&entry);
            }
            None => omitted += 1,
        }
    }
    if omitted > 0 {
        let are = if omitted == 1 { "entry is" } else { "entries are" };
        let more = format!("\n\n{omitted} more {are} too much for here: app_read Memory has them.");
        text.push_str(&more);
    }
    text
}

fn entry(note: &MemoryNote) -> String {
    let mut text = format!("\n\n## {}\n", note.title);
    if !note.tags.is_empty() {
        // Writing to a string does not fail.
        let _infallible = writeln!(text, "({})", note.tags.join(", "));
    }
    text.push('\n');
    text.push_str(&note.text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(title: &str, text: &str, tags: &[&str]) -> MemoryNote {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        MemoryNote { title: title.to_owned(), text: text.to_owned(), tags }
    }

    #[test]
    fn notes_keep_their_order_and_those_that_do_not_fit_are_counted() {
        assert_eq!(memory(&[]), "");
        let long = "x".repeat(MAX_MEMORY_BYTES / 2);
        let notes = [
            note("Tea", "Green.", &["taste", "home"]),
            note("A", &long, &[]),
            note("B", &long, &[]),
            note("Last", "short", &[]),
        ];
        let text = memory(&notes);
        assert!(text.contains("## Tea\n(taste, home)\n\nGreen.\n\n## A\n\nxx"), "{text}");
        assert!(!text.contains("## B"));
        let end =
            "## Last\n\nshort\n\n1 more entry is too much for here: app_read Memory has them.";
        assert!(text.ends_with(end), "{}", text.len());
    }
}
