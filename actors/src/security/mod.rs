//! Security documents: bindings of tool servers, tool policies, directory grants. The workspace, a
//! project and a chat have one each, of one shape, and they are decided about here.

mod add_grant;
mod effective;
mod remove_grant;
mod set;
mod set_policy;

use scripta_events::domain::{
    Capability, DirectoryGrantAdded, DirectoryGrantRemoved, GrantId, PolicyDecision, PolicyRule,
    SecurityDocument, SecuritySet, ToolPolicySet, WorkspaceDocuments,
};

pub use effective::{Effective, Policies, PolicyScope};
pub use set::{MAX_BINDINGS, MAX_GRANTS, MAX_POLICIES};
pub use set_policy::MAX_RULES;
pub(crate) use set_policy::check_limits;

use crate::{Ids, Refusal};

/// What a security document can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecurityCommand {
    /// Replace it.
    Set {
        /// The new document, whole.
        security: NewSecurity,
        /// The document's revision as the caller knows it; 0 for one that was never set.
        expected_revision: u64,
    },
    /// Set the policy of one tool.
    SetPolicy {
        /// The policy.
        policy: NewPolicy,
    },
    /// Grant a directory.
    AddGrant {
        /// The grant.
        grant: NewGrant,
        /// The document's revision as the caller knows it.
        expected_revision: u64,
    },
    /// Take a grant back.
    RemoveGrant {
        /// Which.
        grant: GrantId,
        /// The document's revision as the caller knows it.
        expected_revision: u64,
    },
}

/// A security document as a caller gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSecurity {
    /// Which tool servers are used.
    pub servers: Vec<NewBinding>,
    /// What is decided about tools.
    pub policies: Vec<NewPolicy>,
    /// Which directories may be used.
    pub grants: Vec<NewGrant>,
}

/// That a server is used, or isn't, as a caller gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBinding {
    /// The server's name or id.
    pub server: String,
    /// Whether its tools are there.
    pub enabled: bool,
}

/// A tool's policy as a caller gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPolicy {
    /// The server's name or id.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
    /// What holds where no rule matches.
    pub decision: PolicyDecision,
    /// What holds for some arguments.
    pub rules: Vec<PolicyRule>,
    /// How long a call may say nothing, in milliseconds.
    pub silence_timeout_ms: Option<u64>,
    /// The most calls of the tool in one run (inclusive).
    pub max_calls_per_run: Option<u32>,
}

/// A grant as a caller gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGrant {
    /// Its id; `None` for a new one.
    pub id: Option<GrantId>,
    /// What a person calls it; `None` for the last part of its path.
    pub name: Option<String>,
    /// The directory, absolute. Any root is accepted.
    pub path: String,
    /// What may be done there: at least one.
    pub capabilities: Vec<Capability>,
}

/// The document that a command changes, and what it is decided by.
pub(crate) struct Scope<'a> {
    pub(crate) document: &'a SecurityDocument,
    /// Where the servers are.
    pub(crate) workspace: &'a WorkspaceDocuments,
    /// Whether a policy binds its server.
    pub(crate) binds: bool,
}

/// A change of a security document, of whichever scope.
#[derive(Debug)]
pub(crate) enum SecurityEvent {
    Set(SecuritySet),
    Policy(ToolPolicySet),
    GrantAdded(DirectoryGrantAdded),
    GrantRemoved(DirectoryGrantRemoved),
}

/// Decides; `None` where there is nothing to change.
pub(crate) fn decide(
    scope: &Scope<'_>,
    command: &SecurityCommand,
    ids: &mut Ids,
) -> Result<Option<SecurityEvent>, Refusal> {
    match command {
        SecurityCommand::Set { security, .. } => set::decide(scope, security, ids),
        SecurityCommand::SetPolicy { policy } => set_policy::decide(scope, policy),
        SecurityCommand::AddGrant { grant, .. } => add_grant::decide(scope, grant, ids),
        SecurityCommand::RemoveGrant { grant, .. } => remove_grant::decide(scope, *grant),
    }
}

impl SecurityCommand {
    /// The revision that it expects, if it names one.
    pub(crate) fn expected(&self) -> Option<u64> {
        match self {
            SecurityCommand::Set { expected_revision, .. }
            | SecurityCommand::AddGrant { expected_revision, .. }
            | SecurityCommand::RemoveGrant { expected_revision, .. } => Some(*expected_revision),
            SecurityCommand::SetPolicy { .. } => None,
        }
    }
}

impl SecurityEvent {
    /// The event of a set that has all four.
    pub(crate) fn into_event<E>(self) -> E
    where
        E: From<SecuritySet>
            + From<ToolPolicySet>
            + From<DirectoryGrantAdded>
            + From<DirectoryGrantRemoved>,
    {
        match self {
            SecurityEvent::Set(event) => event.into(),
            SecurityEvent::Policy(event) => event.into(),
            SecurityEvent::GrantAdded(event) => event.into(),
            SecurityEvent::GrantRemoved(event) => event.into(),
        }
    }
}
