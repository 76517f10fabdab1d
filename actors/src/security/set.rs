//! Replacing a security document.

use scripta_events::domain::{Security, SecuritySet, ServerBinding, ToolServer};

use super::{NewSecurity, Scope, SecurityEvent, add_grant, set_policy};
use crate::{Ids, Refusal};

/// The most server bindings of a document (inclusive): there are no more servers.
pub const MAX_BINDINGS: usize = 256;

/// The most policies of a document (inclusive): they are looked through for each tool call.
pub const MAX_POLICIES: usize = 2_048;

/// The most grants of a document (inclusive): each is opened for a run's file tools.
pub const MAX_GRANTS: usize = 256;

/// What the document says already is nothing to change, unless it was never set.
pub(super) fn decide(
    scope: &Scope<'_>,
    wanted: &NewSecurity,
    ids: &mut Ids,
) -> Result<Option<SecurityEvent>, Refusal> {
    check_counts(wanted)?;
    let mut security = Security::default();
    for binding in &wanted.servers {
        let server = server(scope, "security.servers", &binding.server)?;
        if security.binding(server.id).is_some() {
            return twice("security.servers", &server.name);
        }
        let (id, transport) = (server.id, server.transport);
        security.servers.push(ServerBinding { server: id, enabled: binding.enabled, transport });
    }
    for policy in &wanted.policies {
        let policy = set_policy::resolve(scope, "security.policies", policy)?;
        if security.policy(policy.server, &policy.tool).is_some() {
            return twice("security.policies", &policy.tool);
        }
        if scope.binds && security.binding(policy.server).is_none() {
            let server = scope.workspace.servers.get(&policy.server);
            security.servers.extend(server.map(|server| ServerBinding {
                server: policy.server,
                enabled: true,
                transport: server.value.transport,
            }));
        }
        security.policies.push(policy);
    }
    for grant in &wanted.grants {
        let grant = add_grant::resolve(scope, "security.grants", grant, ids)?;
        let taken = |it: &scripta_events::domain::DirectoryGrant| {
            it.path == grant.path || it.id == grant.id
        };
        if security.grants.iter().any(taken) {
            return twice("security.grants", &grant.path);
        }
        security.grants.push(grant);
    }
    if scope.document.security == security && scope.document.revision > 0 {
        return Ok(None);
    }
    Ok(Some(SecurityEvent::Set(SecuritySet { security })))
}

fn check_counts(wanted: &NewSecurity) -> Result<(), Refusal> {
    let counts = [
        ("security.servers", wanted.servers.len(), MAX_BINDINGS),
        ("security.policies", wanted.policies.len(), MAX_POLICIES),
        ("security.grants", wanted.grants.len(), MAX_GRANTS),
    ];
    for (field, count, limit) in counts {
        if count > limit {
            let problem = format!("has {count} entries; at most {limit} are allowed");
            return Err(Refusal::Invalid { field, problem });
        }
    }
    Ok(())
}

/// The server of this name or id.
pub(super) fn server<'a>(
    scope: &Scope<'a>,
    field: &'static str,
    named: &str,
) -> Result<&'a ToolServer, Refusal> {
    scope.workspace.server(named).map(|document| &document.value).ok_or_else(|| {
        let servers = scope.workspace.servers.values().map(|server| server.value.name.as_str());
        let names: Vec<_> = servers.collect();
        let problem = format!("names '{named}', which is no tool server; {}", names.join(", "));
        Refusal::Invalid { field, problem: problem + " are there" }
    })
}

fn twice<T>(field: &'static str, what: &str) -> Result<T, Refusal> {
    let problem = format!("has '{what}' twice; give it once");
    Err(Refusal::Invalid { field, problem })
}
