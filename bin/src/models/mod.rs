//! The models that runs can use: `builtin:demo`, and the connections of the configuration.

mod frames;
mod history;
mod openai;

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use scripta_actors::demo::{self, Demo};
use scripta_actors::{ModelError, ModelEvent, ModelRequest, Models};
use scripta_events::domain::ConnectionId;

use self::openai::OpenAi;
use crate::config::{Environment, FileConnection, Provider};
use crate::failure::Outcome;

/// All connections, by name.
pub struct Connections {
    demo: Demo,
    configured: BTreeMap<String, OpenAi>,
    default: Option<String>,
}

impl Connections {
    /// The configured connections. Their keys are read from the environment now.
    pub fn new(
        connections: &[FileConnection],
        environment: &dyn Environment,
    ) -> Outcome<Connections> {
        let mut configured = BTreeMap::new();
        for connection in connections {
            let key = connection.api_key_env.as_deref().and_then(|name| environment.get(name));
            let client = match connection.provider {
                Provider::OpenAi => OpenAi::new(connection.clone(), key)?,
            };
            configured.insert(connection.name.clone(), client);
        }
        let marked = connections.iter().find(|connection| connection.default);
        let default = match (marked, connections) {
            (Some(marked), _) => Some(marked.name.clone()),
            (None, []) => Some(demo::CONNECTION.to_owned()),
            (None, [only]) => Some(only.name.clone()),
            (None, _) => None,
        };
        Ok(Connections { demo: Demo, configured, default })
    }

    fn names(&self) -> String {
        let configured = self.configured.keys().map(String::as_str);
        configured.chain([demo::CONNECTION]).collect::<Vec<_>>().join(", ")
    }
}

impl Models for Connections {
    fn resolve(
        &self,
        wanted: Option<&ConnectionId>,
        model: Option<&str>,
    ) -> Result<(ConnectionId, Option<String>), ModelError> {
        let wanted = wanted.map(|id| id.0.as_str()).or(self.default.as_deref()).ok_or_else(|| {
            ModelError::permanent(format!(
                "no connection is the default; name one of {}, or mark one in scripta.toml with default = true",
                self.names()
            ))
        })?;
        if wanted == demo::CONNECTION {
            return self.demo.resolve(Some(&ConnectionId(wanted.to_owned())), model);
        }
        let connection = self.configured.get(wanted).ok_or_else(|| {
            ModelError::permanent(format!(
                "there is no connection '{wanted}'; there are {}",
                self.names()
            ))
        })?;
        let model = model.unwrap_or(connection.model());
        Ok((ConnectionId(wanted.to_owned()), Some(model.to_owned())))
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let name = &request.connection.0;
        if name == demo::CONNECTION {
            return self.demo.stream(request);
        }
        match self.configured.get(name) {
            Some(connection) => connection.stream(request),
            None => {
                let error = format!("the connection '{name}' is not configured any more");
                stream::iter([Err(ModelError::permanent(error))]).boxed()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::Process;

    fn connection(name: &str, default: bool) -> FileConnection {
        FileConnection {
            name: name.to_owned(),
            provider: Provider::OpenAi,
            base_url: "http://127.0.0.1:9/v1".to_owned(),
            model: "m".to_owned(),
            api_key_env: None,
            default,
        }
    }

    fn resolved(connections: &[FileConnection], wanted: Option<&str>) -> Result<String, String> {
        let connections = Connections::new(connections, &Process).unwrap();
        let wanted = wanted.map(|name| ConnectionId(name.to_owned()));
        let resolved = connections.resolve(wanted.as_ref(), None);
        resolved.map(|(id, _)| id.0).map_err(|error| error.message)
    }

    #[test]
    fn the_default_is_the_marked_one_or_the_only_one_or_the_demo() {
        assert_eq!(resolved(&[], None).unwrap(), "builtin:demo");
        assert_eq!(resolved(&[connection("a", false)], None).unwrap(), "a");
        let two = [connection("a", false), connection("b", true)];
        assert_eq!(resolved(&two, None).unwrap(), "b");
        assert_eq!(resolved(&two, Some("a")).unwrap(), "a");
        assert_eq!(resolved(&two, Some("builtin:demo")).unwrap(), "builtin:demo");
        let unmarked = [connection("a", false), connection("b", false)];
        assert!(resolved(&unmarked, None).unwrap_err().contains("default = true"));
        assert!(resolved(&two, Some("zzz")).unwrap_err().contains("a, b, builtin:demo"));
    }
}
