//! What an operation was asked to do, as a digest.

use rmcp::model::JsonObject;
use scripta_events::Fingerprint;
use serde_json::Value;
use uuid::Uuid;

/// The version of the canonical form. A new form gets a new number, so that no repeat is taken
/// for something else because the program changed.
const FORM: u8 = 1;

/// Arguments that say how a call is made, not what is asked for.
const NOT_ASKED_FOR: [&str; 5] =
    ["operationId", "expectedRevision", "dryRun", "wait", "waitTimeoutMs"];

/// The fingerprint of a call: the caller, the tool, and the arguments after repair and with
/// omitted ids filled in.
pub(crate) fn fingerprint(caller: &str, tool: &str, arguments: &JsonObject) -> Fingerprint {
    let asked: JsonObject = arguments
        .iter()
        .filter(|(name, _)| !NOT_ASKED_FOR.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut bytes = vec![FORM];
    let form = [Value::from(caller), Value::from(tool), canonical(&Value::Object(asked))];
    bytes.extend_from_slice(Value::from(form.to_vec()).to_string().as_bytes());
    Fingerprint::of(&bytes)
}

/// A value with sorted keys and ids in one spelling: the order that a map happens to have must
/// not enter a digest.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(name, _)| name.as_str());
            let sorted = entries.into_iter().map(|(name, value)| {
                let value = if name.ends_with("Id") { id(value) } else { None }
                    .unwrap_or_else(|| canonical(value));
                (name.clone(), value)
            });
            Value::Object(sorted.collect())
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

fn id(value: &Value) -> Option<Value> {
    let id = Uuid::parse_str(value.as_str()?).ok()?;
    Some(Value::from(id.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn of(caller: &str, tool: &str, arguments: Value) -> Fingerprint {
        fingerprint(caller, tool, arguments.as_object().unwrap())
    }

    #[test]
    fn order_and_manner_do_not_matter_and_everything_else_does() {
        let base = of("user", "app_runs", json!({ "operation": "Submit", "text": "Hi" }));
        let same = json!({
            "text": "Hi", "operation": "Submit", "wait": true, "waitTimeoutMs": 5000,
            "operationId": "0193", "expectedRevision": 4, "dryRun": false,
        });
        assert_eq!(of("user", "app_runs", same.clone()), base);
        assert_ne!(of("key:a", "app_runs", same.clone()), base);
        assert_ne!(of("user", "app_chats", same), base);
        let other = json!({ "operation": "Submit", "text": "Ho" });
        assert_ne!(of("user", "app_runs", other), base);
    }

    #[test]
    fn ids_have_one_spelling_and_nested_keys_are_sorted() {
        let upper =
            json!({ "chatId": "0193A000-0000-7000-8000-00000000000A", "x": { "b": 1, "a": 2 } });
        let lower =
            json!({ "x": { "a": 2, "b": 1 }, "chatId": "0193a000-0000-7000-8000-00000000000a" });
        assert_eq!(of("user", "t", upper), of("user", "t", lower));
    }

    #[test]
    fn the_form_does_not_change_in_silence() {
        let fingerprint = of("user", "app_chats", json!({ "operation": "Create", "title": "T" }));
        let recorded = "58eb6ec3d064a7bc535c3c7ad496a4dc737aa9cebb33b3cbc3d7fe15207d5b1b";
        assert_eq!(format!("{fingerprint:?}"), format!("Fingerprint({recorded})"));
    }
}
