//! The thin actor around an aggregate: one mailbox, one command after the other.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use actix::prelude::*;

use scripta_events::Revision;

use crate::engine::Engine;
use crate::execute::{Order, execute};
use crate::replica::{Latest, Replica};
use crate::{Aggregate, Done, ExecuteError, LoadError};

/// Carry a command out.
pub(crate) struct Execute<A: Aggregate>(pub(crate) Arc<Order<A>>);

/// Tell the present state and the stream's revision; `None` for an instance without events.
pub(crate) struct GetState<A: Aggregate>(pub(crate) PhantomData<fn() -> A>);

/// Stop: the directory has forgotten this actor already.
struct Leave;

pub(crate) struct AggregateActor<A: Aggregate> {
    engine: Arc<Engine>,
    replica: Replica<A>,
    latest: Arc<Latest<A>>,
    used: Instant,
}

impl<A: Aggregate> AggregateActor<A> {
    /// Starts one on an arbiter.
    pub(crate) fn launch(
        engine: Arc<Engine>,
        id: A::Id,
        latest: Arc<Latest<A>>,
        arbiter: &ArbiterHandle,
    ) -> Addr<Self> {
        Self::start_in_arbiter(arbiter, move |_| AggregateActor {
            engine,
            replica: Replica::new(id),
            latest,
            used: Instant::now(),
        })
    }

    /// Leaves memory when it was idle for long enough and nobody waits for it.
    fn look_around(&mut self, context: &mut Context<Self>) {
        let idle_after = self.engine.options.idle_after;
        match idle_after.checked_sub(self.used.elapsed()) {
            Some(rest) if !rest.is_zero() => {
                context.run_later(rest, Self::look_around);
            }
            _ if self.engine.forget::<A>(self.replica.id(), &context.address()) => {
                context.notify(Leave);
            }
            _ => {
                context.run_later(idle_after, Self::look_around);
            }
        }
    }

    /// Takes the replica out for an exclusive piece of work; the actor takes nothing else from
    /// its mailbox until it is back.
    fn take(&mut self) -> (Arc<Engine>, Replica<A>) {
        let empty = Replica::new(self.replica.id());
        (self.engine.clone(), std::mem::replace(&mut self.replica, empty))
    }

    /// Idle from now on, and not since the work began: under load that would be longer ago than it
    /// may be idle, and every command but the first would find that its actor has left.
    fn put_back(&mut self, replica: Replica<A>) {
        self.latest.set(&replica);
        self.replica = replica;
        self.used = Instant::now();
    }
}

impl<A: Aggregate> Actor for AggregateActor<A> {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_later(self.engine.options.idle_after, Self::look_around);
    }
}

impl<A: Aggregate> Message for Execute<A> {
    type Result = Result<Done<A>, ExecuteError<A>>;
}

impl<A: Aggregate> Handler<Execute<A>> for AggregateActor<A> {
    type Result = AtomicResponse<Self, Result<Done<A>, ExecuteError<A>>>;

    fn handle(&mut self, Execute(order): Execute<A>, _: &mut Context<Self>) -> Self::Result {
        self.latest.clear();
        let (engine, mut replica) = self.take();
        let work = async move {
            let result = execute(&engine, &mut replica, &order).await;
            (replica, result)
        };
        let put_back = |(replica, result), actor: &mut Self, _: &mut Context<Self>| {
            actor.put_back(replica);
            result
        };
        AtomicResponse::new(Box::pin(work.into_actor(self).map(put_back)))
    }
}

impl<A: Aggregate> Message for GetState<A> {
    type Result = Result<Option<(Arc<A::State>, Revision)>, LoadError>;
}

impl<A: Aggregate> Handler<GetState<A>> for AggregateActor<A> {
    type Result = AtomicResponse<Self, Result<Option<(Arc<A::State>, Revision)>, LoadError>>;

    fn handle(&mut self, _: GetState<A>, _: &mut Context<Self>) -> Self::Result {
        let (engine, mut replica) = self.take();
        let work = async move {
            let result = replica.refresh(&*engine.log).await;
            let revision = replica.revision();
            let state = result.map(|()| replica.state().map(|state| (state.clone(), revision)));
            (replica, state)
        };
        let put_back = |(replica, state), actor: &mut Self, _: &mut Context<Self>| {
            actor.put_back(replica);
            state
        };
        AtomicResponse::new(Box::pin(work.into_actor(self).map(put_back)))
    }
}

impl Message for Leave {
    type Result = ();
}

impl<A: Aggregate> Handler<Leave> for AggregateActor<A> {
    type Result = ();

    fn handle(&mut self, _: Leave, context: &mut Context<Self>) {
        context.stop();
    }
}
