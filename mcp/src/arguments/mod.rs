//! What a call brings: repaired, checked against the advertised schema, and typed.
//!
//! The order is fixed: two common slips are [repaired](repair), the names are checked, then the
//! values against the schema, then which arguments belong to the operation ([`Shape`]).

mod repair;
mod schema;
mod shape;

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use thiserror::Error;

pub(crate) use repair::repair;
pub(crate) use schema::{InputSchema, TELLS_NULL, input_schema, output_schema};
pub(crate) use shape::Shape;

/// What is wrong with the arguments of a call: one sentence that says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ArgumentError {
    /// The tool has no such argument.
    #[error("`{name}` is not an argument of {tool}; it takes {}", list(takes))]
    NotOfTool { tool: String, name: String, takes: Vec<String> },
    /// The operation does not take the argument.
    #[error("`{name}` does not belong to {operation}, which takes {}; leave it out", list(takes))]
    NotOfOperation { operation: &'static str, name: String, takes: Vec<String> },
    /// A required argument is missing.
    #[error("{operation} needs {}", list(names))]
    Missing { operation: String, names: Vec<String> },
    /// The argument that says what to do is missing.
    #[error("{tool} needs `{name}`, which is one of {}", values.join(", "))]
    MissingChoice { tool: String, name: String, values: Vec<String> },
    /// At least one of several is needed.
    #[error("{operation} needs {}", alternatives(names))]
    MissingOneOf { operation: &'static str, names: Vec<String> },
    /// A value is not what the schema says.
    #[error("`{name}` {reason}")]
    Invalid { name: String, reason: String },
    /// The operation has no rehearsal.
    #[error(
        "{operation} has no dry run, so nothing was done; leave `dryRun` out to apply it for real"
    )]
    NoDryRun { operation: &'static str },
    /// The advertised schema itself is broken.
    #[error("the arguments can't be checked because the schema of {tool} is broken: {reason}")]
    Schema { tool: String, reason: String },
}

/// Turns checked arguments into their type.
pub(crate) fn typed<T: DeserializeOwned>(arguments: &JsonObject) -> Result<T, ArgumentError> {
    T::deserialize(arguments).map_err(|error| ArgumentError::Invalid {
        name: "arguments".to_owned(),
        reason: format!("can't be read: {error}"),
    })
}

/// An argument that the operation's [`Shape`] requires.
pub(crate) fn required<T>(
    value: Option<T>,
    operation: &'static str,
    name: &'static str,
) -> Result<T, ArgumentError> {
    value.ok_or_else(|| ArgumentError::Missing {
        operation: operation.to_owned(),
        names: vec![name.to_owned()],
    })
}

/// Names in a sentence: `` `a`, `b` and `c` ``.
fn list(names: &[String]) -> String {
    joined(names, "and")
}

/// Names in a sentence: `` `a` or `b` ``.
fn alternatives(names: &[String]) -> String {
    joined(names, "or")
}

fn joined(names: &[String], word: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} {word} {last}", rest.join(", ")),
    }
}
