//! Changing a review.

use scripta_actors::{Review, ReviewChanges, ReviewCommand, ReviewKey};
use scripta_events::domain::ReviewId;

use super::{Document, ResourcesArguments};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::scope;
use crate::tools::{Call, operation};
use crate::view::ReviewView;

const SHAPE: Shape = operation!(
    "UpdateReview",
    required: ["reviewId", "expectedRevision"],
    one_of: ["name", "files", "comments"],
    optional: []
);

pub(super) async fn run(call: &Call<'_>, arguments: ResourcesArguments) -> Outcome<Document> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let id = required(arguments.review_id, SHAPE.operation, "reviewId")?;
    let expected = required(arguments.expected_revision, SHAPE.operation, "expectedRevision")?;
    let found = scope::review(call.app, ReviewId(id.0)).await;
    let row = found.map_err(|error| Rejected::refused(sentence_of(&error)))?;
    let comments = arguments.comments.map(|all| all.into_iter().map(Into::into).collect());
    let changes = ReviewChanges { name: arguments.name, files: arguments.files, comments };
    let key = ReviewKey { chat: row.chat, review: row.id };
    let command = ReviewCommand::Update { changes, expected_revision: expected };
    let executed = call.app.handle.execute::<Review>(key, command, meta).await;
    let view = |state: &_| Document::Review(ReviewView::from(state));
    let done = executed.map_err(|error| Rejected::from_execute(error, view))?;
    let name = &done.state.name;
    let phrase = match done.receipt.events {
        0 => format!("Review '{name}' was so already"),
        _ => format!("Updated review '{name}'"),
    };
    Ok(Applied::new(&done.receipt, phrase, view(&done.state)).at(done.state.revision))
}
