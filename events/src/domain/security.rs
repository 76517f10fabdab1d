//! Who may do what: the security documents of the workspace, of projects and of chats, which have
//! one shape, and the facts that change them.

use serde::{Deserialize, Serialize};

use super::{GrantId, ToolServerId};
use crate::codec::Payload;

/// What one of the three scopes says: which servers, which tools, which directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Security {
    /// Which tool servers it uses.
    pub servers: Vec<ServerBinding>,
    /// What is decided about tools; one policy a tool.
    pub policies: Vec<ToolPolicy>,
    /// Which directories may be used, and how.
    pub grants: Vec<DirectoryGrant>,
}

/// That a project or chat uses a server, or doesn't.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerBinding {
    /// The server.
    pub server: ToolServerId,
    /// Whether its tools are there.
    pub enabled: bool,
    /// How the server was spoken to when it was bound.
    pub transport: Transport,
}

/// How a tool server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transport {
    /// Within this process.
    InProcess,
    /// A process of its own, over its standard input and output.
    Stdio,
    /// HTTP.
    StreamableHttp,
}

/// What is decided about calls of one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPolicy {
    /// The server that has the tool.
    pub server: ToolServerId,
    /// The tool's name there.
    pub tool: String,
    /// What holds where no rule matches.
    pub decision: PolicyDecision,
    /// What holds for some arguments; the first rule that matches decides.
    pub rules: Vec<PolicyRule>,
    /// How long a call may say nothing, in milliseconds; `None` for the limit of all.
    pub silence_timeout_ms: Option<u64>,
    /// The most calls of the tool in one run (inclusive); `None` for the limit of all.
    pub max_calls_per_run: Option<u32>,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PolicyDecision {
    /// It is made.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Deny,
}

/// A decision for calls whose argument is of some kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRule {
    /// The argument, at the top level.
    pub argument: String,
    /// What it has to be.
    pub matches: RuleMatch,
    /// What becomes of such a call.
    pub decision: PolicyDecision,
}

/// What an argument has to be for a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleMatch {
    /// One of these texts.
    OneOf(Vec<String>),
    /// An absolute path of this folder, or of what is in it.
    Under(String),
}

/// That files of a directory may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryGrant {
    /// Its id.
    pub id: GrantId,
    /// What a person calls it.
    pub name: String,
    /// The directory, absolute.
    pub path: String,
    /// What may be done there, in the order of [`Capability`].
    pub capabilities: Vec<Capability>,
}

/// What may be done in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Capability {
    /// Look at files.
    Read,
    /// Make and change files.
    Write,
    /// Delete files.
    Delete,
}

/// The security document was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecuritySet {
    /// The new document, whole.
    pub security: Security,
}

/// A tool's policy was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPolicySet {
    /// The policy, which takes the place of the tool's former one.
    pub policy: ToolPolicy,
    /// How the server is spoken to, where setting the policy binds it.
    pub binds: Option<Transport>,
}

/// A directory was granted. A grant of the same id gives way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryGrantAdded {
    /// The grant.
    pub grant: DirectoryGrant,
}

/// A grant was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryGrantRemoved {
    /// The grant.
    pub grant: GrantId,
}

impl Payload for SecuritySet {
    const VERSION: u8 = 1;
}
impl Payload for ToolPolicySet {
    const VERSION: u8 = 1;
}
impl Payload for DirectoryGrantAdded {
    const VERSION: u8 = 1;
}
impl Payload for DirectoryGrantRemoved {
    const VERSION: u8 = 1;
}

/// A security document with its revision: what the facts above add up to.
///
/// It is folded in one place for those who decide on it and those who show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecurityDocument {
    /// 0 until it is first set, one more with each change.
    pub revision: u64,
    /// What it says.
    pub security: Security,
}

/// One of the facts that change a security document, of whichever scope.
#[derive(Clone, Copy, Debug)]
pub enum SecurityFact<'a> {
    /// It was replaced.
    Set(&'a SecuritySet),
    /// A policy was set.
    Policy(&'a ToolPolicySet),
    /// A directory was granted.
    GrantAdded(&'a DirectoryGrantAdded),
    /// A grant was taken back.
    GrantRemoved(&'a DirectoryGrantRemoved),
}

impl SecurityDocument {
    /// Folds one fact in.
    pub fn apply(&mut self, fact: SecurityFact<'_>) {
        match fact {
            SecurityFact::Set(set) => self.set(set),
            SecurityFact::Policy(set) => self.set_policy(set),
            SecurityFact::GrantAdded(added) => self.add_grant(added),
            SecurityFact::GrantRemoved(removed) => self.remove_grant(removed),
        }
    }

    /// It was replaced.
    pub fn set(&mut self, set: &SecuritySet) {
        self.security = set.security.clone();
        self.revision += 1;
    }

    /// A policy was set.
    pub fn set_policy(&mut self, set: &ToolPolicySet) {
        let Security { servers, policies, .. } = &mut self.security;
        let policy = &set.policy;
        if let Some(transport) = set.binds
            && !servers.iter().any(|bound| bound.server == policy.server)
        {
            servers.push(ServerBinding { server: policy.server, enabled: true, transport });
        }
        let same = |it: &&mut ToolPolicy| it.server == policy.server && it.tool == policy.tool;
        match policies.iter_mut().find(same) {
            Some(former) => *former = policy.clone(),
            None => policies.push(policy.clone()),
        }
        self.revision += 1;
    }

    /// A directory was granted.
    pub fn add_grant(&mut self, added: &DirectoryGrantAdded) {
        let grants = &mut self.security.grants;
        match grants.iter_mut().find(|it| it.id == added.grant.id) {
            Some(former) => *former = added.grant.clone(),
            None => grants.push(added.grant.clone()),
        }
        self.revision += 1;
    }

    /// A grant was taken back.
    pub fn remove_grant(&mut self, removed: &DirectoryGrantRemoved) {
        self.security.grants.retain(|grant| grant.id != removed.grant);
        self.revision += 1;
    }
}

impl Security {
    /// The policy of a tool, if there is one.
    pub fn policy(&self, server: ToolServerId, tool: &str) -> Option<&ToolPolicy> {
        self.policies.iter().find(|policy| policy.server == server && policy.tool == tool)
    }

    /// The directories that it lets be read.
    pub fn readable(&self) -> impl Iterator<Item = String> {
        let grants = self.grants.iter().filter(|it| it.capabilities.contains(&Capability::Read));
        grants.map(|grant| grant.path.clone())
    }

    /// What is said about a server, if anything is.
    pub fn binding(&self, server: ToolServerId) -> Option<&ServerBinding> {
        self.servers.iter().find(|binding| binding.server == server)
    }
}
