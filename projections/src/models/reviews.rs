//! The read model of reviews.

use scripta_events::codec;
use scripta_events::domain::{ChatId, REVIEW, ReviewEvent, ReviewId};
use scripta_events::log::Recorded;

use super::keys::{Key, last_ids};
use super::{Model, inconsistent};
use crate::follower::ApplyError;
use crate::store::{Batch, Store};
use crate::{QueryError, ReviewRow};

/// `r` review -> [`ReviewRow`].
fn row_key(id: ReviewId) -> Vec<u8> {
    Key::of(b'r').id(id.0).done()
}

/// `c` chat, position of its creation, review -> nothing: a chat's reviews by creation.
fn listing_prefix(chat: ChatId) -> Key {
    Key::of(b'c').id(chat.0)
}

/// What events make of reviews.
pub(crate) struct ReviewModel;

impl Model for ReviewModel {
    const NAME: &'static str = "reviews";
    const VERSION: u32 = 1;

    fn apply(batch: &mut Batch<'_>, event: &Recorded) -> Result<(), ApplyError> {
        if event.stream.category != REVIEW {
            return Ok(());
        }
        let id = ReviewId(event.stream.id);
        match codec::decode(event)? {
            ReviewEvent::ReviewCreated(created) => {
                let row = ReviewRow {
                    id,
                    chat: created.chat,
                    message: created.message,
                    name: created.name,
                    files: created.files,
                    comments: created.comments,
                    revision: 1,
                    created_at: event.time,
                    updated_at: event.time,
                    position: event.position,
                };
                let listed = listing_prefix(row.chat).rising(event.position.0).id(id.0).done();
                batch.add(listed, ());
                batch.put(row_key(id), row);
            }
            ReviewEvent::ReviewUpdated(updated) => {
                let Some(mut row) = batch.get::<ReviewRow>(&row_key(id))? else {
                    return Err(inconsistent(event, format!("review {id} was never made")));
                };
                row.name = updated.name.unwrap_or(row.name);
                row.files = updated.files.unwrap_or(row.files);
                row.comments = updated.comments.unwrap_or(row.comments);
                row.revision = row.revision.saturating_add(1);
                row.updated_at = event.time;
                row.position = event.position;
                batch.put(row_key(id), row);
            }
        }
        Ok(())
    }
}

/// Reads of the rows.
#[derive(Clone)]
pub(crate) struct Reviews(pub(crate) Store);

impl Reviews {
    pub(crate) fn get(&self, id: ReviewId) -> Result<Option<ReviewRow>, QueryError> {
        self.0.get(&row_key(id))
    }

    /// The reviews of a chat, by creation.
    pub(crate) fn ids(&self, chat: ChatId) -> Result<Vec<ReviewId>, QueryError> {
        let prefix = listing_prefix(chat).done();
        last_ids(&self.0, &prefix, "a review's").map(|id| id.map(ReviewId)).collect()
    }
}
