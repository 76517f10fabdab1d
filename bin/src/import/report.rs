//! What an import came to.

use std::collections::BTreeMap;
use std::fmt;

use scripta_events::domain::{Part, ProjectId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::tree::Reason;

/// The most single notes that a report lists (inclusive); all are counted.
const MAX_LISTED: usize = 1_000;

/// What an import came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The project that was imported into.
    pub project_id: Uuid,
    /// What became of the conversations.
    pub conversations: Conversations,
    /// Branches that were added, the first of each chat included.
    pub branches: u64,
    /// Messages that were added.
    pub messages: u64,
    /// The parts of the added messages, by kind.
    pub parts: BTreeMap<String, u64>,
    /// How many messages were passed over, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// What was passed over, one by one, up to a limit.
    pub notes: Vec<Note>,
    /// Links between messages that had to be repaired.
    pub repaired_links: u64,
    /// What did not go in, one by one, up to a limit.
    pub failures: Vec<Note>,
}

/// Conversations by what became of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Conversations {
    /// Became new chats.
    pub added: u64,
    /// Were here, and got what was new.
    pub extended: u64,
    /// Were here, with nothing new.
    pub unchanged: u64,
    /// Have no messages.
    pub empty: u64,
    /// Did not go in.
    pub failed: u64,
}

/// Something that was not taken, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// The file.
    pub file: String,
    /// The id in the source, or the conversation's place in the file.
    pub id: String,
    /// Why.
    pub reason: String,
}

impl Report {
    /// Nothing yet.
    pub fn of(project: ProjectId) -> Report {
        Report { project_id: project.0, ..Report::default() }
    }

    /// How many conversations were seen.
    pub fn seen(&self) -> u64 {
        let Conversations { added, extended, unchanged, empty, failed } = self.conversations;
        added + extended + unchanged + empty + failed
    }

    /// Notes a conversation that did not go in.
    pub fn fail(&mut self, file: &str, id: String, reason: String) {
        self.conversations.failed += 1;
        list(&mut self.failures, file, id, reason);
    }

    /// Notes a message that was passed over.
    pub fn skip(&mut self, file: &str, id: String, reason: Reason) {
        *self.skipped.entry(reason.name().to_owned()).or_default() += 1;
        list(&mut self.notes, file, id, reason.to_string());
    }

    /// Counts a part of an added message.
    pub fn count_part(&mut self, part: &Part) {
        let kind = match part {
            Part::Text { .. } => "text",
            Part::Reasoning { .. } => "reasoning",
            Part::ToolCall(_) => "toolCall",
            Part::ToolResult(_) => "toolResult",
            Part::Image(_) => "image",
            Part::File(_) => "file",
            Part::Other { kind, .. } => kind,
        };
        *self.parts.entry(kind.to_owned()).or_default() += 1;
    }

    /// Adds another report of the same project.
    pub fn add(&mut self, other: Report) {
        let (own, its) = (&mut self.conversations, other.conversations);
        own.added += its.added;
        own.extended += its.extended;
        own.unchanged += its.unchanged;
        own.empty += its.empty;
        own.failed += its.failed;
        self.project_id = other.project_id;
        self.branches += other.branches;
        self.messages += other.messages;
        self.repaired_links += other.repaired_links;
        for (sums, others) in [(&mut self.parts, other.parts), (&mut self.skipped, other.skipped)] {
            for (name, count) in others {
                *sums.entry(name).or_default() += count;
            }
        }
        for (notes, others) in
            [(&mut self.notes, other.notes), (&mut self.failures, other.failures)]
        {
            let room = MAX_LISTED.saturating_sub(notes.len());
            notes.extend(others.into_iter().take(room));
        }
    }
}

fn list(notes: &mut Vec<Note>, file: &str, id: String, reason: String) {
    if notes.len() < MAX_LISTED {
        notes.push(Note { file: file.to_owned(), id, reason });
    }
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Reason::Hidden => "hidden",
            Reason::Empty => "empty",
            Reason::DuplicateId => "duplicateId",
            Reason::Moved => "moved",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Hidden => "its source hides it",
            Reason::Empty => "there is nothing in it",
            Reason::DuplicateId => "another message before it has the same id",
            Reason::Moved => "messages after it were imported before it was there",
        })
    }
}

/// A few lines for a person.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conversations { added, extended, unchanged, empty, failed } = self.conversations;
        writeln!(
            f,
            "{} conversations: {added} added, {extended} extended, {unchanged} already here, {empty} without messages, {failed} failed",
            self.seen()
        )?;
        writeln!(f, "{} branches and {} messages added", self.branches, self.messages)?;
        let list = |counts: &BTreeMap<String, u64>| {
            let each = counts.iter().map(|(name, count)| format!("{count} {name}"));
            each.collect::<Vec<_>>().join(", ")
        };
        if !self.parts.is_empty() {
            writeln!(f, "parts: {}", list(&self.parts))?;
        }
        if !self.skipped.is_empty() {
            writeln!(f, "passed over: {}", list(&self.skipped))?;
        }
        if self.repaired_links > 0 {
            writeln!(f, "{} broken links repaired", self.repaired_links)?;
        }
        write!(f, "project {}", self.project_id)
    }
}
