//! Telling a client that what it subscribed to has changed.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use scripta_events::domain::{BRANCH, CHAT, MEMORY, PROJECT};
use scripta_events::log::{EventLog, Filter, Recorded};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Address;

/// The most addresses that one connection may watch (inclusive): what a person has open.
pub(crate) const MAX_WATCHED: usize = 100;

/// How long changes are gathered before they are told: a turn makes many at once.
const GATHERING: Duration = Duration::from_millis(100);

/// What the session of a client of the older protocol watches, until it ends.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<Address, DropGuard>>);

impl Subscriptions {
    /// Begins to watch, until the token is cancelled; `None` if it is watched already.
    pub(crate) fn begin(&self, address: Address) -> Result<Option<CancellationToken>, TooMany> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.contains_key(&address) {
            return Ok(None);
        }
        if watched.len() >= MAX_WATCHED {
            return Err(TooMany);
        }
        let token = CancellationToken::new();
        watched.insert(address, token.clone().drop_guard());
        Ok(Some(token))
    }

    pub(crate) fn end(&self, address: Address) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
    }
}

/// [`MAX_WATCHED`] are watched already.
#[derive(Debug)]
pub(crate) struct TooMany;

/// Calls `tell` with each address that has changed, from the moment of the call on, until it says
/// that nobody listens any more.
pub(crate) fn follow<T, F>(
    log: &Arc<dyn EventLog>,
    addresses: Vec<Address>,
    tell: T,
) -> impl Future<Output = ()> + Send + use<T, F>
where
    T: Fn(Address) -> F + Send,
    F: Future<Output = bool> + Send,
{
    let head = *log.head().borrow();
    let wanted = |category| addresses.iter().any(|it| it.categories().contains(&category));
    let categories = [PROJECT, CHAT, BRANCH, MEMORY].into_iter().filter(|it| wanted(*it)).collect();
    let filter = Filter { categories: Some(categories), ..Filter::default() };
    let mut events = log.read_all(head, filter);
    async move {
        while let Some(event) = events.next().await {
            let mut changed = HashSet::new();
            let mut next = Some(event);
            let told = tokio::time::sleep(GATHERING);
            tokio::pin!(told);
            loop {
                match next {
                    Some(Ok(event)) => changed.extend(addresses_of(&addresses, &event)),
                    Some(Err(error)) => return tracing::warn!(%error, "a subscription ended"),
                    None => return,
                }
                tokio::select! {
                    biased;
                    () = &mut told => break,
                    more = events.next() => next = more,
                }
            }
            for address in changed {
                if !tell(address).await {
                    return;
                }
            }
        }
    }
}

fn addresses_of(addresses: &[Address], event: &Recorded) -> Vec<Address> {
    let changed = |address: &Address| match address.is_changed_by(event) {
        Ok(changed) => changed,
        Err(error) => {
            tracing::warn!(%error, "an event that a subscription waits for can't be read");
            false
        }
    };
    addresses.iter().copied().filter(changed).collect()
}
