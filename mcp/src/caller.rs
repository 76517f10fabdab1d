//! Who calls: an identity that the transport sets, never an argument.

use scripta_events::domain::{Actor, BranchId, ChatId, ProjectId, RunId, Sender};

/// Whoever makes a call, as the transport authenticated them.
///
/// A transport puts it into a request's extensions; a request without one comes from a visitor,
/// who sees no tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    id: String,
    actor: Actor,
    sender: Sender,
    role: Role,
    run: Option<RunScope>,
}

/// What a caller may do. Each role may do what the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads everything, changes nothing.
    Reader,
    /// Changes projects, chats and runs, too.
    User,
    /// Changes settings and rights, too.
    Admin,
}

/// The run that a call comes from: what its omitted ids mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunScope {
    /// The project of the chat.
    pub project: ProjectId,
    /// The chat of the branch.
    pub chat: ChatId,
    /// The branch whose turn the run is.
    pub branch: BranchId,
    /// The run.
    pub run: RunId,
}

impl Caller {
    /// The person at this machine, who may do everything.
    pub fn person() -> Caller {
        Caller {
            id: "user".to_owned(),
            actor: Actor::User,
            sender: Sender::User,
            role: Role::Admin,
            run: None,
        }
    }

    /// Whoever holds an API key. `id` is the key's public id, never its secret.
    pub fn key(id: &str, role: Role) -> Caller {
        Caller {
            id: format!("key:{id}"),
            actor: Actor::Key { id: id.to_owned() },
            sender: Sender::Key { id: id.to_owned() },
            role,
            run: None,
        }
    }

    /// A run, speaking from its branch.
    pub fn run(scope: RunScope) -> Caller {
        Caller {
            id: format!("run:{}", scope.run),
            actor: Actor::Run { run: scope.run },
            sender: Sender::Branch { chat: scope.chat, branch: scope.branch },
            role: Role::User,
            run: Some(scope),
        }
    }

    /// A name that is unique among callers: `user`, `key:…` or `run:…`. It is a part of every
    /// fingerprint, so two callers can't take each other's operation ids for repeats.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who the events that this caller causes name as their cause.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Who the messages that this caller submits name as their sender.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// What the caller may do.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The run that the call comes from, if it comes from one.
    pub fn scope(&self) -> Option<RunScope> {
        self.run
    }

    /// Whether the caller may change projects, chats and runs.
    pub fn may_change(&self) -> bool {
        self.role >= Role::User
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_changes_nothing_and_the_person_everything() {
        assert!(!Caller::key("k1", Role::Reader).may_change());
        assert!(Caller::key("k1", Role::User).may_change());
        assert!(Caller::person().may_change());
    }

    #[test]
    fn callers_have_names_of_their_own() {
        assert_ne!(Caller::person().id(), Caller::key("user", Role::User).id());
    }
}
