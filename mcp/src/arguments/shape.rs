//! Which arguments an operation needs, and which it takes.

use rmcp::model::JsonObject;

use super::ArgumentError;

/// The arguments of one operation (or of one resource of a read).
pub(crate) struct Shape {
    /// The operation's name.
    pub(crate) operation: &'static str,
    /// Those that must be there.
    pub(crate) required: &'static [&'static str],
    /// At least one of these must be there; empty if nothing of the kind holds.
    pub(crate) one_of: &'static [&'static str],
    /// Those that may be there.
    pub(crate) optional: &'static [&'static str],
}

impl Shape {
    /// Checks that nothing is missing and that nothing is there that means nothing here.
    pub(crate) fn check(&self, arguments: &JsonObject) -> Result<(), ArgumentError> {
        self.check_beside(&[], arguments)
    }

    /// The same, where `others` may be there too, which no error names.
    pub(crate) fn check_beside(
        &self,
        others: &[&str],
        arguments: &JsonObject,
    ) -> Result<(), ArgumentError> {
        let stray = |name: &&String| !others.contains(&name.as_str()) && !self.takes(name);
        if let Some(name) = arguments.keys().find(stray) {
            return Err(ArgumentError::NotOfOperation {
                operation: self.operation,
                name: name.clone(),
                takes: owned(self.all()),
            });
        }
        let missing = |name: &&&str| !arguments.contains_key(**name);
        let names = owned(self.required.iter().filter(missing).copied());
        if !names.is_empty() {
            return Err(ArgumentError::Missing { operation: self.operation.to_owned(), names });
        }
        if !self.one_of.is_empty() && self.one_of.iter().all(|name| missing(&name)) {
            let names = owned(self.one_of.iter().copied());
            return Err(ArgumentError::MissingOneOf { operation: self.operation, names });
        }
        Ok(())
    }

    fn takes(&self, name: &str) -> bool {
        // The selector is what chose this shape.
        matches!(name, "operation" | "resource") || self.all().any(|it| it == name)
    }

    fn all(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().chain(self.one_of).chain(self.optional).copied()
    }
}

fn owned(names: impl Iterator<Item = &'static str>) -> Vec<String> {
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const SHAPE: Shape = Shape {
        operation: "Submit",
        required: &["text"],
        one_of: &["chatId", "branchId"],
        optional: &["wait"],
    };

    fn complaint(arguments: serde_json::Value) -> Option<String> {
        let checked = SHAPE.check(arguments.as_object().unwrap());
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn what_is_missing_or_does_not_belong_is_named() {
        let right = json!({ "operation": "Submit", "text": "Hi", "chatId": "…", "wait": true });
        assert_eq!(complaint(right), None);
        let foreign = json!({ "text": "Hi", "chatId": "…", "name": "N" });
        assert_eq!(
            complaint(foreign).unwrap(),
            "`name` does not belong to Submit, which takes `text`, `chatId`, `branchId` and \
             `wait`; leave it out"
        );
        assert_eq!(complaint(json!({ "chatId": "…" })).unwrap(), "Submit needs `text`");
        assert_eq!(
            complaint(json!({ "text": "Hi" })).unwrap(),
            "Submit needs `chatId` or `branchId`"
        );
    }
}
