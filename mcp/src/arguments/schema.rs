//! JSON Schemas, generated from the types, and the check of arguments against them.

use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::ArgumentError;

/// How many characters of a wrong value an error repeats.
const SHOWN_CHARACTERS: usize = 60;

/// A tool's input schema and its compiled form.
pub(crate) struct InputSchema {
    /// What is advertised.
    pub(crate) object: Arc<JsonObject>,
    validator: Result<Validator, String>,
}

/// The input schema of arguments `T`.
pub(crate) fn input_schema<T: JsonSchema>() -> InputSchema {
    let object = generate::<T>(SchemaSettings::draft2020_12());
    let compiled = jsonschema::options()
        .should_validate_formats(true)
        .build(&Value::Object(object.clone()))
        .map_err(|error| error.to_string());
    InputSchema { object: Arc::new(object), validator: compiled }
}

/// Marks a schema whose null is an answer, and not what is left out; it is taken away again.
pub(crate) const TELLS_NULL: &str = "x-tells-null";

/// The output schema of results `T`.
pub(crate) fn output_schema<T: JsonSchema>() -> Arc<JsonObject> {
    Arc::new(generate::<T>(SchemaSettings::draft2020_12().for_serialize()))
}

impl InputSchema {
    /// Checks names and values, and gives the arguments back with whole numbers written as such;
    /// which of them belong together is for [`Shape`](super::Shape).
    pub(crate) fn check(
        &self,
        tool: &str,
        mut arguments: JsonObject,
    ) -> Result<JsonObject, ArgumentError> {
        arguments.values_mut().for_each(write_whole);
        let arguments = Value::Object(arguments);
        let validator = self.validator.as_ref().map_err(|reason| ArgumentError::Schema {
            tool: tool.to_owned(),
            reason: reason.clone(),
        })?;
        // Errors cost more to look for than to rule out.
        let error = match validator.is_valid(&arguments) {
            true => None,
            false => validator.iter_errors(&arguments).next(),
        };
        if let Some(error) = error {
            return Err(self.refusal(tool, &error));
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            // It was put into one above.
            _ => Ok(JsonObject::new()),
        }
    }

    fn refusal(&self, tool: &str, error: &ValidationError<'_>) -> ArgumentError {
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let unknown = unexpected.first().cloned().unwrap_or_default();
                match place(error) {
                    Some(name) => {
                        let reason = format!("has no member `{unknown}`; leave it out");
                        ArgumentError::Invalid { name, reason }
                    }
                    None => ArgumentError::NotOfTool {
                        tool: tool.to_owned(),
                        name: unknown,
                        takes: self.names(),
                    },
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default().to_owned();
                if let Some(place) = place(error) {
                    let reason = format!("needs the member `{name}`");
                    return ArgumentError::Invalid { name: place, reason };
                }
                let values = self.values(&name);
                ArgumentError::MissingChoice { tool: tool.to_owned(), name, values }
            }
            kind => {
                let name = place(error).unwrap_or_default();
                let shown = match may_hold_secret(&name) {
                    true => "what was given".to_owned(),
                    false => shown(&error.instance().to_string()),
                };
                ArgumentError::Invalid { reason: reason(kind, error, &shown), name }
            }
        }
    }

    fn properties(&self) -> Option<&JsonObject> {
        self.object.get("properties").and_then(Value::as_object)
    }

    fn names(&self) -> Vec<String> {
        self.properties().map(|all| all.keys().cloned().collect()).unwrap_or_default()
    }

    /// The values that a property takes, if they are listed.
    fn values(&self, name: &str) -> Vec<String> {
        let property = self.properties().and_then(|all| all.get(name));
        let values = property.and_then(|property| property.get("enum")).and_then(Value::as_array);
        let names = values.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }
}

/// Some clients write whole numbers as `1.0`, which a schema takes for an integer and the types
/// don't.
fn write_whole(value: &mut Value) {
    /// Beyond this a float no longer tells which whole number was meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() <= EXACT);
    if let Some(number) = whole.filter(|_| value.is_f64()) {
        *value = Value::from(number as i64);
    }
}

/// Why a value is not what the schema says, as the rest of a sentence that its name begins.
fn reason(kind: &ValidationErrorKind, error: &ValidationError<'_>, shown: &str) -> String {
    match kind {
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            let names: Vec<&str> = options.iter().filter_map(Value::as_str).collect();
            format!("must be one of {}, not {shown}", names.join(", "))
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(wanted) } => {
            format!("must be of type {wanted}, not {shown}")
        }
        ValidationErrorKind::Format { format } if format == "uuid" => {
            format!("must be an id (a hyphenated UUID), not {shown}")
        }
        ValidationErrorKind::Format { format } if format == "date-time" => {
            format!("must be a time such as 2026-01-31T12:00:00Z, not {shown}")
        }
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}, not {shown}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}, not {shown}"),
        ValidationErrorKind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        ValidationErrorKind::MinLength { limit } => {
            format!("must have at least {limit} characters")
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("must have at most {limit} characters")
        }
        _ => error.masked_with("it").to_string().replacen("it ", "is wrong: it ", 1),
    }
}

/// Where in the arguments an error is; `None` at their top.
fn place(error: &ValidationError<'_>) -> Option<String> {
    let path = error.instance_path().to_string();
    let name = path.trim_start_matches('/');
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether a wrong value may hold a secret, so that no error repeats it.
fn may_hold_secret(name: &str) -> bool {
    let whole = matches!(name, "secret" | "server" | "connection" | "settings" | "security");
    whole || name.starts_with("server/env") || name.starts_with("server/headers")
}

fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN_CHARACTERS) {
        None => value.to_owned(),
        Some((at, _)) => format!("{}…", value.get(..at).unwrap_or_default()),
    }
}

/// Everything inlined, since some clients don't follow `$ref`; and an optional property is one
/// that may be left out, not one that may be null.
fn generate<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(without_null).transform(&mut schema);
    RecursiveTransform(plain).transform(&mut schema);
    schema.remove("title");
    schema.remove("description");
    schema.as_object().cloned().unwrap_or_default()
}

fn without_null(schema: &mut Schema) {
    if schema.remove(TELLS_NULL).is_some() {
        return;
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let nullable = schema.get("anyOf").and_then(Value::as_array).and_then(|choices| {
        let is_null = |choice: &&Value| choice.get("type").is_some_and(|kind| kind == "null");
        let mut others = choices.iter().filter(|choice| !is_null(choice));
        let only = others.next()?.as_object()?.clone();
        (choices.len() == 2 && others.next().is_none()).then_some(only)
    });
    if let Some(only) = nullable {
        schema.remove("anyOf");
        for (keyword, value) in only {
            if schema.get(&keyword).is_none() {
                schema.insert(keyword, value);
            }
        }
    }
}

/// Formats that JSON Schema does not know make strict clients refuse the schema; and a
/// description is prose, whose lines mean nothing.
fn plain(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| format.starts_with("uint") || format.starts_with("int")) {
        schema.remove("format");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}
