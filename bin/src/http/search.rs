//! `GET /api/chats/search`.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Query};

use super::Shared;
use super::access::Person;
use super::problem::Problem;
use crate::find::{Answer, FindError, Question, find};

/// Finds messages.
pub async fn search(
    _person: Person,
    shared: Data<Shared>,
    question: Query<Question>,
) -> Result<Json<Answer>, Problem> {
    find(&shared.engine.store, question.into_inner()).await.map(Json).map_err(|error| match error {
        FindError::Refused(detail) => {
            Problem::new(StatusCode::BAD_REQUEST, "search_refused", detail)
        }
        FindError::Failed(detail) => Problem::internal(detail),
    })
}
