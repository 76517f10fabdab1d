//! `scripta search`.

use std::io::IsTerminal;

use uuid::Uuid;

use crate::cli::Search;
use crate::data::DataFolder;
use crate::failure::{Failure, Outcome};
use crate::find::{Answer, FindError, Found, Question, find};
use crate::key::Key;
use crate::remote;
use crate::running;
use crate::store::Store;

/// Finds messages and prints them.
pub async fn run(data: &DataFolder, arguments: Search) -> Outcome {
    let question = Question {
        query: arguments.pattern,
        is_regex: false,
        ignore_case: arguments.case_sensitive.then_some(false),
        project_id: id("--project", arguments.project)?,
        chat_id: id("--chat", arguments.chat)?,
        branch_id: None,
        limit: Some(arguments.limit),
        cursor: None,
    };
    let answer = match running::find(data).await {
        Some(server) => {
            let key = Key::load(&data.admin_key())?
                .ok_or_else(|| Failure::failed("admin.key is gone; restart the server"))?;
            remote::get(&server, &key, "/api/chats/search", &question).await?
        }
        None => here(data, question).await?,
    };
    if arguments.json {
        let json = serde_json::to_string_pretty(&answer);
        say!("{}", json.map_err(|error| Failure::failed(error.to_string()))?);
    } else {
        print(&answer);
    }
    Ok(())
}

async fn here(data: &DataFolder, question: Question) -> Outcome<Answer> {
    if !data.log().is_dir() {
        return Err(Failure::failed(format!(
            "there is nothing to search in {}; name a data folder with --data",
            data.root().display()
        )));
    }
    let store = Store::open(data).await?;
    let caught_up = store.catch_up_fully().await;
    let answer = find(&store, question).await;
    let closed = store.close().await;
    caught_up?;
    let answer = answer.map_err(|error| match error {
        FindError::Refused(reason) => Failure::refused(reason),
        FindError::Failed(reason) => Failure::failed(reason),
    })?;
    closed.map(|()| answer)
}

fn id(flag: &str, text: Option<String>) -> Outcome<Option<Uuid>> {
    let parse = |text: String| {
        Uuid::parse_str(&text).map_err(|_| {
            Failure::usage(format!("{flag} is {text:?}; it must be an id such as {}", Uuid::nil()))
        })
    };
    text.map(parse).transpose()
}

fn print(answer: &Answer) {
    let colored = std::io::stdout().is_terminal();
    for found in &answer.items {
        say!(
            "{} / {}  {}  {}  {}",
            found.project_name,
            found.chat_title,
            found.time,
            found.role,
            found.message_id
        );
        say!("    {}", fragment(found, colored));
    }
    match (answer.items.len(), &answer.next_cursor) {
        (0, _) => say!("nothing was found"),
        (_, Some(_)) => say!("there is more; raise --limit"),
        (_, None) => {}
    }
}

/// The match in one line, marked where that can be shown.
fn fragment(found: &Found, colored: bool) -> String {
    let fragment = &found.fragment;
    let mut characters = fragment.text.chars();
    let before: String = characters.by_ref().take(fragment.start).collect();
    let matched: String = characters.by_ref().take(fragment.length).collect();
    let after: String = characters.collect();
    let (begin, end) = if colored { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let flat = |text: &str| text.replace(char::is_control, " ");
    format!("{}{begin}{}{end}{}", flat(&before), flat(&matched), flat(&after))
}
