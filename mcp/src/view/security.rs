//! Policies, grants and server bindings, as callers see and write them.

use schemars::JsonSchema;
use scripta_actors::{
    Effective, NewBinding, NewGrant, NewPolicy, NewSecurity, Policies, PolicyScope,
};
use scripta_events::domain::{
    Capability, GrantId, PolicyDecision, PolicyRule, RuleMatch, SecurityDocument, ToolPolicy,
    ToolServerId, Transport, WorkspaceDocuments,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Id;

/// A security document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecurityView {
    /// The id of the workspace, project or chat whose document it is.
    id: Id,
    /// 0 until it is first set.
    revision: u64,
    servers: Vec<BindingView>,
    policies: Vec<PolicyView>,
    grants: Vec<GrantView>,
}

/// That a tool server is used, or isn't.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BindingView {
    /// The server's name or id.
    server: String,
    /// The server's id, which goes before its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_id: Option<Id>,
    /// Whether its tools are there.
    enabled: bool,
    /// How the server was spoken to when it was bound; recorded, never set.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<TransportView>,
}

/// The policy of a tool in a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PolicyView {
    /// The server's name or id.
    server: String,
    /// The server's id, which goes before its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_id: Option<Id>,
    /// The tool's name there.
    #[schemars(length(min = 1, max = 200))]
    tool: String,
    /// What becomes of a call that no rule matches.
    decision: DecisionView,
    /// Looked through in order; the first that matches decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<Vec<RuleView>>,
    /// How long a call may say nothing, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    silence_timeout_ms: Option<u64>,
    /// The most calls of the tool in one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_calls_per_run: Option<u32>,
}

/// The policy of one tool.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PolicyArgument {
    /// What becomes of a call that no rule matches.
    decision: DecisionView,
    /// Looked through in order; the first that matches decides.
    rules: Option<Vec<RuleView>>,
    /// How long a call may say nothing, in milliseconds.
    #[schemars(range(min = 1_000, max = 1_800_000))]
    silence_timeout_ms: Option<u64>,
    /// The most calls of the tool in one run.
    #[schemars(range(min = 1))]
    max_calls_per_run: Option<u32>,
}

/// A decision for calls whose argument is of some kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RuleView {
    /// The argument, at the top level.
    #[schemars(length(min = 1, max = 200))]
    argument: String,
    /// It has to be one of these texts. Either this or `under` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    equals: Option<Vec<String>>,
    /// It has to be this absolute path, or one in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    under: Option<String>,
    /// What becomes of such a call.
    decision: DecisionView,
}

/// A directory that may be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GrantView {
    /// Absent for a new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Id>,
    /// The last part of the path unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Absolute.
    path: String,
    capabilities: Vec<CapabilityView>,
}

// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum DecisionView {
    Allow,
    Ask,
    Deny,
}

// How a tool server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum TransportView {
    InProcess,
    Stdio,
    StreamableHttp,
}

// What may be done in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum CapabilityView {
    Read,
    Write,
    Delete,
}

/// A whole security document, as it replaces another.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SecurityArgument {
    /// Of the document that was read; not looked at.
    #[serde(rename = "id")]
    _id: Option<Id>,
    /// Of the document that was read; not looked at.
    #[serde(rename = "revision")]
    _revision: Option<u64>,
    /// Which tool servers are used.
    #[schemars(length(max = 256))]
    servers: Option<Vec<BindingView>>,
    /// What is decided about tools.
    #[schemars(length(max = 2_048))]
    policies: Option<Vec<PolicyView>>,
    /// Which directories may be used.
    #[schemars(length(max = 256))]
    grants: Option<Vec<GrantView>>,
}

impl SecurityView {
    /// The document of this owner; `workspace` has the names of the servers.
    pub(crate) fn of(
        id: Uuid,
        document: &SecurityDocument,
        workspace: &WorkspaceDocuments,
    ) -> SecurityView {
        let security = &document.security;
        let bindings = security.servers.iter().map(|binding| BindingView {
            server: server_name(workspace, binding.server),
            server_id: Some(Id(binding.server.0)),
            enabled: binding.enabled,
            transport: Some(binding.transport.into()),
        });
        let grants = security.grants.iter().map(|grant| GrantView {
            id: Some(Id(grant.id.0)),
            name: Some(grant.name.clone()),
            path: grant.path.clone(),
            capabilities: grant.capabilities.iter().copied().map(Into::into).collect(),
        });
        let policies = security.policies.iter().map(|policy| PolicyView::of(policy, workspace));
        SecurityView {
            id: Id(id),
            revision: document.revision,
            servers: bindings.collect(),
            policies: policies.collect(),
            grants: grants.collect(),
        }
    }
}

/// A policy that holds for a tool, and where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EffectivePolicyView {
    #[serde(flatten)]
    policy: PolicyView,
    /// Whose document it stands in.
    scope: PolicyScopeView,
    /// That document's revision.
    revision: u64,
}

// Whose document a policy stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum PolicyScopeView {
    Global,
    Project,
    Chat,
}

impl EffectivePolicyView {
    /// All that hold.
    pub(crate) fn all(policies: &Policies<'_>) -> Vec<EffectivePolicyView> {
        let view = |effective: Effective<'_>| EffectivePolicyView {
            policy: PolicyView::of(effective.policy, policies.workspace),
            scope: effective.scope.into(),
            revision: effective.revision,
        };
        policies.all().into_iter().map(view).collect()
    }
}

impl PolicyView {
    pub(crate) fn of(policy: &ToolPolicy, workspace: &WorkspaceDocuments) -> PolicyView {
        let rules: Vec<RuleView> = policy.rules.iter().map(RuleView::from).collect();
        PolicyView {
            server: server_name(workspace, policy.server),
            server_id: Some(Id(policy.server.0)),
            tool: policy.tool.clone(),
            decision: policy.decision.into(),
            rules: (!rules.is_empty()).then_some(rules),
            silence_timeout_ms: policy.silence_timeout_ms,
            max_calls_per_run: policy.max_calls_per_run,
        }
    }
}

/// The server's name; its id where it was deleted.
pub(crate) fn server_name(workspace: &WorkspaceDocuments, server: ToolServerId) -> String {
    let known = workspace.servers.get(&server);
    known.map_or_else(|| server.to_string(), |document| document.value.name.clone())
}

impl SecurityArgument {
    /// What the deciders take, or what is wrong with a rule.
    pub(crate) fn into_new(self) -> Result<NewSecurity, String> {
        let servers = self.servers.unwrap_or_default().into_iter().map(|binding| NewBinding {
            server: named(binding.server, binding.server_id),
            enabled: binding.enabled,
        });
        let policies = self.policies.unwrap_or_default().into_iter().map(|policy| {
            let argument = PolicyArgument {
                decision: policy.decision,
                rules: policy.rules,
                silence_timeout_ms: policy.silence_timeout_ms,
                max_calls_per_run: policy.max_calls_per_run,
            };
            argument.into_new(named(policy.server, policy.server_id), policy.tool)
        });
        let grants = self.grants.unwrap_or_default().into_iter().map(|grant| NewGrant {
            id: grant.id.map(|id| GrantId(id.0)),
            name: grant.name,
            path: grant.path,
            capabilities: grant.capabilities.into_iter().map(Into::into).collect(),
        });
        Ok(NewSecurity {
            servers: servers.collect(),
            policies: policies.collect::<Result<_, _>>()?,
            grants: grants.collect(),
        })
    }
}

fn named(server: String, id: Option<Id>) -> String {
    id.map_or(server, |id| id.0.to_string())
}

impl PolicyArgument {
    /// What the deciders take, or what is wrong with a rule.
    pub(crate) fn into_new(self, server: String, tool: String) -> Result<NewPolicy, String> {
        let rules = self.rules.unwrap_or_default().into_iter().map(PolicyRule::try_from);
        Ok(NewPolicy {
            server,
            tool,
            decision: self.decision.into(),
            rules: rules.collect::<Result<_, _>>()?,
            silence_timeout_ms: self.silence_timeout_ms,
            max_calls_per_run: self.max_calls_per_run,
        })
    }
}

impl TryFrom<RuleView> for PolicyRule {
    type Error = String;

    fn try_from(rule: RuleView) -> Result<PolicyRule, String> {
        let matches = match (rule.equals, rule.under) {
            (Some(values), None) => RuleMatch::OneOf(values),
            (None, Some(path)) => RuleMatch::Under(path),
            _ => {
                let argument = rule.argument;
                return Err(format!(
                    "The rule about `{argument}` needs either `equals` or `under`, and not both"
                ));
            }
        };
        Ok(PolicyRule { argument: rule.argument, matches, decision: rule.decision.into() })
    }
}

impl From<&PolicyRule> for RuleView {
    fn from(rule: &PolicyRule) -> RuleView {
        let (equals, under) = match &rule.matches {
            RuleMatch::OneOf(values) => (Some(values.clone()), None),
            RuleMatch::Under(path) => (None, Some(path.clone())),
        };
        RuleView { argument: rule.argument.clone(), equals, under, decision: rule.decision.into() }
    }
}

/// Two enums of the same variants, each the other.
macro_rules! same {
    ($view:ident = $domain:ident { $($variant:ident),+ }) => {
        impl From<$domain> for $view {
            fn from(it: $domain) -> $view {
                match it { $($domain::$variant => $view::$variant),+ }
            }
        }
        impl From<$view> for $domain {
            fn from(it: $view) -> $domain {
                match it { $($view::$variant => $domain::$variant),+ }
            }
        }
    };
}
pub(super) use same;

same!(DecisionView = PolicyDecision { Allow, Ask, Deny });
same!(PolicyScopeView = PolicyScope { Global, Project, Chat });
same!(TransportView = Transport { InProcess, Stdio, StreamableHttp });
same!(CapabilityView = Capability { Read, Write, Delete });
