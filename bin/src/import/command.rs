//! `scripta import`: by a server that runs on the folder, else by this process.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use scripta_actors::demo::Demo;
use scripta_events::domain::Actor;

use super::progress::{Progress, Shown};
use super::{Importer, Report};
use crate::cli::Import;
use crate::data::DataFolder;
use crate::engine::Engine;
use crate::failure::{Failure, Outcome};
use crate::key::Key;
use crate::remote;
use crate::running::{self, Server};

/// Imports what the arguments name, and prints the report.
pub async fn run(data: &DataFolder, arguments: Import) -> Outcome {
    let sources = sources(&arguments.source)?;
    let report = match running::find(data).await {
        Some(server) => through(data, &server, &arguments, sources).await?,
        None => here(data, &arguments, sources).await?,
    };
    if arguments.json {
        let json = serde_json::to_string_pretty(&report);
        say!("{}", json.map_err(|error| Failure::failed(error.to_string()))?);
    } else {
        say!("{report}");
    }
    for failure in &report.failures {
        eprintln!("{}: {}: {}", failure.file, failure.id, failure.reason);
    }
    match report.conversations.failed {
        0 => Ok(()),
        failed => Err(Failure::failed(format!(
            "{failed} of {} conversations could not be imported; the rest is in",
            report.seen()
        ))),
    }
}

async fn here(data: &DataFolder, arguments: &Import, sources: Vec<Source>) -> Outcome<Report> {
    // An import runs no turns, so any model will do.
    let engine = Engine::open(data, std::sync::Arc::new(Demo)).await?;
    let report = import_all(&engine, arguments, sources).await;
    let closed = engine.close().await;
    let report = report?;
    closed.map(|()| report)
}

async fn import_all(engine: &Engine, arguments: &Import, sources: Vec<Source>) -> Outcome<Report> {
    let opened = sources.into_iter().map(|source| Ok((source.open()?, source)));
    let opened: Vec<_> = opened.collect::<Outcome<_>>()?;
    let importer = Importer::new(engine, Actor::User, &arguments.project).await?;
    let mut report = Report::of(importer.project());
    let mut failed = Vec::new();
    for ((input, length), source) in opened {
        let progress = Box::new(Shown::new(&source.name(), length));
        let own = importer.file(&source.name(), input, progress).await;
        failed.extend(take(&mut report, &source, own));
    }
    all_or_some(report, failed)
}

async fn through(
    data: &DataFolder,
    server: &Server,
    arguments: &Import,
    sources: Vec<Source>,
) -> Outcome<Report> {
    let key = Key::load(&data.admin_key())?.ok_or_else(|| {
        Failure::failed(format!("{} is gone; restart the server", data.admin_key().display()))
    })?;
    let mut report = Report::default();
    let mut failed = Vec::new();
    for source in sources {
        let (input, length) = source.open()?;
        let progress: Box<dyn Progress> = Box::new(Shown::new(&source.name(), length));
        let query = [("project", arguments.project.clone()), ("name", source.name())];
        let own = remote::upload(server, &key, &query, input, progress).await;
        failed.extend(take(&mut report, &source, own));
    }
    all_or_some(report, failed)
}

/// Adds what one file came to.
fn take(report: &mut Report, source: &Source, own: Outcome<Report>) -> Option<Failure> {
    match own {
        Ok(own) => {
            report.add(own);
            None
        }
        Err(failure) => {
            report.fail(&source.name(), "the file".to_owned(), failure.to_string());
            Some(failure)
        }
    }
}

/// A failure, where no file went in.
fn all_or_some(report: Report, failed: Vec<Failure>) -> Outcome<Report> {
    let conversations = &report.conversations;
    let taken = conversations.added + conversations.extended + conversations.unchanged;
    match failed.into_iter().next() {
        Some(failure) if taken == 0 => Err(failure),
        _ => Ok(report),
    }
}

/// One file to import.
enum Source {
    File(PathBuf),
    StandardInput,
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::StandardInput => "standard input".to_owned(),
        }
    }

    fn open(&self) -> Outcome<(Box<dyn Read + Send>, Option<u64>)> {
        match self {
            Source::StandardInput => Ok((Box::new(std::io::stdin()), None)),
            Source::File(path) => {
                let file = File::open(path).map_err(|error| unreadable(path, &error))?;
                let length = file.metadata().ok().map(|metadata| metadata.len());
                Ok((Box::new(file), length))
            }
        }
    }
}

fn sources(path: &Path) -> Outcome<Vec<Source>> {
    if path == Path::new("-") {
        return Ok(vec![Source::StandardInput]);
    }
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![Source::File(path.to_owned())]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_export))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(Failure::failed(format!(
            "{} is no export: it has no conversations.json; give an unpacked ChatGPT export",
            path.display()
        )));
    }
    Ok(files.into_iter().map(Source::File).collect())
}

/// `conversations.json`, or one of `conversations-000.json` and so on.
fn is_export(name: &str) -> bool {
    let middle = name.strip_prefix("conversations").and_then(|rest| rest.strip_suffix(".json"));
    middle.is_some_and(|middle| {
        let number = middle.strip_prefix('-').unwrap_or(middle);
        number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("{} can't be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_known_by_their_names() {
        for name in ["conversations.json", "conversations-000.json", "conversations-12.json"] {
            assert!(is_export(name), "{name}");
        }
        for name in ["conversation.json", "shared_conversations.json", "conversations.json.bak"] {
            assert!(!is_export(name), "{name}");
        }
    }
}
