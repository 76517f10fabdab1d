//! Resources of MCP: what clients show in their own menus. They are read as `app_read` reads them.

mod complete;
mod uri;
mod watch;

use rmcp::model::{
    CompletionInfo, ErrorData, JsonObject, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) use complete::Of;
pub(crate) use uri::Address;
pub(crate) use watch::{MAX_WATCHED, Subscriptions, TooMany, follow};

use crate::Caller;
use crate::result::{PageResult, sentence_of};
use crate::scope::{self, ScopeError};
use crate::server::App;
use crate::tools::{self, ReadError};

const JSON: &str = "application/json";

/// The kinds of addresses: the template, its name and title, what it is, and what its id is of.
const TEMPLATES: [(&str, &str, &str, &str, Of); 4] = [
    (
        "scripta://project/{id}",
        "project",
        "Project",
        "A project and how many chats it has",
        Of::Project,
    ),
    ("scripta://chat/{id}", "chat", "Chat", "A chat with its branches, without messages", Of::Chat),
    (
        "scripta://branch/{id}/messages",
        "messages",
        "Messages",
        "The newest messages of a branch; a chat's first branch has the chat's id",
        Of::Branch,
    ),
    ("scripta://memory/{id}", "memory", "Memory", "An entry of long-term memory", Of::Memory),
];

/// What is listed, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Projects,
    Chats,
    Memory,
}

impl Section {
    const ALL: [Section; 3] = [Section::Projects, Section::Chats, Section::Memory];

    fn name(self) -> &'static str {
        match self {
            Section::Projects => "Projects",
            Section::Chats => "Chats",
            Section::Memory => "Memory",
        }
    }

    fn after(self) -> Option<Section> {
        let place = Section::ALL.iter().position(|it| *it == self)?;
        Section::ALL.get(place + 1).copied()
    }
}

/// The templates of all addresses.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = |(uri, name, title, description, _): (&str, &str, &str, &str, Of)| {
        ResourceTemplate::new(uri, name)
            .with_title(title)
            .with_description(description)
            .with_mime_type(JSON)
    };
    ListResourceTemplatesResult::with_all_items(TEMPLATES.map(template).to_vec())
}

/// A page of what there is: projects, then chats with the messages of their first branch, then
/// memory. A cursor names the section and the place in it.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    cursor: Option<String>,
    cancel: &CancellationToken,
) -> Result<ListResourcesResult, ErrorData> {
    let (section, place) = match &cursor {
        None => (Section::Projects, None),
        Some(cursor) => parse_cursor(cursor).ok_or_else(|| {
            let text = "the cursor is not one of this list; leave it out to begin again";
            ErrorData::invalid_params(text, None)
        })?,
    };
    let arguments = match place {
        None => json!({ "resource": section.name() }),
        Some(place) => json!({ "resource": section.name(), "cursor": place }),
    };
    let page = read(app, caller, arguments, cancel).await?;
    let mut resources = Vec::new();
    for item in &page.items {
        resources.extend(entries(section, &as_json(item)?));
    }
    let mut result = ListResourcesResult::with_all_items(resources);
    result.next_cursor = match page.next_cursor {
        Some(more) => Some(format!("{}:{more}", section.name())),
        None => section.after().map(|next| format!("{}:", next.name())),
    };
    Ok(result)
}

/// What is at an address.
pub(crate) async fn contents(
    app: &App,
    caller: &Caller,
    uri: String,
    cancel: &CancellationToken,
) -> Result<ReadResourceResult, ErrorData> {
    let address = address(&uri)?;
    let page = read(app, caller, address.arguments(), cancel).await?;
    let content = match (address, page.items.first()) {
        // One page of many: it says so, and where more is.
        (Address::Messages(_), _) | (_, None) => as_json(&page)?,
        (_, Some(document)) => as_json(document)?,
    };
    let text = ResourceContents::text(content.to_string(), uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![text]))
}

/// The address that a client gave.
pub(crate) fn address(uri: &str) -> Result<Address, ErrorData> {
    Address::parse(uri).ok_or_else(|| {
        let text = format!("there is nothing at {uri}; resources/templates/list has the forms");
        ErrorData::resource_not_found(text, None)
    })
}

/// What the id in a template, or the argument of a prompt, may be completed to.
pub(crate) async fn completions(
    app: &App,
    of: Of,
    typed: String,
) -> Result<CompletionInfo, ErrorData> {
    let look = move |projections: &scripta_projections::Projections| {
        Ok::<_, ScopeError>(complete::complete(projections, of, &typed)?)
    };
    let found = async {
        app.reached(of.read_from()).await?;
        scope::look_up(app, look).await
    };
    found.await.map_err(|error: ScopeError| ErrorData::internal_error(sentence_of(&error), None))
}

/// What the id in this template is of.
pub(crate) fn id_of(template: &str) -> Option<Of> {
    TEMPLATES.iter().find(|(uri, ..)| *uri == template).map(|(.., of)| *of)
}

fn parse_cursor(cursor: &str) -> Option<(Section, Option<&str>)> {
    let (name, place) = cursor.split_once(':')?;
    let section = Section::ALL.into_iter().find(|section| section.name() == name)?;
    Some((section, (!place.is_empty()).then_some(place)))
}

fn entries(section: Section, item: &Value) -> Vec<Resource> {
    let text = |field| item.get(field).and_then(Value::as_str);
    let id = text("id").unwrap_or_default();
    let title = text("name").or(text("title")).unwrap_or_default();
    let entry = |address: &str, name: &str, title: String| {
        Resource::new(address, name).with_title(title).with_mime_type(JSON)
    };
    match section {
        Section::Projects => {
            vec![entry(&format!("scripta://project/{id}"), title, format!("Project '{title}'"))]
        }
        Section::Chats => vec![
            entry(&format!("scripta://chat/{id}"), title, format!("Chat '{title}'")),
            entry(
                &format!("scripta://branch/{id}/messages"),
                title,
                format!("Messages of '{title}'"),
            ),
        ],
        Section::Memory => {
            vec![entry(&format!("scripta://memory/{id}"), title, format!("Memory '{title}'"))]
        }
    }
}

/// A page of `app_read`.
async fn read(
    app: &App,
    caller: &Caller,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<PageResult, ErrorData> {
    let arguments: JsonObject = arguments.as_object().cloned().unwrap_or_default();
    tools::read_page(app, caller, arguments, cancel).await.map_err(|error| {
        let text = sentence_of(&error);
        match error {
            ReadError::Scope(ScopeError::NotFound { .. } | ScopeError::Gone { .. }) => {
                ErrorData::resource_not_found(text, None)
            }
            ReadError::Argument(_) | ReadError::Cursor(_) => ErrorData::invalid_params(text, None),
            _ => ErrorData::internal_error(text, None),
        }
    })
}

fn as_json(value: &impl Serialize) -> Result<Value, ErrorData> {
    let failed = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    serde_json::to_value(value).map_err(failed)
}
