//! What holds for a tool: the policy of the narrowest scope that has one.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use scripta_events::domain::{
    PolicyDecision, RuleMatch, SecurityDocument, ToolPolicy, ToolServerId, WorkspaceDocuments,
};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The three documents that decide about tools.
#[derive(Clone, Copy, Debug)]
pub struct Policies<'a> {
    /// The workspace, with the servers and what holds for all.
    pub workspace: &'a WorkspaceDocuments,
    /// The project's document.
    pub project: Option<&'a SecurityDocument>,
    /// The chat's document, and the chat's revision, which is its own.
    pub chat: Option<(&'a SecurityDocument, u64)>,
}

/// Whose document a policy stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyScope {
    /// The workspace's: it holds for all.
    Global,
    /// The project's.
    Project,
    /// The chat's.
    Chat,
}

/// A policy that holds, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effective<'a> {
    /// The policy.
    pub policy: &'a ToolPolicy,
    /// Whose document it stands in.
    pub scope: PolicyScope,
    /// That document's revision.
    pub revision: u64,
}

impl<'a> Policies<'a> {
    /// The policy that holds for a tool; `None` where nobody has said anything.
    pub fn effective(&self, server: ToolServerId, tool: &str) -> Option<Effective<'a>> {
        self.layers().find_map(|(scope, document, revision)| {
            let policy = document.security.policy(server, tool)?;
            Some(Effective { policy, scope, revision })
        })
    }

    /// All policies that hold, by server and tool.
    pub fn all(&self) -> Vec<Effective<'a>> {
        let mut all: Vec<Effective<'a>> = Vec::new();
        for (scope, document, revision) in self.layers() {
            for policy in &document.security.policies {
                let same = |it: &Effective<'_>| {
                    it.policy.server == policy.server && it.policy.tool == policy.tool
                };
                if !all.iter().any(same) {
                    all.push(Effective { policy, scope, revision });
                }
            }
        }
        all.sort_by(|one, two| {
            (one.policy.server, &one.policy.tool).cmp(&(two.policy.server, &two.policy.tool))
        });
        all
    }

    /// Whether a server's tools are there: it is enabled, and no document says that it isn't used.
    pub fn is_used(&self, server: ToolServerId) -> bool {
        let enabled = self.workspace.servers.get(&server).is_some_and(|it| it.value.enabled);
        let disabled = self.layers().any(|(_, document, _)| {
            document.security.binding(server).is_some_and(|binding| !binding.enabled)
        });
        enabled && !disabled
    }

    /// The documents, the narrowest scope first.
    fn layers(&self) -> impl Iterator<Item = (PolicyScope, &'a SecurityDocument, u64)> {
        let chat = self.chat.map(|(document, revision)| (PolicyScope::Chat, document, revision));
        let project =
            self.project.map(|document| (PolicyScope::Project, document, document.revision));
        let global = &self.workspace.security;
        let global = (PolicyScope::Global, global, global.revision);
        chat.into_iter().chain(project).chain([global])
    }
}

impl Effective<'_> {
    /// What becomes of a call with these arguments: what the first rule that matches says, or the
    /// policy itself.
    pub fn decision(&self, arguments: &Map<String, Value>) -> PolicyDecision {
        let matching = self.policy.rules.iter().find(|rule| {
            let argument = arguments.get(&rule.argument).and_then(Value::as_str);
            argument.is_some_and(|text| matches(&rule.matches, text))
        });
        matching.map_or(self.policy.decision, |rule| rule.decision)
    }

    /// Whether it denies every call, whatever the arguments are.
    pub fn denies_all(&self) -> bool {
        self.policy.decision == PolicyDecision::Deny
            && self.policy.rules.iter().all(|rule| rule.decision == PolicyDecision::Deny)
    }
}

impl fmt::Display for Effective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Effective { policy, scope, revision } = self;
        write!(f, "the policy of {} {scope} (revision {revision})", policy.tool)
    }
}

impl fmt::Display for PolicyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PolicyScope::Global => "for all",
            PolicyScope::Project => "of this project",
            PolicyScope::Chat => "of this chat",
        })
    }
}

fn matches(wanted: &RuleMatch, argument: &str) -> bool {
    match wanted {
        RuleMatch::OneOf(values) => {
            values.iter().any(|value| value == argument || is_same_id(value, argument))
        }
        RuleMatch::Under(folder) => {
            let (path, folder) = (plain(argument), plain(folder));
            path.zip(folder).is_some_and(|(path, folder)| path.starts_with(folder))
        }
    }
}

/// Whether both are one id, which has several spellings.
fn is_same_id(one: &str, other: &str) -> bool {
    let ids = Uuid::parse_str(one).ok().zip(Uuid::parse_str(other).ok());
    ids.is_some_and(|(one, other)| one == other)
}

/// An absolute path without detours, by its words alone; `None` for a relative one. Where links
/// lead is for those to check who open the file.
fn plain(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return None;
    }
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use scripta_events::domain::{PolicyRule, ServerBinding, Transport};
    use serde_json::json;

    use super::*;

    fn policy(tool: &str, decision: PolicyDecision, rules: Vec<PolicyRule>) -> ToolPolicy {
        ToolPolicy {
            server: ToolServerId::APP,
            tool: tool.to_owned(),
            decision,
            rules,
            silence_timeout_ms: None,
            max_calls_per_run: None,
        }
    }

    fn document(revision: u64, policies: Vec<ToolPolicy>) -> SecurityDocument {
        let mut document = SecurityDocument { revision, ..SecurityDocument::default() };
        document.security.policies = policies;
        document
    }

    #[test]
    fn the_narrowest_scope_decides_and_says_where_it_stands() {
        use PolicyDecision::{Allow, Ask, Deny};
        let global =
            [policy("a", Deny, vec![]), policy("b", Ask, vec![]), policy("c", Ask, vec![])];
        let security = document(3, global.to_vec());
        let workspace = WorkspaceDocuments { security, ..WorkspaceDocuments::default() };
        let project = document(5, vec![policy("b", Deny, vec![]), policy("a", Ask, vec![])]);
        let chat = document(1, vec![policy("a", Allow, vec![])]);
        let policies =
            Policies { workspace: &workspace, project: Some(&project), chat: Some((&chat, 9)) };
        let of = |tool: &str| {
            let found = policies.effective(ToolServerId::APP, tool);
            found.map(|it| (it.policy.decision, it.scope, it.revision))
        };
        assert_eq!(of("a"), Some((Allow, PolicyScope::Chat, 9)));
        assert_eq!(of("b"), Some((Deny, PolicyScope::Project, 5)));
        assert_eq!(of("c"), Some((Ask, PolicyScope::Global, 3)));
        assert_eq!(of("d"), None);
        let all: Vec<_> = policies.all().iter().map(|it| it.policy.tool.clone()).collect();
        assert_eq!(all, ["a", "b", "c"]);
        let told = policies.effective(ToolServerId::APP, "b").unwrap().to_string();
        assert_eq!(told, "the policy of b of this project (revision 5)");
    }

    #[test]
    fn rules_look_at_arguments_and_paths_take_no_detour() {
        use PolicyDecision::{Allow, Ask, Deny};
        let rule = |argument: &str, matches, decision| PolicyRule {
            argument: argument.to_owned(),
            matches,
            decision,
        };
        let rules = vec![
            rule("operation", RuleMatch::OneOf(vec!["Delete".to_owned()]), Deny),
            rule("path", RuleMatch::Under("/srv/secret".to_owned()), Deny),
            rule("path", RuleMatch::Under("/srv".to_owned()), Allow),
        ];
        let policy = policy("files", Ask, rules);
        let effective = Effective { policy: &policy, scope: PolicyScope::Global, revision: 1 };
        for (arguments, expected) in [
            (json!({}), Ask),
            (json!({ "operation": "Delete" }), Deny),
            (json!({ "operation": ["Delete"] }), Ask),
            (json!({ "path": "/srv/a" }), Allow),
            (json!({ "path": "/srv" }), Allow),
            (json!({ "path": "/srvx/a" }), Ask),
            (json!({ "path": "/srv/../etc/passwd" }), Ask),
            (json!({ "path": "/srv/./b/../secret/x" }), Deny),
            (json!({ "path": "//srv/a" }), Allow),
            (json!({ "path": "srv/a" }), Ask),
            (json!({ "path": 7 }), Ask),
        ] {
            let decided = effective.decision(arguments.as_object().unwrap());
            assert_eq!(decided, expected, "{arguments}");
        }
    }

    #[test]
    fn a_server_is_used_unless_some_document_says_that_it_is_not() {
        let mut workspace = WorkspaceDocuments::default();
        let (server, transport) = (ToolServerId::APP, Transport::InProcess);
        let mut project = SecurityDocument::default();
        let used = |workspace: &WorkspaceDocuments, project: &SecurityDocument| {
            Policies { workspace, project: Some(project), chat: None }.is_used(server)
        };
        assert!(used(&workspace, &project));
        project.security.servers.push(ServerBinding { server, enabled: true, transport });
        assert!(used(&workspace, &project));
        project.security.servers.pop();
        project.security.servers.push(ServerBinding { server, enabled: false, transport });
        assert!(!used(&workspace, &project));
        workspace.servers.get_mut(&server).unwrap().value.enabled = false;
        assert!(!used(&workspace, &SecurityDocument::default()));
    }
}
