//! `serve --demo`: something to look at in an empty data folder.

use scripta_actors::{
    Branch, BranchCommand, BranchKey, Chat, ChatCommand, CommandMeta, NewMessage, demo,
};
use scripta_events::domain::{Actor, ChatId, ConnectionId, MessageId, ProjectId, Sender};
use scripta_events::{Fingerprint, OperationId, Position};

use crate::engine::Engine;
use crate::failure::{Failure, Outcome, sentence};
use crate::import::{Importer, Silent, derive};

/// The sample project's name.
const PROJECT: &str = "Demo";

/// Imported like any export, with a branch in it.
const CONVERSATIONS: &str = include_str!("demo.json");

/// What the sample chat with `builtin:demo` begins with.
const FIRST_MESSAGE: &str = "Please search for lighthouse";

/// Fills an empty data folder; `false` for one that has something else in it. All operations have
/// ids that follow from their names: a second time adds nothing, and a first one that was cut
/// off goes on.
pub async fn fill(engine: &Engine) -> Outcome<bool> {
    let head = *engine.store.log.head().borrow();
    let chat = ChatId(derive("demo", &[b"chat"]));
    let made = engine.handle.state::<scripta_actors::Project>(demo_project()).await;
    let made = made.map_err(|error| Failure::failed(sentence(&error)))?;
    if head > Position::START && made.is_none() {
        return Ok(false);
    }
    let importer = Importer::new(engine, Actor::User, PROJECT).await?;
    importer.file("demo.json", CONVERSATIONS.as_bytes(), Box::new(Silent)).await?;
    talk(engine, importer.project(), chat).await?;
    Ok(true)
}

/// The project's id, as the import derives it.
fn demo_project() -> ProjectId {
    ProjectId(derive("project", &[PROJECT.as_bytes()]))
}

/// A chat with the demo model, and a first turn that calls a tool.
async fn talk(engine: &Engine, project: ProjectId, chat: ChatId) -> Outcome {
    let create = ChatCommand::Create {
        project,
        title: "A talk with the demo model".to_owned(),
        connection: Some(ConnectionId(demo::CONNECTION.to_owned())),
        model: None,
    };
    let done = engine.handle.execute::<Chat>(chat, create, meta("create")).await;
    done.map_err(|error| Failure::failed(sentence(&error)))?;
    let id = MessageId(derive("demo", &[b"submit"]));
    let message = NewMessage::new(id, FIRST_MESSAGE, Sender::User);
    let key = BranchKey { chat, branch: chat.first_branch() };
    let submit = BranchCommand::enqueue(message);
    let done = engine.handle.execute::<Branch>(key, submit, meta("submit")).await;
    done.map(|_| ()).map_err(|error| Failure::failed(sentence(&error)))
}

fn meta(step: &str) -> CommandMeta {
    let operation = derive("demo", &[step.as_bytes()]);
    CommandMeta {
        operation: Some(OperationId(operation)),
        fingerprint: Fingerprint::of(operation.as_bytes()),
        actor: Actor::User,
        correlation: None,
    }
}
