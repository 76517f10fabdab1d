//! Two slips that models often make, put right before anything is checked.

use rmcp::model::JsonObject;
use serde_json::Value;

/// Repairs the top level of `arguments` by the tool's input schema, and nothing else:
///
/// * an object or array sent as its JSON text is parsed, when the schema wants one and does not
///   also take a string;
/// * an enum value in the wrong case becomes the one value that it matches.
pub(crate) fn repair(schema: &JsonObject, arguments: &mut JsonObject) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    for (name, value) in arguments.iter_mut() {
        let Some(property) = properties.get(name) else { continue };
        let Value::String(text) = &*value else { continue };
        if let Some(better) = parsed(property, text).or_else(|| recased(property, text)) {
            *value = better;
        }
    }
}

fn parsed(property: &Value, text: &str) -> Option<Value> {
    let wants = |kind| takes(property, kind);
    if wants("string") || !(wants("object") || wants("array")) {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let fits = (value.is_object() && wants("object")) || (value.is_array() && wants("array"));
    fits.then_some(value)
}

fn recased(property: &Value, text: &str) -> Option<Value> {
    let values = property.get("enum")?.as_array()?;
    if values.iter().any(|value| value == text) {
        return None;
    }
    let same = |value: &&Value| value.as_str().is_some_and(|it| it.eq_ignore_ascii_case(text));
    let mut matches = values.iter().filter(same);
    match (matches.next(), matches.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

fn takes(property: &Value, kind: &str) -> bool {
    match property.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|it| it == kind),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::json;

    use super::*;

    fn repaired(name: &str, value: Value) -> Value {
        let schema = json!({ "properties": {
            "mode": { "type": "string", "enum": ["Enqueue", "Fork"] },
            "twins": { "type": "string", "enum": ["Up", "up"] },
            "list": { "type": "array", "items": { "type": "string" } },
            "thing": { "type": "object" },
            "either": { "type": ["array", "string"] },
            "text": { "type": "string" },
            "limit": { "type": "integer" },
            "roles": { "type": "array", "items": { "type": "string", "enum": ["User"] } },
        }});
        let mut arguments = json!({ name: value });
        repair(schema.as_object().unwrap(), arguments.as_object_mut().unwrap());
        arguments[name].clone()
    }

    #[test]
    fn the_two_slips_are_repaired_and_nothing_else() {
        let table = [
            // An enum value in the wrong case.
            ("mode", json!("fork"), json!("Fork")),
            ("mode", json!("ENQUEUE"), json!("Enqueue")),
            ("mode", json!("Fork"), json!("Fork")),
            ("mode", json!("forks"), json!("forks")),
            ("mode", json!(" fork"), json!(" fork")),
            ("mode", json!(1), json!(1)),
            // Two values match: which one is meant is not for us to guess.
            ("twins", json!("UP"), json!("UP")),
            // JSON text where the schema wants an object or an array.
            ("list", json!(r#"["a"]"#), json!(["a"])),
            ("thing", json!(r#"{"a":1}"#), json!({ "a": 1 })),
            ("list", json!(r#"{"a":1}"#), json!(r#"{"a":1}"#)),
            ("list", json!("a"), json!("a")),
            ("list", json!("[1"), json!("[1")),
            // The schema takes the string as it is.
            ("either", json!(r#"["a"]"#), json!(r#"["a"]"#)),
            ("text", json!(r#"["a"]"#), json!(r#"["a"]"#)),
            // Not among the two slips.
            ("limit", json!("5"), json!("5")),
            ("roles", json!(["user"]), json!(["user"])),
            ("unknown", json!("[]"), json!("[]")),
        ];
        for (name, sent, expected) in table {
            assert_eq!(repaired(name, sent.clone()), expected, "{name}: {sent}");
        }
    }
}
