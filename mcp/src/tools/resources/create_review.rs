//! Making a review.

use scripta_actors::{ExecuteError, Refusal, Review, ReviewCommand, ReviewKey};
use scripta_events::domain::{ChatId, MessageId, ReviewId};

use super::{Document, ResourcesArguments};
use crate::arguments::{Shape, required};
use crate::result::{Applied, Outcome, Rejected, sentence_of};
use crate::scope::{self, ScopeError};
use crate::tools::{Call, operation};
use crate::view::ReviewView;

const SHAPE: Shape = operation!(
    "CreateReview",
    required: ["chatId", "messageId", "name", "files"],
    one_of: [],
    optional: ["comments"]
);

pub(super) async fn run(call: &Call<'_>, arguments: ResourcesArguments) -> Outcome<Document> {
    let meta = call.command(&SHAPE, arguments.operation_id)?;
    let chat = ChatId(required(arguments.chat_id, SHAPE.operation, "chatId")?.0);
    let message = MessageId(required(arguments.message_id, SHAPE.operation, "messageId")?.0);
    let (branch, gone) = match scope::branch_of(call.app, chat, message).await {
        Ok(branch) => (branch, None),
        // What it answered before it was deleted is for the actor to say.
        Err(gone @ ScopeError::Gone { .. }) => (chat.first_branch(), Some(gone)),
        Err(error) => return Err(Rejected::refused(sentence_of(&error))),
    };
    let comments = arguments.comments.unwrap_or_default();
    let command = ReviewCommand::Create {
        message,
        branch,
        name: required(arguments.name, SHAPE.operation, "name")?,
        files: required(arguments.files, SHAPE.operation, "files")?,
        comments: comments.into_iter().map(Into::into).collect(),
    };
    let key = ReviewKey { chat, review: ReviewId::random() };
    let executed = call.app.handle.execute::<Review>(key, command, meta).await;
    let view = |state: &_| Document::Review(ReviewView::from(state));
    let done = executed.map_err(|error| match (&error, gone) {
        (ExecuteError::Refused(Refusal::NotFound { .. }), Some(gone)) => {
            Rejected::refused(sentence_of(&gone))
        }
        _ => Rejected::from_execute(error, view),
    })?;
    let phrase = format!("Created review '{}'", done.state.name);
    Ok(Applied::new(&done.receipt, phrase, view(&done.state)).at(done.state.revision))
}
