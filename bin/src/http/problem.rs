//! Errors over HTTP: `application/problem+json` with a stable code.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::{Deserialize, Serialize};

/// The media type of errors.
const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong, for programs (the code) and people (the detail).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The status in words.
    pub title: String,
    /// A name that doesn't change between versions.
    pub code: String,
    /// One sentence that says what to do.
    pub detail: String,
}

impl Problem {
    /// A problem of this status.
    pub fn new(status: StatusCode, code: &str, detail: impl fmt::Display) -> Problem {
        Problem {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            code: code.to_owned(),
            detail: detail.to_string(),
        }
    }

    /// The request asks for something that can't be.
    pub fn bad_request(code: &str, detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// The server failed, not the caller.
    pub fn internal(detail: impl fmt::Display) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code()).json(self);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
