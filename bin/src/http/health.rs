//! Liveness and readiness.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json};
use serde::Serialize;

use super::Shared;
use super::problem::Problem;
use crate::running::Health;

/// What `/readyz` answers.
#[derive(Debug, Serialize)]
pub struct Ready {
    status: &'static str,
}

/// `GET /healthz`: the process lives, and it is this one.
pub async fn live(shared: Data<Shared>) -> Json<Health> {
    Json(Health { status: "ok".to_owned(), instance: shared.instance })
}

/// `GET /readyz`: everything is recovered and caught up.
pub async fn ready(shared: Data<Shared>) -> Result<Json<Ready>, Problem> {
    let unready =
        |detail: String| Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail));
    if !shared.is_ready() {
        return unready("the server is starting or stopping; try again in a moment".to_owned());
    }
    let stopped = shared.engine.store.projections.status().into_iter().find_map(|projection| {
        let reason = projection.stopped?;
        Some(format!("the {} projection has stopped: {reason}", projection.name))
    });
    match stopped {
        Some(detail) => unready(detail),
        None => Ok(Json(Ready { status: "ready" })),
    }
}
