//! Making an entry.

use scripta_actors::{Memory, MemoryCommand, MemoryKey};
use scripta_events::domain::{MemoryId, ProjectId};

use super::MemoryArguments;
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected};
use crate::tools::{Call, operation};
use crate::view::{MemoryView, ScopeView};

const SHAPE: Shape = operation!(
    "Create",
    required: ["scope", "title", "text"],
    one_of: [],
    optional: ["projectId", "tags", "pinned"]
);

pub(super) async fn run(call: &Call<'_>, arguments: MemoryArguments) -> Outcome<MemoryView> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let scope = required(arguments.scope, SHAPE.operation, "scope")?;
    let project = match (scope, arguments.project_id) {
        (ScopeView::Workspace, None) => None,
        (ScopeView::Project, Some(project)) => Some(ProjectId(project.0)),
        (ScopeView::Workspace, Some(_)) => {
            let phrase = "`projectId` does not belong to Create with the scope Workspace; leave it \
                          out, or give the scope Project";
            return Err(Rejected::refused(phrase));
        }
        (ScopeView::Project, None) => {
            return Err(Rejected::refused("Create with the scope Project needs `projectId`"));
        }
    };
    let command = MemoryCommand::Create {
        title: required(arguments.title, SHAPE.operation, "title")?,
        text: required(arguments.text, SHAPE.operation, "text")?,
        tags: arguments.tags.unwrap_or_default(),
        pinned: arguments.pinned.unwrap_or_default(),
    };
    let key = MemoryKey { project, memory: MemoryId::random() };
    let executed = call.app.handle.execute::<Memory>(key, command, meta).await;
    let done =
        executed.map_err(|error| Rejected::from_execute(error, |state| MemoryView::from(state)))?;
    let phrase = format!("Created memory entry '{}'", done.state.title);
    let document = MemoryView::from(&*done.state);
    Ok(Applied::new(&done.receipt, phrase, document).at(done.state.revision))
}
