//! Setting the policy of one tool.

use std::path::Path;

use scripta_events::domain::{PolicyRule, RuleMatch, ToolPolicy, ToolPolicySet};

use super::set::{MAX_POLICIES, server};
use super::{NewPolicy, Scope, SecurityEvent};
use crate::Refusal;
use crate::names::{self, MAX_NAME_CHARS};

/// The most rules of a policy (inclusive): they are looked through for each call.
pub const MAX_RULES: usize = 64;

/// The most values of a rule (inclusive): operations, not data.
const MAX_RULE_VALUES: usize = 256;

/// The shortest and the longest silence of a call that can be allowed, in milliseconds
/// (inclusive): a call ends after half an hour, whatever it says.
const SILENCE_MS: std::ops::RangeInclusive<u64> = 1_000..=30 * 60 * 1_000;

/// The policy that holds already is nothing to change.
pub(super) fn decide(
    scope: &Scope<'_>,
    wanted: &NewPolicy,
) -> Result<Option<SecurityEvent>, Refusal> {
    let policy = resolve(scope, "server", wanted)?;
    let security = &scope.document.security;
    let former = security.policy(policy.server, &policy.tool);
    let bound = !scope.binds || security.binding(policy.server).is_some();
    if former == Some(&policy) && bound {
        return Ok(None);
    }
    if former.is_none() && security.policies.len() >= MAX_POLICIES {
        return Err(Refusal::Full {
            what: "the security document",
            limit: MAX_POLICIES as u64,
            unit: "policies",
            instead: "replace it without those that are not used",
        });
    }
    let transport = scope.workspace.servers.get(&policy.server).map(|it| it.value.transport);
    let binds = transport.filter(|_| !bound);
    Ok(Some(SecurityEvent::Policy(ToolPolicySet { policy, binds })))
}

/// The policy with its server by id. `field` is where a caller named the server.
pub(super) fn resolve(
    scope: &Scope<'_>,
    field: &'static str,
    wanted: &NewPolicy,
) -> Result<ToolPolicy, Refusal> {
    let server = server(scope, field, &wanted.server)?.id;
    names::check("tool", &wanted.tool, MAX_NAME_CHARS)?;
    check_limits(wanted.silence_timeout_ms, wanted.max_calls_per_run)?;
    if wanted.rules.len() > MAX_RULES {
        let count = wanted.rules.len();
        return invalid(format!("has {count} entries; at most {MAX_RULES} are allowed"));
    }
    wanted.rules.iter().try_for_each(check_rule)?;
    Ok(ToolPolicy {
        server,
        tool: wanted.tool.clone(),
        decision: wanted.decision,
        rules: wanted.rules.clone(),
        silence_timeout_ms: wanted.silence_timeout_ms,
        max_calls_per_run: wanted.max_calls_per_run,
    })
}

/// Checks the limits of calls, of one tool or of all.
pub(crate) fn check_limits(
    silence_timeout_ms: Option<u64>,
    max_calls_per_run: Option<u32>,
) -> Result<(), Refusal> {
    if silence_timeout_ms.is_some_and(|it| !SILENCE_MS.contains(&it)) {
        let problem = "must be from 1,000 to 1,800,000 milliseconds".to_owned();
        return Err(Refusal::Invalid { field: "silenceTimeoutMs", problem });
    }
    if max_calls_per_run == Some(0) {
        let problem = "must be at least 1; Deny is for a tool that may not be called".to_owned();
        return Err(Refusal::Invalid { field: "maxCallsPerRun", problem });
    }
    Ok(())
}

fn check_rule(rule: &PolicyRule) -> Result<(), Refusal> {
    names::check("policy.rules", &rule.argument, MAX_NAME_CHARS)?;
    match &rule.matches {
        RuleMatch::OneOf(values) if values.is_empty() || values.len() > MAX_RULE_VALUES => {
            invalid(format!("has an `equals` that needs 1 to {MAX_RULE_VALUES} values"))
        }
        RuleMatch::Under(path) if !Path::new(path).is_absolute() => {
            invalid(format!("has the relative path '{path}'; give absolute paths"))
        }
        RuleMatch::OneOf(_) | RuleMatch::Under(_) => Ok(()),
    }
}

fn invalid<T>(problem: String) -> Result<T, Refusal> {
    Err(Refusal::Invalid { field: "policy.rules", problem })
}
