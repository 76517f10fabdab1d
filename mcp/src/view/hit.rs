//! A match of a search, as callers see it.

use schemars::JsonSchema;
use scripta_projections::Hit;
use serde::Serialize;

use super::{Id, RoleView, Time};

/// A message that matches a search; never the whole message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HitView {
    project_id: Id,
    project_name: String,
    chat_id: Id,
    chat_title: String,
    /// The branch that wrote it.
    branch_id: Id,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_title: Option<String>,
    message_id: Id,
    role: RoleView,
    time: Time,
    fragment: FragmentView,
    /// How many matches the whole message has.
    match_count: u64,
}

/// The first match with what stands around it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FragmentView {
    text: String,
    /// Where the match begins in the text, in characters.
    start: usize,
    /// How long the match is, in characters.
    length: usize,
}

impl From<Hit> for HitView {
    fn from(hit: Hit) -> HitView {
        HitView {
            project_id: Id(hit.project.0),
            project_name: hit.project_name,
            chat_id: Id(hit.chat.0),
            chat_title: hit.chat_title,
            branch_id: Id(hit.branch.0),
            branch_title: hit.branch_title,
            message_id: Id(hit.message.0),
            role: hit.role.into(),
            time: hit.time.into(),
            fragment: FragmentView {
                text: hit.fragment.text,
                start: hit.fragment.start,
                length: hit.fragment.length,
            },
            match_count: hit.match_count,
        }
    }
}
