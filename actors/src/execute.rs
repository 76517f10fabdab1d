//! One command, from the operation id to the effects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use scripta_events::codec::{CodecError, Event};
use scripta_events::domain::Meta;
use scripta_events::log::{Append, AppendError, Commit, Expectation, Receipt};
use scripta_events::{OperationId, Revision, StreamId};

use crate::engine::Engine;
use crate::replica::Replica;
use crate::{Aggregate, CommandMeta, Decision, Done, ExecuteError, Refusal, Write};

/// How often a command is decided again when others move its streams (inclusive): each time it
/// is tried, somebody else has succeeded; more than this is a loop somewhere.
const MAX_ATTEMPTS: u32 = 32;

/// A command on its way.
pub(crate) struct Order<A: Aggregate> {
    pub(crate) command: A::Command,
    pub(crate) meta: CommandMeta,
    /// The caller's operation id, or one that was made for this order: sent twice, it takes
    /// effect once.
    pub(crate) operation: OperationId,
    /// Whether it was taken up before.
    pub(crate) sent: AtomicBool,
}

impl<A: Aggregate> Order<A> {
    /// Takes it up. Whether it may have taken effect already: not the first time, where nobody else
    /// knows the operation.
    fn take_up(&self) -> bool {
        self.sent.swap(true, Ordering::Relaxed) || self.meta.operation.is_some()
    }
}

/// Carries a command out. `replica` is brought up to date on the way.
pub(crate) async fn execute<A: Aggregate>(
    engine: &Arc<Engine>,
    replica: &mut Replica<A>,
    order: &Order<A>,
) -> Result<Done<A>, ExecuteError<A>> {
    let log = &*engine.log;
    // 1. Receipt: an operation that took effect answers what it answered then.
    if order.take_up()
        && let Some(receipt) = log.receipt(order.operation).await?
    {
        return replay(engine, replica, order, receipt).await;
    }
    for attempt in 0..MAX_ATTEMPTS {
        // 2. Load: what others wrote, when there is reason to think so.
        let is_unseen = replica.revision() == Revision::NONE && !A::creates(&order.command);
        if attempt > 0 || is_unseen {
            replica.refresh(log).await?;
        }
        // 3. Expected revision, and 4. decide. A refusal is given from current state only.
        let decision = match decide(engine, replica, order).await {
            Ok(decision) => decision,
            Err(_) if !replica.is_current(log).await? => continue,
            Err(refused) => {
                // It may be refused for what it did itself, since its receipt was looked for.
                return match log.receipt(order.operation).await? {
                    Some(receipt) => replay(engine, replica, order, receipt).await,
                    None => Err(refused),
                };
            }
        };
        // 5. Append. The log arbitrates between the actors of a root.
        let receipt = match append(engine, replica, order, &decision).await? {
            Appended::Written(receipt) => receipt,
            Appended::Before(receipt) => return replay(engine, replica, order, receipt).await,
            Appended::Moved => continue,
        };
        // 6. Evolve.
        for event in &decision.events {
            replica.apply(event, receipt.time);
        }
        if let Some(state) = replica.state().filter(|_| !decision.events.is_empty()) {
            A::written(engine, state);
        }
        // 7. Effects: only now, after the commit.
        engine.perform(&receipt, &decision.effects);
        return done(replica, receipt);
    }
    Err(ExecuteError::Contended { attempts: MAX_ATTEMPTS })
}

/// Decides on a command from present state, and writes nothing: the state that it would change.
pub(crate) async fn rehearse<A: Aggregate>(
    engine: &Arc<Engine>,
    id: A::Id,
    command: A::Command,
) -> Result<Arc<A::State>, ExecuteError<A>> {
    let operation = OperationId::random();
    let (meta, sent) = (CommandMeta::system(), AtomicBool::new(false));
    let order = Order { command, meta, operation, sent };
    let mut replica = Replica::<A>::new(id);
    for _ in 0..MAX_ATTEMPTS {
        replica.refresh(&*engine.log).await?;
        match decide(engine, &replica, &order).await {
            Err(_) if !replica.is_current(&*engine.log).await? => continue,
            Err(refused) => return Err(refused),
            Ok(_) => {}
        }
        let nothing_there = Refusal::NotFound { what: A::NAME, id: A::stream(id).id };
        return Ok(replica.state().cloned().ok_or(nothing_there)?);
    }
    Err(ExecuteError::Contended { attempts: MAX_ATTEMPTS })
}

async fn decide<A: Aggregate>(
    engine: &Arc<Engine>,
    replica: &Replica<A>,
    order: &Order<A>,
) -> Result<Decision<A>, ExecuteError<A>> {
    let known = replica.state();
    let state = known.map(|state| &**state);
    let mut facts = A::gather(engine, replica.id(), state, &order.command).await?;
    let decided = A::decide(replica.id(), state, &order.command, &mut facts);
    // Nobody is asked to decide again about what is gone.
    if let Err(refusal @ Refusal::Gone { .. }) = decided {
        return Err(refusal.into());
    }
    if let (Some(state), Some(expected)) = (known, A::expected(&order.command))
        && let Some(revision) = A::document_revision(state, &order.command)
        && revision != expected
    {
        let (id, state) = (replica.id(), state.clone());
        return Err(ExecuteError::Conflict { id, expected, revision, state });
    }
    Ok(decided?)
}

/// The state right after the operation, and the receipt as one that is repeated.
async fn replay<A: Aggregate>(
    engine: &Arc<Engine>,
    replica: &mut Replica<A>,
    order: &Order<A>,
    receipt: Receipt,
) -> Result<Done<A>, ExecuteError<A>> {
    let operation = order.operation;
    let own = receipt
        .streams
        .iter()
        .find_map(|(stream, revision)| A::id_of(*stream).map(|id| (id, *revision)));
    let Some((id, revision)) = own.filter(|_| receipt.fingerprint == order.meta.fingerprint) else {
        return Err(ExecuteError::OperationReused { operation });
    };
    let receipt = Receipt { replayed: true, ..receipt };
    if id == replica.id() && revision == replica.revision() {
        return done(replica, receipt);
    }
    done(&Replica::as_of(id, revision, &*engine.log).await?, receipt)
}

fn done<A: Aggregate>(replica: &Replica<A>, receipt: Receipt) -> Result<Done<A>, ExecuteError<A>> {
    let (id, state) = (replica.id(), replica.state().cloned());
    let nothing_there = Refusal::NotFound { what: A::NAME, id: A::stream(id).id };
    Ok(Done { id, state: state.ok_or(nothing_there)?, receipt })
}

enum Appended {
    Written(Receipt),
    /// The operation had taken effect before.
    Before(Receipt),
    /// A stream is not where the decision saw it.
    Moved,
}

async fn append<A: Aggregate>(
    engine: &Arc<Engine>,
    replica: &Replica<A>,
    order: &Order<A>,
    decision: &Decision<A>,
) -> Result<Appended, ExecuteError<A>> {
    if decision.is_empty() && order.meta.operation.is_none() {
        // Nobody can ask for this operation again: it needs no receipt.
        if !replica.is_current(&*engine.log).await? {
            return Ok(Appended::Moved);
        }
        return Ok(Appended::Written(unwritten(engine, replica, order, decision)));
    }
    match engine.log.append(commit(replica, order, decision)?).await {
        Ok(receipt) if receipt.replayed => Ok(Appended::Before(receipt)),
        Ok(receipt) => Ok(Appended::Written(receipt)),
        Err(AppendError::Conflict { .. }) => Ok(Appended::Moved),
        Err(AppendError::OperationReused { operation }) => {
            Err(ExecuteError::OperationReused { operation })
        }
        Err(error) => Err(ExecuteError::Log(error)),
    }
}

/// What a commit's receipt would be, for a change that was not written.
fn unwritten<A: Aggregate>(
    engine: &Arc<Engine>,
    replica: &Replica<A>,
    order: &Order<A>,
    decision: &Decision<A>,
) -> Receipt {
    let named = decision.others.iter().filter_map(|write| match write {
        Write::Named { stream } => Some((*stream, Revision::NONE)),
        Write::Branch { .. } | Write::Run { .. } => None,
    });
    let own = (A::stream(replica.id()), replica.revision());
    Receipt {
        operation: order.operation,
        fingerprint: order.meta.fingerprint,
        time: scripta_events::Timestamp::now(),
        position: *engine.log.head().borrow(),
        events: 0,
        streams: std::iter::once(own).chain(named).collect(),
        replayed: false,
    }
}

fn commit<A: Aggregate>(
    replica: &Replica<A>,
    order: &Order<A>,
    decision: &Decision<A>,
) -> Result<Commit, CodecError> {
    let stream = A::stream(replica.id());
    let expected = match replica.revision() {
        Revision::NONE => Expectation::NoStream,
        revision => Expectation::Exactly(revision),
    };
    // The own stream stands in every receipt, also without events: a repeat is answered from it.
    let mut appends = vec![appended(stream, expected, &decision.events)?];
    for write in &decision.others {
        appends.push(match write {
            Write::Branch { key, expected, events } => {
                appended(key.branch.stream(key.chat), *expected, events)?
            }
            Write::Run { key, expected, events } => {
                appended(key.run.stream(key.chat), *expected, events)?
            }
            Write::Named { stream } => {
                Append { stream: *stream, expected: Expectation::Any, events: vec![] }
            }
        });
    }
    let meta = Meta {
        actor: order.meta.actor.clone(),
        correlation: order.meta.correlation,
        causation: None,
    };
    Ok(Commit {
        root: stream.root,
        operation: order.operation,
        fingerprint: order.meta.fingerprint,
        appends,
        checks: decision.checks.clone(),
        meta: meta.to_bytes()?,
    })
}

fn appended<E: Event>(
    stream: StreamId,
    expected: Expectation,
    events: &[E],
) -> Result<Append, CodecError> {
    let events = events.iter().map(Event::encode).collect::<Result<_, _>>()?;
    Ok(Append { stream, expected, events })
}
