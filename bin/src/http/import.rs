//! `POST /api/import`: an export as the body.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Payload, Query};
use futures::StreamExt;
use scripta_events::domain::Actor;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Shared;
use super::access::Person;
use super::problem::Problem;
use crate::data::{create_private, make_folder};
use crate::failure::{Failure, Status};
use crate::import::{DEFAULT_PROJECT, Importer, Report, Silent};

/// The largest upload, in bytes: the largest exports known, several times over.
const MAX_UPLOAD_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// What goes with an upload.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The project to import into, by id or name.
    #[serde(default = "default_project")]
    pub project: String,
    /// The file's name, for the report.
    #[serde(default = "default_name")]
    pub name: String,
}

fn default_project() -> String {
    DEFAULT_PROJECT.to_owned()
}

fn default_name() -> String {
    "upload".to_owned()
}

/// Brings an export in. The body is kept in a file until it is all there: an upload that breaks
/// off leaves nothing behind.
pub async fn import(
    _person: Person,
    shared: Data<Shared>,
    arguments: Query<Arguments>,
    body: Payload,
) -> Result<Json<Report>, Problem> {
    let arguments = arguments.into_inner();
    let upload = Upload::receive(&shared.data.uploads(), body).await?;
    let importer = Importer::new(&shared.engine, Actor::User, &arguments.project).await;
    let importer = importer.map_err(refused)?;
    let file = File::open(&upload.path).map_err(Problem::internal)?;
    let report = importer.file(&arguments.name, file, Box::new(Silent)).await;
    report.map(Json).map_err(refused)
}

fn refused(failure: Failure) -> Problem {
    match failure.status() {
        Status::Refused | Status::Usage => Problem::new(StatusCode::CONFLICT, "refused", failure),
        Status::Failed | Status::Corrupt => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "import_failed", failure)
        }
    }
}

/// A body in a file, which is removed when it is dropped.
struct Upload {
    path: PathBuf,
}

impl Upload {
    async fn receive(folder: &Path, mut body: Payload) -> Result<Upload, Problem> {
        make_folder(folder).map_err(Problem::internal)?;
        let upload = Upload { path: folder.join(format!("{}.json", Uuid::now_v7())) };
        let mut file = create_private(&upload.path).map_err(Problem::internal)?;
        let mut size = 0_u64;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| Problem::bad_request("broken_upload", error))?;
            size = size.saturating_add(chunk.len() as u64);
            if size > MAX_UPLOAD_BYTES {
                let detail = format!("the upload is over the limit of {MAX_UPLOAD_BYTES} bytes");
                return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
            }
            let write = move || file.write_all(&chunk).map(|()| file);
            let written = tokio::task::spawn_blocking(write).await.map_err(Problem::internal)?;
            file = written.map_err(Problem::internal)?;
        }
        Ok(upload)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, "an upload could not be removed");
        }
    }
}
