//! The project to import into.

use std::sync::Arc;

use scripta_actors::{CommandMeta, Project, ProjectCommand};
use scripta_events::domain::{Actor, ProjectId};
use scripta_events::{Fingerprint, OperationId};
use uuid::Uuid;

use super::ids::derive;
use crate::engine::Engine;
use crate::failure::{Failure, Outcome, sentence};
use crate::store::blocking;

/// The project of this id, or of this name; a name that is not there is made.
pub async fn find_or_make(engine: &Engine, actor: &Actor, wanted: &str) -> Outcome<ProjectId> {
    let wanted = wanted.trim();
    if let Ok(id) = Uuid::parse_str(wanted) {
        let state = engine.handle.state::<Project>(ProjectId(id)).await;
        let state = state.map_err(|error| Failure::failed(sentence(&error)))?;
        return state.map(|_| ProjectId(id)).ok_or_else(|| {
            Failure::refused(format!("there is no project {id}; give a name to make one"))
        });
    }
    match by_name(engine, wanted).await?.as_slice() {
        [only] => Ok(*only),
        [] => make(engine, actor, wanted).await,
        several => Err(Failure::refused(format!(
            "{} projects are called {wanted:?}; name one by its id",
            several.len()
        ))),
    }
}

async fn by_name(engine: &Engine, name: &str) -> Outcome<Vec<ProjectId>> {
    engine.store.catch_up_fully().await?;
    let projections = Arc::clone(&engine.store.projections);
    let name = name.to_owned();
    let find = move || {
        let mut found = Vec::new();
        for id in projections.project_ids()? {
            let row = projections.project(id)?;
            found.extend(row.filter(|row| row.name == name).map(|row| row.id));
        }
        Ok::<_, scripta_projections::QueryError>(found)
    };
    blocking(move || find().map_err(|error| Failure::failed(sentence(&error)))).await
}

/// Makes a project under an id and an operation that follow from its name, so that two imports at
/// once make one.
async fn make(engine: &Engine, actor: &Actor, name: &str) -> Outcome<ProjectId> {
    let id = ProjectId(derive("project", &[name.as_bytes()]));
    let operation = derive("make project", &[name.as_bytes()]);
    let command = ProjectCommand::Create { name: name.to_owned(), directories: Vec::new() };
    let meta = CommandMeta {
        operation: Some(OperationId(operation)),
        fingerprint: Fingerprint::of(operation.as_bytes()),
        actor: actor.clone(),
        correlation: None,
    };
    let done = engine.handle.execute::<Project>(id, command, meta).await;
    done.map(|done| done.id).map_err(|error| Failure::refused(sentence(&error)))
}
