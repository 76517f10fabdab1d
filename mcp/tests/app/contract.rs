//! What every changing operation promises, checked of one.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::World;

/// An id that nothing has.
pub const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

/// An operation that can be applied as it stands.
pub struct Operation {
    pub tool: &'static str,
    pub arguments: Value,
    /// Arguments that make something else of it.
    pub other: Value,
    /// An argument of the tool that this operation does not take.
    pub foreign: (&'static str, Value),
}

fn with(arguments: &Value, more: &Value) -> Value {
    let mut all = arguments.clone();
    let entries = more.as_object().unwrap().iter();
    entries.for_each(|(name, value)| all[name] = value.clone());
    all
}

/// Applies the operation once, and checks everything that holds of every operation; the answer.
pub async fn applies_as_promised(world: &World, operation: Operation) -> Value {
    let first = applies_once(world, operation, 0).await;
    assert_eq!(first["document"]["revision"], first["revision"], "{first:#}");
    assert!(first["document"]["id"].is_string(), "{first:#}");
    first
}

/// As [`applies_as_promised`], for an answer that is no document with a revision: what a branch is
/// doing. A turn that it starts writes `later` events before it comes to rest.
pub async fn applies_once(world: &World, operation: Operation, later: u64) -> Value {
    let Operation { tool, arguments, other, foreign } = operation;
    let dry = world.rejected(tool, with(&arguments, &json!({ "dryRun": true }))).await;
    assert_eq!(dry["status"], "Refused");
    assert!(dry["phrase"].as_str().unwrap().contains("has no dry run"), "{dry:#}");
    let odd = world.rejected(tool, with(&arguments, &json!({ foreign.0: foreign.1 }))).await;
    assert!(odd["phrase"].as_str().unwrap().contains(foreign.0), "{odd:#}");

    let id = json!({ "operationId": Uuid::now_v7(), "dryRun": false });
    let first = world.ok(tool, with(&arguments, &id)).await;
    assert_eq!((&first["status"], &first["replayed"]), (&json!("Applied"), &json!(false)));
    world.goes_on(&first, later).await;
    let head = *world.log.head().borrow();
    let again = world.ok(tool, with(&arguments, &id)).await;
    assert_eq!(again, with(&first, &json!({ "replayed": true })));
    let after_a_restart = world.successor().await.ok(tool, with(&arguments, &id)).await;
    assert_eq!(after_a_restart, again);
    let reused = world.rejected(tool, with(&with(&arguments, &id), &other)).await;
    assert!(reused["phrase"].as_str().unwrap().contains("other arguments"), "{reused:#}");
    assert_eq!(*world.log.head().borrow(), head);
    first
}

/// Repeats an operation that has gone through, with the revision from before it.
pub async fn conflicts(world: &World, tool: &str, stale: Value) -> Value {
    let conflict = world.rejected(tool, stale).await;
    assert_eq!(conflict["status"], "Conflict", "{conflict:#}");
    assert_eq!(conflict["document"]["revision"], conflict["revision"]);
    conflict
}

/// The phrase of an operation that is refused.
pub async fn refused(world: &World, tool: &str, arguments: Value) -> String {
    let answer = world.rejected(tool, arguments).await;
    assert_eq!(answer["status"], "Refused", "{answer:#}");
    answer["phrase"].as_str().unwrap().to_owned()
}
