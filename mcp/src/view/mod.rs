//! What callers see: the JSON contract, apart from the domain's own types.

mod attention;
mod chat;
mod effect;
mod hit;
mod instructions;
mod memory;
mod message;
mod project;
mod resource;
mod review;
mod run;
mod security;
mod settings;

use jiff::Timestamp as Moment;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scripta_events::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

pub(crate) use attention::AttentionView;
pub(crate) use chat::ChatView;
pub(crate) use effect::EffectView;
pub(crate) use hit::HitView;
pub(crate) use instructions::InstructionsView;
pub(crate) use memory::{MemoryView, ScopeView};
pub(crate) use message::{IntentView, MessagePlace, MessageView, RoleView};
pub(crate) use project::ProjectView;
pub(crate) use resource::{ResourceKindView, ResourceView};
pub(crate) use review::{CommentView, ReviewView};
pub(crate) use run::{RunProgress, RunStatusView, RunView, TurnView};
pub(crate) use security::{
    CapabilityView, EffectivePolicyView, PolicyArgument, PolicyScopeView, SecurityArgument,
    SecurityView, TransportView,
};
pub(crate) use settings::{
    ConnectionArgument, ConnectionView, GlobalSettingsArgument, GlobalSettingsView, SettingsView,
    ToolServerView, secret_names,
};

/// An id as callers write and read it: a hyphenated UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Id(pub(crate) Uuid);

/// A moment as callers write and read it: RFC 3339.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) Moment);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Time).map_err(D::Error::custom)
    }
}

impl JsonSchema for Id {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "uuid" })
    }
}

impl JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl From<Timestamp> for Time {
    fn from(time: Timestamp) -> Time {
        // A time that a calendar can't hold is shown as the nearest that it can.
        let nearest = if time.0 < 0 { Moment::MIN } else { Moment::MAX };
        Time(Moment::from_microsecond(time.0).unwrap_or(nearest))
    }
}

impl From<&Time> for Timestamp {
    fn from(time: &Time) -> Timestamp {
        Timestamp(time.0.as_microsecond())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        let time = Time::from(Timestamp(1_767_225_600_000_001));
        assert_eq!(serde_json::to_value(&time).unwrap(), "2026-01-01T00:00:00.000001Z");
        assert_eq!(Timestamp::from(&time), Timestamp(1_767_225_600_000_001));
        let far = Time::from(Timestamp(i64::MAX));
        assert!(serde_json::to_string(&far).unwrap().starts_with("\"9999-12-30"));
    }
}
