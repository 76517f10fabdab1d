//! `app_read`.

mod attention;
mod chat;
mod chats;
mod instructions;
mod listing;
mod memory;
mod messages;
mod project;
mod projects;
mod resources;
mod review;
mod reviews;
mod runs;
mod search;
mod settings;

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scripta_events::Position;
use scripta_events::domain::{BranchId, ChatId, ProjectId};
use scripta_projections::{
    MomentError, ProjectionName, Projections, QueryError, REBUILD, SearchError, WaitError,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;
use tokio::task::JoinError;

use super::Call;
use crate::RunScope;
use crate::SecretStore;
use crate::arguments::{ArgumentError, Shape, typed};
use crate::pages::{CursorError, CursorKey, KeptLists, Place, Query};
use crate::result::{Item, PageResult};
use crate::scope::{self, ScopeError};
use crate::server::App;
use crate::view::{Id, RoleView, ScopeView, Time};

pub(super) const DESCRIPTION: &str = "\
Reads what there is, a page at a time; changes nothing.\n\
Projects: by name\n\
Project: projectId; one project\n\
Instructions: projectId; what every model is told in it\n\
Memory: scope? (Workspace, or Project with projectId), projectId?, memoryId?; long-term memory, by \
creation\n\
Resources: projectId?; files and directories that messages refer to, by creation, retired ones too\n\
Reviews: chatId; a chat's reviews, by creation\n\
Review: reviewId; one review with its comments\n\
Chats: projectId?; pinned first, then by last activity, newest first\n\
Chat: chatId; one chat with its branches, without messages\n\
Messages: chatId (its first branch) or branchId, order?; the branch's history from its first message \
to its head, across forks: the newest page first (each page in reading order), or the oldest first\n\
Runs: projectId?, chatId?, branchId?; newest first\n\
Search: query, isRegex?, ignoreCase?, projectId?, chatId?, branchId?, roles?, since?, until?; exact \
text or regular expression\n\
Attention: projectId?, chatId?; branches that don't go on without a person, and what for\n\
Settings: connections with marks and ratings, tool servers, policies, limits; never a secret\n\
Every read but Search takes asOf?: a position of the log, or a time, to read what there was then; \
and every read takes waitFor?: a position to wait for.\n\
All but single documents take limit? and cursor?. The answer is a page: `items`, and `nextCursor` while there is \
more; give it as `cursor` with the same arguments to read on.";

/// How many items a page has unless told.
const DEFAULT_LIMIT: usize = 100;

/// What every read takes, beside its own arguments.
const EVERY_READ_TAKES: [&str; 2] = ["asOf", "waitFor"];

/// Arguments of `app_read`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReadArguments {
    /// What to read.
    resource: Resource,
    /// The project, or only what is of it. For Project, Instructions, Memory, Resources, Chats,
    /// Runs and Search.
    project_id: Option<Id>,
    /// The chat. For Chat, Messages, Reviews, Runs and Search.
    chat_id: Option<Id>,
    /// The review. For Review.
    review_id: Option<Id>,
    /// The branch; a chat's first branch has the chat's id. For Messages, Runs and Search.
    branch_id: Option<Id>,
    /// Whose memory: Workspace, or Project with projectId. For Memory.
    scope: Option<ScopeView>,
    /// One entry of it. For Memory.
    memory_id: Option<Id>,
    /// The most items of a page; 100 unless given.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<u32>,
    /// The nextCursor of the page before, with the same arguments.
    cursor: Option<String>,
    /// Read what there was at this position of the log (412), or at this time
    /// (2026-01-31T12:00:00Z). Not for Search.
    as_of: Option<AsOf>,
    /// Wait, some seconds at most, until the log has come to this position and the read sees it.
    wait_for: Option<u64>,
    /// Which page comes first: NewestFirst (the default) or OldestFirst. For Messages.
    order: Option<Order>,
    /// The text to search for. For Search.
    #[schemars(length(min = 1, max = 4_096))]
    query: Option<String>,
    /// Whether the query is a regular expression (linear time: no lookaround, no backreferences);
    /// false unless given. For Search.
    is_regex: Option<bool>,
    /// Whether case is ignored; true unless given. For Search.
    ignore_case: Option<bool>,
    /// Only messages of these roles; User and Assistant unless given. For Search.
    #[schemars(length(min = 1, max = 4))]
    roles: Option<Vec<RoleView>>,
    /// Only messages made at this time or later. For Search.
    since: Option<Time>,
    /// Only messages made before this time. For Search.
    until: Option<Time>,
}

// What to read.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum Resource {
    Projects,
    Project,
    Instructions,
    Memory,
    Resources,
    Reviews,
    Review,
    Chats,
    Chat,
    Messages,
    Runs,
    Search,
    Settings,
    Attention,
}

impl Resource {
    /// Whether it is read by a few keys: that takes less time than to hand it to a thread that may
    /// block. No read is made on the actors' threads.
    fn is_one_document(self) -> bool {
        matches!(
            self,
            Resource::Project | Resource::Instructions | Resource::Review | Resource::Chat
        )
    }
}

/// A moment of the past: a position of the log, or a time.
#[derive(Clone, Debug)]
enum AsOf {
    Position(u64),
    Time(Time),
}

impl<'de> Deserialize<'de> for AsOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AsOf, D::Error> {
        let text = String::deserialize(deserializer)?;
        if let Ok(position) = text.parse() {
            return Ok(AsOf::Position(position));
        }
        let time = text.parse().map(|moment| AsOf::Time(Time(moment)));
        time.map_err(|_| {
            D::Error::custom(
                "asOf is neither a position, such as 412, nor a time, such as 2026-01-31T12:00:00Z",
            )
        })
    }
}

impl JsonSchema for AsOf {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AsOf".into()
    }

    fn inline_schema() -> bool {
        true
    }

    // One type, since not every model takes two: a number is written as text.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["412", "2026-01-31T12:00:00Z"] })
    }
}

// Which page comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// Why a read has no page to give.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error(transparent)]
    Cursor(#[from] CursorError),
    #[error(transparent)]
    Wait(#[from] WaitError),
    #[error(transparent)]
    Moment(#[from] MomentError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error("the read broke off; try again, and if it breaks off again, {REBUILD}")]
    Broken(#[from] JoinError),
    #[error("the read was cancelled")]
    Cancelled,
}

/// What a resource reads from, on a thread that may block.
struct Reader {
    projections: Arc<Projections>,
    lists: Arc<KeptLists>,
    cursors: Arc<CursorKey>,
    secrets: Arc<dyn SecretStore>,
    /// Who reads, and the arguments as they came: cursors are bound to them.
    caller: String,
    query: JsonObject,
    arguments: ReadArguments,
    /// The log position that the read models have reached.
    position: u64,
}

/// A page of a resource, before it is dressed up as an answer.
struct Page {
    items: Vec<Item>,
    next: Option<Place>,
    phrase: String,
}

pub(super) async fn call(call: Call<'_>) -> Result<PageResult, ReadError> {
    let cancelled = call.cancel.clone();
    tokio::select! {
        biased;
        () = cancelled.cancelled() => Err(ReadError::Cancelled),
        page = answer(call) => page,
    }
}

async fn answer(mut call: Call<'_>) -> Result<PageResult, ReadError> {
    let mut arguments: ReadArguments = typed(&call.arguments)?;
    let resource = arguments.resource;
    if let Some(run) = call.caller.scope() {
        fill_in(resource, run, &mut call.arguments);
        arguments = typed(&call.arguments)?;
    }
    shape(resource).check_beside(&EVERY_READ_TAKES, &call.arguments)?;
    let (projections, position) = read_models(call.app, resource, &arguments).await?;
    let reader = Reader {
        projections,
        lists: Arc::clone(&call.app.lists),
        cursors: Arc::clone(&call.app.cursors),
        secrets: Arc::clone(&call.app.secrets.store),
        caller: call.caller.id().to_owned(),
        query: call.arguments,
        arguments,
        position: position.0,
    };
    if resource.is_one_document() && reader.arguments.as_of.is_none() {
        return reader.read(resource);
    }
    tokio::task::spawn_blocking(move || reader.read(resource)).await?
}

/// What the read reads from: the present read models, or those of a moment; and of which position.
async fn read_models(
    app: &App,
    resource: Resource,
    arguments: &ReadArguments,
) -> Result<(Arc<Projections>, Position), ReadError> {
    let used = used_by(resource);
    if let Some(position) = arguments.wait_for {
        app.projections.reach_in(used, Position(position)).await?;
    }
    let position = match &arguments.as_of {
        None => return Ok((Arc::clone(&app.projections), app.reached(used).await?)),
        Some(_) if matches!(resource, Resource::Search) => return Err(SearchError::NotAsOf.into()),
        Some(AsOf::Position(position)) => Position(*position),
        Some(AsOf::Time(time)) => app.projections.position_at(time.into()).await?,
    };
    let chat = match resource {
        Resource::Chat | Resource::Messages | Resource::Reviews | Resource::Runs => {
            chat_of(app, arguments).await?
        }
        _ => None,
    };
    Ok((app.moments.at(&app.projections, position, chat).await?, position))
}

/// The chat that the arguments are about, if there is such a one now.
async fn chat_of(app: &App, arguments: &ReadArguments) -> Result<Option<ChatId>, ReadError> {
    match (arguments.chat_id, arguments.branch_id) {
        (Some(chat), _) => Ok(Some(ChatId(chat.0))),
        (None, Some(branch)) => {
            let branch = BranchId(branch.0);
            let found = scope::look_up(app, move |now| now.branch(branch).map_err(ReadError::from));
            Ok(found.await?.map(|row| row.chat))
        }
        (None, None) => Ok(None),
    }
}

/// Where a call comes from a run, an omitted id means the run's own.
fn fill_in(resource: Resource, run: RunScope, arguments: &mut JsonObject) {
    let named = |names: &[&str]| names.iter().any(|name| arguments.contains_key(*name));
    let of_workspace = arguments.get("scope").is_some_and(|scope| scope == "Workspace");
    let own = match resource {
        Resource::Project | Resource::Instructions if !named(&["projectId"]) => {
            Some(("projectId", run.project.to_string()))
        }
        Resource::Memory if !named(&["projectId", "memoryId"]) && !of_workspace => {
            Some(("projectId", run.project.to_string()))
        }
        Resource::Resources if !named(&["projectId"]) => {
            Some(("projectId", run.project.to_string()))
        }
        Resource::Reviews if !named(&["chatId"]) => Some(("chatId", run.chat.to_string())),
        Resource::Chat if !named(&["chatId", "branchId"]) => Some(("chatId", run.chat.to_string())),
        Resource::Messages if !named(&["chatId", "branchId"]) => {
            Some(("branchId", run.branch.to_string()))
        }
        _ => None,
    };
    if let Some((name, id)) = own {
        arguments.insert(name.to_owned(), id.into());
    }
}

/// The projections that a resource is read from, and that its ids are checked against.
fn used_by(resource: Resource) -> &'static [ProjectionName] {
    match resource {
        Resource::Projects | Resource::Instructions | Resource::Chats => {
            &[ProjectionName::Projects, ProjectionName::Chats]
        }
        Resource::Project | Resource::Chat => {
            &[ProjectionName::Projects, ProjectionName::Chats, ProjectionName::Workspace]
        }
        Resource::Memory => &[ProjectionName::Projects, ProjectionName::Memory],
        Resource::Resources => &[ProjectionName::Projects],
        Resource::Reviews | Resource::Review => {
            &[ProjectionName::Projects, ProjectionName::Chats, ProjectionName::Reviews]
        }
        Resource::Messages => &[ProjectionName::Chats],
        Resource::Runs => &[ProjectionName::Projects, ProjectionName::Chats, ProjectionName::Runs],
        Resource::Settings => &[ProjectionName::Workspace],
        Resource::Attention => &[ProjectionName::Projects, ProjectionName::Chats],
        Resource::Search => {
            &[ProjectionName::Projects, ProjectionName::Chats, ProjectionName::Search]
        }
    }
}

fn shape(resource: Resource) -> Shape {
    match resource {
        Resource::Projects => projects::SHAPE,
        Resource::Project => project::SHAPE,
        Resource::Instructions => instructions::SHAPE,
        Resource::Memory => memory::SHAPE,
        Resource::Resources => resources::SHAPE,
        Resource::Reviews => reviews::SHAPE,
        Resource::Review => review::SHAPE,
        Resource::Chats => chats::SHAPE,
        Resource::Chat => chat::SHAPE,
        Resource::Messages => messages::SHAPE,
        Resource::Runs => runs::SHAPE,
        Resource::Search => search::SHAPE,
        Resource::Settings => settings::SHAPE,
        Resource::Attention => attention::SHAPE,
    }
}

impl Reader {
    fn read(&self, resource: Resource) -> Result<PageResult, ReadError> {
        let page = match resource {
            Resource::Projects => projects::page(self),
            Resource::Project => project::page(self),
            Resource::Instructions => instructions::page(self),
            Resource::Memory => memory::page(self),
            Resource::Resources => resources::page(self),
            Resource::Reviews => reviews::page(self),
            Resource::Review => review::page(self),
            Resource::Chats => chats::page(self),
            Resource::Chat => chat::page(self),
            Resource::Messages => messages::page(self),
            Resource::Runs => runs::page(self),
            Resource::Search => search::page(self),
            Resource::Settings => settings::page(self),
            Resource::Attention => attention::page(self),
        }?;
        let next_cursor = page.next.map(|place| self.cursors.seal(self.query(), place));
        let mut phrase = page.phrase;
        if next_cursor.is_some() {
            phrase.push_str(&format!("; more by nextCursor ({} a page)", self.limit()));
        }
        let truncated = next_cursor.is_some();
        Ok(PageResult {
            items: page.items,
            next_cursor,
            truncated,
            position: self.position,
            phrase,
        })
    }

    fn query(&self) -> Query {
        Query::of(&self.caller, &self.query)
    }

    fn limit(&self) -> usize {
        let limit = self.arguments.limit.and_then(|limit| usize::try_from(limit).ok());
        limit.unwrap_or(DEFAULT_LIMIT)
    }

    /// Where the caller's cursor says that the page begins; `None` for a first page.
    fn place(&self) -> Result<Option<Place>, CursorError> {
        let cursor = self.arguments.cursor.as_deref();
        cursor.map(|cursor| self.cursors.open(self.query(), cursor)).transpose()
    }

    fn project(&self) -> Option<ProjectId> {
        self.arguments.project_id.map(|id| ProjectId(id.0))
    }

    fn chat(&self) -> Option<ChatId> {
        self.arguments.chat_id.map(|id| ChatId(id.0))
    }

    fn branch(&self) -> Option<BranchId> {
        self.arguments.branch_id.map(|id| BranchId(id.0))
    }
}

/// "Read 1 chat", "Read 40 chats".
fn phrase(count: usize, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("Read {count} {one}{many}")
}
