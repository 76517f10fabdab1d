//! Bringing in conversations of other products: what the command line and HTTP share.

mod chatgpt;
mod command;
mod ids;
mod progress;
mod project;
mod reader;
mod report;
mod tree;
mod write;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

use scripta_events::domain::{Actor, ProjectId};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Mutex, mpsc};

pub use command::run;
pub use ids::derive;
pub use progress::{Progress, Silent};
pub use report::Report;

use self::chatgpt::Conversation;
use self::reader::ReaderError;
use self::write::Writer;
use crate::engine::Engine;
use crate::failure::{Failure, Outcome};

/// The project that is imported into when nobody names one.
pub const DEFAULT_PROJECT: &str = "Imported";

/// Conversations that wait in a queue to be written while the file is read on.
const READ_AHEAD: usize = 2;

/// Queues of conversations, which are written at the same time: their commits share syncs.
const WRITTEN_AT_ONCE: usize = 8;

/// Brings files into one project.
pub struct Importer {
    writer: Writer,
}

impl Importer {
    /// An importer into a project, by id or name; a name that is not there is made.
    pub async fn new(engine: &Engine, actor: Actor, project: &str) -> Outcome<Importer> {
        let project = project::find_or_make(engine, &actor, project).await?;
        Ok(Importer { writer: Writer { handle: engine.handle.clone(), actor, project } })
    }

    /// The project.
    pub fn project(&self) -> ProjectId {
        self.writer.project
    }

    /// Brings in one file. What goes in before the file turns out to be damaged stays in, and the
    /// damage is a failure of the report.
    ///
    /// A file of which nothing went in is a failure.
    pub async fn file(
        &self,
        name: &str,
        input: impl Read + Send + 'static,
        progress: Box<dyn Progress>,
    ) -> Outcome<Report> {
        let report = Mutex::new(Report::of(self.writer.project));
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..WRITTEN_AT_ONCE).map(|_| mpsc::channel(READ_AHEAD)).unzip();
        let reading = tokio::task::spawn_blocking(move || read(input, progress, &senders));
        let writing = receivers.into_iter().map(|queue| self.write(name, queue, &report));
        futures::future::join_all(writing).await;
        let read = reading.await.map_err(|_| Failure::failed("reading the file broke off"))?;
        let mut report = report.into_inner();
        match read {
            Err(error @ (ReaderError::NotAnExport { .. } | ReaderError::Io(_))) => {
                return Err(Failure::failed(format!("{name}: {error}")));
            }
            Err(error) => report.fail(name, "the file".to_owned(), error.to_string()),
            Ok(()) => {}
        }
        judge(name, report)
    }

    /// Writes the conversations of one queue, one after the other.
    async fn write(&self, name: &str, mut queue: mpsc::Receiver<Item>, report: &Mutex<Report>) {
        while let Some(item) = queue.recv().await {
            let mut own = Report::of(self.writer.project);
            match item.read {
                Ok(conversation) => self.writer.write(name, conversation, &mut own).await,
                Err(reason) => own.fail(name, item.id, reason),
            }
            report.lock().await.add(own);
        }
    }
}

/// Success is never said of nothing.
fn judge(name: &str, report: Report) -> Outcome<Report> {
    let taken =
        report.conversations.added + report.conversations.extended + report.conversations.unchanged;
    if taken > 0 {
        return Ok(report);
    }
    let reason = match report.failures.first() {
        Some(failure) => format!("{}: {}", failure.id, failure.reason),
        None if report.seen() > 0 => "its conversations have no messages".to_owned(),
        None => "there is no conversation in it".to_owned(),
    };
    Err(Failure::failed(format!(
        "{name}: nothing was imported: {reason}; give a ChatGPT export's conversations.json"
    )))
}

/// A conversation of the file, or why it can't be read.
struct Item {
    /// Its id in the source, or what to call it when it can't be read.
    id: String,
    read: Result<Conversation, String>,
}

/// Reads and parses on a thread that may block. Conversations of one id go to one queue, so that
/// a file that has one twice writes it one time after the other.
fn read(
    input: impl Read,
    progress: Box<dyn Progress>,
    queues: &[mpsc::Sender<Item>],
) -> Result<(), ReaderError> {
    let input = progress::Counted { input, progress };
    reader::read(input, &mut |number, element| {
        let read = chatgpt::conversation(element.get());
        let id = match &read {
            Ok(conversation) => conversation.source.id.clone(),
            Err(_) => describe(number, &element),
        };
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let queue = usize::try_from(hasher.finish()).unwrap_or(0) % queues.len().max(1);
        let queue = queues.get(queue);
        queue.is_some_and(|queue| queue.blocking_send(Item { id, read }).is_ok())
    })
}

/// What a conversation that can't be read is called in the report: its title and id as far as
/// they are there.
fn describe(number: usize, element: &RawValue) -> String {
    let value: Value = serde_json::from_str(element.get()).unwrap_or_default();
    let field = |name: &str| value.get(name).and_then(Value::as_str);
    let id = field("conversation_id").or_else(|| field("id"));
    let mut text = format!("conversation {number}");
    for (name, value) in [("titled", field("title")), ("with the id", id)] {
        if let Some(value) = value {
            let value: String = value.chars().take(80).collect();
            text.push_str(&format!(" {name} {value:?}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
