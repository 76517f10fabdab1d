//! Writes conversations: each becomes a chat, and what is here already is left alone.

use std::collections::HashMap;
use std::ops::Range;

use scripta_actors::{
    Branch, BranchCommand, BranchKey, Chat, ChatCommand, CommandMeta, Handle, MAX_IMPORT_MESSAGES,
};
use scripta_events::domain::{
    Actor, BranchId, ChatId, Message, MessageId, Part, ProjectId, Role, Sender,
};
use scripta_events::log::MAX_EVENT_BYTES;

use super::chatgpt::Conversation;
use super::ids;
use super::report::Report;
use super::tree::{Node, Reason, Segment};
use crate::failure::sentence;

/// How many bytes of messages go into one command: well below a commit's 32 MiB, whatever the
/// encoding adds.
const CHUNK_BYTES: usize = 8 * 1024 * 1024;

/// The most messages of one command (inclusive).
const CHUNK_MESSAGES: usize = if MAX_IMPORT_MESSAGES < 1_000 { MAX_IMPORT_MESSAGES } else { 1_000 };

/// The largest message that is taken, in bytes of text: an event holds it with room to spare.
const MAX_MESSAGE_BYTES: usize = MAX_EVENT_BYTES - 64 * 1024;

/// Writes the conversations of one project.
#[derive(Clone)]
pub struct Writer {
    /// The actors.
    pub handle: Handle,
    /// Who imports.
    pub actor: Actor,
    /// The project to write into.
    pub project: ProjectId,
}

/// What is in a chat before and while a conversation is written into it.
struct Present {
    chat: ChatId,
    exists: bool,
    /// Which branch wrote each message.
    written_by: HashMap<MessageId, BranchId>,
    heads: HashMap<BranchId, Option<MessageId>>,
}

impl Writer {
    /// Writes one conversation of `file`, and notes in the report what it came to.
    pub async fn write(&self, file: &str, conversation: Conversation, report: &mut Report) {
        let source_id = conversation.source.id.clone();
        let mut own = Report::of(self.project);
        own.repaired_links = conversation.tree.repaired as u64;
        for (node, reason) in &conversation.tree.skipped {
            own.skip(file, format!("{source_id}/{node}"), *reason);
        }
        if conversation.tree.nodes.is_empty() {
            own.conversations.empty += 1;
        } else if let Err(reason) = self.conversation(file, conversation, &mut own).await {
            own.fail(file, source_id, reason);
        }
        report.add(own);
    }

    async fn conversation(
        &self,
        file: &str,
        conversation: Conversation,
        report: &mut Report,
    ) -> Result<(), String> {
        check_sizes(&conversation.tree.nodes)?;
        let mut present = self.present(ids::chat(self.project, &conversation.source)).await?;
        let existed = present.exists;
        for segment in &conversation.tree.segments {
            self.segment(file, &conversation, segment, &mut present, report).await?;
        }
        let counts = &mut report.conversations;
        match (existed, report.messages) {
            (false, _) => counts.added += 1,
            (true, 0) => counts.unchanged += 1,
            (true, _) => counts.extended += 1,
        }
        Ok(())
    }

    async fn present(&self, chat: ChatId) -> Result<Present, String> {
        let failed = |error: scripta_actors::LoadError| sentence(&error);
        let state = self.handle.state::<Chat>(chat).await.map_err(failed)?;
        let mut present = Present {
            chat,
            exists: state.is_some(),
            written_by: HashMap::new(),
            heads: HashMap::new(),
        };
        for branch in state.iter().flat_map(|state| state.branches.keys().copied()) {
            let key = BranchKey { chat, branch };
            let Some(state) = self.handle.state::<Branch>(key).await.map_err(failed)? else {
                continue;
            };
            let own = state.messages.iter().map(|message| (message.id, branch));
            present.written_by.extend(own);
            present.heads.insert(branch, state.messages.last().map(|message| message.id));
        }
        Ok(present)
    }

    /// Writes what is new of one segment: behind the last message that is here already.
    async fn segment(
        &self,
        file: &str,
        conversation: &Conversation,
        segment: &Segment,
        present: &mut Present,
        report: &mut Report,
    ) -> Result<(), String> {
        let nodes = &conversation.tree.nodes;
        let id = |index: &usize| nodes.get(*index).map(|node| ids::message(present.chat, &node.id));
        let is_here =
            |index: &usize| id(index).is_some_and(|id| present.written_by.contains_key(&id));
        let known = segment.nodes.iter().rposition(is_here);
        let new = known.map_or(0, |known| known + 1);
        let (before, new) = segment.nodes.split_at_checked(new).unwrap_or_default();
        for moved in before.iter().filter(|index| !is_here(index)) {
            let node = nodes.get(*moved).map(|node| node.id.as_str()).unwrap_or_default();
            report.skip(file, format!("{}/{node}", conversation.source.id), Reason::Moved);
        }
        // What the segment goes on from may itself have been passed over.
        let mut after = before.last().copied().or(segment.after);
        while let Some(index) = after.filter(|index| !is_here(index)) {
            after = nodes.get(index).and_then(|node| node.parent);
        }
        let after = after.as_ref().and_then(id);
        let messages: Vec<Message> = new
            .iter()
            .filter_map(|index| nodes.get(*index))
            .map(|node| self.message(present.chat, node))
            .collect();
        if messages.is_empty() {
            return Ok(());
        }
        self.append(conversation, after, messages, present, report).await
    }

    /// Appends to the branch that ends with `after`, or opens one there.
    async fn append(
        &self,
        conversation: &Conversation,
        after: Option<MessageId>,
        messages: Vec<Message>,
        present: &mut Present,
        report: &mut Report,
    ) -> Result<(), String> {
        let first_branch = present.chat.first_branch();
        let parent = after.and_then(|after| present.written_by.get(&after).copied());
        let ends_there = parent.filter(|parent| present.heads.get(parent) == Some(&after));
        let fork = messages.first().map(|first| ids::branch(present.chat, first.id));
        let branch = match (present.exists, ends_there, fork) {
            (false, _, _) | (_, _, None) => first_branch,
            (true, Some(parent), _) => parent,
            (true, None, Some(fork)) => fork,
        };
        for range in chunks(&messages) {
            let chunk = messages.get(range).unwrap_or_default().to_vec();
            let opens = !present.heads.contains_key(&branch);
            let written = chunk.clone();
            if !opens {
                self.append_to(BranchKey { chat: present.chat, branch }, chunk).await?;
            } else if present.exists {
                let parent = parent.unwrap_or(first_branch);
                let command = ChatCommand::ForkImported {
                    branch,
                    parent,
                    after,
                    title: None,
                    messages: chunk,
                };
                self.change_chat(present.chat, branch, &written, command).await?;
            } else {
                let command = ChatCommand::Import {
                    project: self.project,
                    title: conversation.title.clone(),
                    source: conversation.source.clone(),
                    messages: chunk,
                };
                self.change_chat(present.chat, branch, &written, command).await?;
            }
            report.branches += u64::from(opens);
            report.messages += written.len() as u64;
            written
                .iter()
                .flat_map(|message| &message.parts)
                .for_each(|part| report.count_part(part));
            present.exists = true;
            present.heads.insert(branch, written.last().map(|message| message.id));
            present.written_by.extend(written.iter().map(|message| (message.id, branch)));
        }
        Ok(())
    }

    async fn change_chat(
        &self,
        chat: ChatId,
        branch: BranchId,
        messages: &[Message],
        command: ChatCommand,
    ) -> Result<(), String> {
        let done = self.handle.execute::<Chat>(chat, command, self.meta(branch, messages)).await;
        done.map(|_| ()).map_err(|error| sentence(&error))
    }

    async fn append_to(&self, key: BranchKey, messages: Vec<Message>) -> Result<(), String> {
        let meta = self.meta(key.branch, &messages);
        let command = BranchCommand::AppendImported { messages };
        let done = self.handle.execute::<Branch>(key, command, meta).await;
        done.map(|_| ()).map_err(|error| sentence(&error))
    }

    fn meta(&self, branch: BranchId, messages: &[Message]) -> CommandMeta {
        let messages: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        let (operation, fingerprint) = ids::operation(branch, &messages);
        CommandMeta {
            operation: Some(operation),
            fingerprint,
            actor: self.actor.clone(),
            correlation: None,
        }
    }

    fn message(&self, chat: ChatId, node: &Node) -> Message {
        let draft = &node.draft;
        let (id, created_at) = (ids::message(chat, &node.id), draft.created_at.unwrap_or_default());
        Message {
            // Exports are a person's own: what its user said, this machine's person said.
            sender: (draft.role == Role::User).then_some(Sender::User),
            model: draft.model.clone(),
            status: draft.status,
            ..Message::new(id, draft.role, draft.parts.clone(), created_at)
        }
    }
}

fn check_sizes(nodes: &[Node]) -> Result<(), String> {
    let size = |node: &Node| node.draft.parts.iter().map(part_bytes).sum::<usize>();
    match nodes.iter().find(|node| size(node) > MAX_MESSAGE_BYTES) {
        None => Ok(()),
        Some(node) => Err(format!(
            "its message {} has {} bytes, and {MAX_MESSAGE_BYTES} are the most",
            node.id,
            size(node)
        )),
    }
}

/// Runs of messages that fit into one command each.
fn chunks(messages: &[Message]) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (index, message) in messages.iter().enumerate() {
        let size = message.parts.iter().map(part_bytes).sum::<usize>();
        if index > start && (bytes + size > CHUNK_BYTES || index - start >= CHUNK_MESSAGES) {
            chunks.push(start..index);
            (start, bytes) = (index, 0);
        }
        bytes += size;
    }
    chunks.push(start..messages.len());
    chunks
}

fn part_bytes(part: &Part) -> usize {
    match part {
        Part::Text { text } | Part::Reasoning { text } => text.len(),
        Part::ToolCall(call) => call.arguments.len() + call.tool.len(),
        Part::ToolResult(result) => {
            result.text.len() + result.structured.as_ref().map_or(0, String::len)
        }
        Part::Image(reference) | Part::File(reference) => reference.target.len(),
        Part::Other { json, .. } => json.len(),
    }
}
