//! Retiring a resource.

use scripta_actors::{Project, ProjectCommand, ProjectState};
use scripta_events::domain::ResourceId;

use super::{Document, ResourcesArguments};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::scope;
use crate::tools::{Call, operation};
use crate::view::ResourceView;

const SHAPE: Shape =
    operation!("Retire", required: ["resourceId", "expectedRevision"], one_of: [], optional: []);

pub(super) async fn run(call: &Call<'_>, arguments: ResourcesArguments) -> Outcome<Document> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let id = required(arguments.resource_id, SHAPE.operation, "resourceId")?;
    let expected = required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let found = scope::resource(call.app, ResourceId(id.0)).await;
    let row = found.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    let command = ProjectCommand::RetireResource { resource: row.id, expected_revision: expected };
    let view = |state: &ProjectState| match state.resources.get(&row.id) {
        Some(resource) => ResourceView::of(state.id, resource),
        // It is in every state from its creation on; the row tells the same.
        None => ResourceView::from(row.clone()),
    };
    let executed = call.app.handle.execute::<Project>(row.project, command, meta).await;
    let done = executed
        .map_err(|error| Rejected::from_execute(error, |state| Document::Resource(view(state))))?;
    let path = &row.path;
    let phrase = match done.receipt.events {
        0 => format!("The resource for {path} was retired already"),
        _ => format!("Retired the resource for {path}"),
    };
    let revision = done.state.resources.get(&row.id).map_or(0, |resource| resource.revision);
    let document = Document::Resource(view(&done.state));
    Ok(Applied::new(&done.receipt, phrase, document).at(revision))
}
