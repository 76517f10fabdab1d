//! Secrets: kept apart from the log, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use scripta_events::domain::ToolServerId;
use thiserror::Error;
use uuid::Uuid;

use crate::server::NewServerError;

/// Whose secret it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretName {
    /// What a connection authenticates with.
    Connection(Uuid),
    /// A header of a tool server's requests.
    Header(ToolServerId, String),
    /// A variable of a tool server's environment.
    Variable(ToolServerId, String),
}

/// A secret. `Debug` doesn't show it; [`reveal`](Secret::reveal) is the only way to its text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Where secrets are kept.
///
/// A change is there whole or not at all, and durable when `change` returns.
pub trait SecretStore: Send + Sync + 'static {
    /// Sets (`Some`) or removes (`None`) secrets, all of them at once. It may block.
    ///
    /// # Errors
    ///
    /// [`SecretError`], which says whether it was changed all the same.
    fn change(&self, changes: &[(SecretName, Option<Secret>)]) -> Result<(), SecretError>;

    /// The secret, if there is one. It doesn't block.
    fn get(&self, name: &SecretName) -> Option<Secret>;

    /// The names of all secrets that a tool server has here. It doesn't block.
    fn names(&self, server: ToolServerId) -> Vec<SecretName>;

    /// A digest under a key of the store, the same after a restart: it tells whether two secrets
    /// are the same, and nothing else about them.
    fn digest(&self, secret: &Secret) -> [u8; 32];
}

/// Why secrets could not be changed.
#[derive(Clone, Debug, Error)]
pub enum SecretError {
    /// It failed, and nothing has changed.
    #[error("the secret could not be stored ({reason}); nothing was changed, so try again")]
    Unchanged {
        /// What went wrong. It holds no secret.
        reason: String,
    },
    /// It has changed, and whether that outlives a power cut is not known.
    #[error("the secret was stored, but may be gone after a power cut ({reason}); set it again")]
    NotDurable {
        /// What went wrong. It holds no secret.
        reason: String,
    },
}

/// The secrets after these changes.
pub fn apply_to(
    secrets: &mut BTreeMap<SecretName, Secret>,
    changes: &[(SecretName, Option<Secret>)],
) {
    for (name, secret) in changes {
        match secret {
            Some(secret) => secrets.insert(name.clone(), secret.clone()),
            None => secrets.remove(name),
        };
    }
}

/// Secrets that end with the process, for tests and for programs that keep none.
pub struct MemorySecrets {
    key: [u8; 32],
    secrets: Mutex<BTreeMap<SecretName, Secret>>,
}

/// The store, and the order of changes to it.
pub(crate) struct Secrets {
    pub(crate) store: Arc<dyn SecretStore>,
    /// Held from the look at the log to the last write, so that a secret and the fact about it
    /// are those of one call.
    pub(crate) gate: tokio::sync::Mutex<()>,
}

impl SecretName {
    /// The tool server that it is of; `None` for a connection's.
    pub fn server(&self) -> Option<ToolServerId> {
        match self {
            SecretName::Connection(_) => None,
            SecretName::Header(server, _) | SecretName::Variable(server, _) => Some(*server),
        }
    }
}

impl Secret {
    /// A secret of this text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl MemorySecrets {
    /// A store without secrets, with a key of its own.
    ///
    /// # Errors
    ///
    /// [`NewServerError`], if the operating system has no randomness to give.
    pub fn new() -> Result<MemorySecrets, NewServerError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(NewServerError::Randomness)?;
        Ok(MemorySecrets { key, secrets: Mutex::default() })
    }
}

impl SecretStore for MemorySecrets {
    fn change(&self, changes: &[(SecretName, Option<Secret>)]) -> Result<(), SecretError> {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        apply_to(&mut secrets, changes);
        Ok(())
    }

    fn get(&self, name: &SecretName) -> Option<Secret> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.get(name).cloned()
    }

    fn names(&self, server: ToolServerId) -> Vec<SecretName> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.keys().filter(|name| name.server() == Some(server)).cloned().collect()
    }

    fn digest(&self, secret: &Secret) -> [u8; 32] {
        *blake3::keyed_hash(&self.key, secret.reveal().as_bytes()).as_bytes()
    }
}

impl Secrets {
    pub(crate) fn new(store: Arc<dyn SecretStore>) -> Secrets {
        Secrets { store, gate: tokio::sync::Mutex::default() }
    }

    /// Changes secrets on a thread that may block.
    pub(crate) async fn change(
        &self,
        changes: Vec<(SecretName, Option<Secret>)>,
    ) -> Result<(), SecretError> {
        if changes.is_empty() {
            return Ok(());
        }
        let store = Arc::clone(&self.store);
        let changed = tokio::task::spawn_blocking(move || store.change(&changes)).await;
        changed.unwrap_or_else(|error| Err(SecretError::Unchanged { reason: error.to_string() }))
    }
}
