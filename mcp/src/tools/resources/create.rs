//! Referring to a file or a directory.

use scripta_actors::{Project, ProjectCommand};
use scripta_events::domain::{ProjectId, RESOURCE, ResourceId};
use scripta_events::log::Receipt;

use super::{Document, ResourcesArguments};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::tools::{Call, operation};
use crate::view::ResourceView;

const SHAPE: Shape =
    operation!("Create", required: ["projectId", "path", "kind"], one_of: [], optional: []);

pub(super) async fn run(call: &Call<'_>, arguments: ResourcesArguments) -> Outcome<Document> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let project = required(arguments.project_id, SHAPE.operation, "projectId")?;
    let command = ProjectCommand::CreateResource {
        path: required(arguments.path, SHAPE.operation, "path")?,
        kind: required(arguments.kind, SHAPE.operation, "kind")?.into(),
    };
    let executed = call.app.handle.execute::<Project>(ProjectId(project.0), command, meta).await;
    // It is no change of a document that is there, so nothing conflicts.
    let done = executed.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    let named = named(&done.receipt);
    let resource = named.and_then(|id| done.state.resources.get(&id));
    let Some(resource) = resource else {
        return Err(Rejected::refused("The resource was made, but its receipt does not name it"));
    };
    let (path, project) = (&resource.path, &done.state.name);
    let phrase = match done.receipt.events {
        0 => format!("Project '{project}' had a resource for {path} already"),
        _ => format!("Made a resource for {path} in project '{project}'"),
    };
    let revision = resource.revision;
    let document = Document::Resource(ResourceView::of(done.id, resource));
    Ok(Applied::new(&done.receipt, phrase, document).at(revision))
}

/// The resource that the operation came to, whether it made it or found it.
fn named(receipt: &Receipt) -> Option<ResourceId> {
    let mut streams = receipt.streams.iter();
    let found = streams.find(|(stream, _)| stream.category == RESOURCE);
    found.map(|(stream, _)| ResourceId(stream.id))
}
