//! Takes new connections from one listener, asks the quotas, and deals them to Processors in turn.
//!
//! Held back (no place, a rate, a full Processor) it keeps one accepted connection and lets the kernel's backlog fill. It must not know
//! frames.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::connection_queue::ConnectionQueue;
use super::connection_quotas::{Admission, ConnectionQuotas};
use super::request::ListenerContext;
use crate::env::{Connection, Event, Listener, Selector, SocketOptions, Step, Token};
use crate::marks::Mark;
use crate::types::{Instant, Now};
use crate::zoo::{self, Bug};

/// The only socket of an Acceptor's selector.
const LISTENER: Token = Token { index: 0, generation: 0 };
/// How long to wait when the process has no file descriptor left for another connection: no edge will tell of it.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

const TOO_FAST: &str = "the connection is held back; raise it, or look for a client that connects again and again";
const FULL: &str =
    "the connection waits until another ends; raise it, or have idle ones end sooner by connections.max.idle.ms";
const TOO_MANY_FROM_ADDRESS: &str = "the connection is closed; raise the number, or give the address one of its own in max.connections.per.ip.overrides";

/// One listener's Acceptor.
pub struct Acceptor<S: Selector> {
    context: Arc<ListenerContext>,
    selector: S,
    listener: S::Listener,
    events: Vec<Event>,
    processors: Vec<Arc<ConnectionQueue<S::Connection>>>,
    next_processor: usize,
    quotas: Arc<ConnectionQuotas>,
    options: SocketOptions,
    may_have_more: bool,
    retry_at: Option<Instant>,
    held: Option<Held<S::Connection>>,
}

/// The connection that is accepted and not yet handed over.
struct Held<C> {
    connection: C,
    peer: SocketAddr,
    not_before: Option<Instant>,
    /// The operator knows that it waits for a place.
    is_told: bool,
    is_admitted: bool,
}

impl<S: Selector> Acceptor<S> {
    /// An Acceptor for `listener`, which it registers with `selector`; `context` is what it is called.
    pub fn new(
        context: Arc<ListenerContext>,
        mut selector: S,
        mut listener: S::Listener,
        processors: Vec<Arc<ConnectionQueue<S::Connection>>>,
        quotas: Arc<ConnectionQuotas>,
        options: SocketOptions,
    ) -> io::Result<Acceptor<S>> {
        selector.register_listener(&mut listener, LISTENER)?;
        Ok(Acceptor {
            context,
            selector,
            listener,
            events: Vec::new(),
            processors,
            next_processor: 0,
            quotas,
            options,
            may_have_more: true,
            retry_at: None,
            held: None,
        })
    }

    /// Where it listens.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_address()
    }

    /// What it waits with, for a driver that must know who is ready.
    pub fn selector(&self) -> &S {
        &self.selector
    }

    /// Waits for readiness, for its driver.
    pub fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.selector.poll(&mut self.events, timeout)
    }

    /// Takes at most one connection on its way.
    pub fn step(&mut self, now: Now) -> Step {
        self.may_have_more |= self.events.drain(..).any(|event| event.token == LISTENER);
        if self.retry_at.is_some_and(|at| at <= now.instant) {
            self.retry_at = None;
            self.may_have_more = true;
            if let Err(error) = self.selector.rearm_listener(&mut self.listener, LISTENER) {
                tracing::warn!(%error, "cannot wait for new connections");
            }
        }
        if let Some(held) = self.held.take() {
            return self.pass_on(held, now);
        }
        if !self.may_have_more || self.retry_at.is_some() {
            return Step::Idle { until: self.retry_at };
        }
        self.accept(now)
    }

    fn accept(&mut self, now: Now) -> Step {
        match self.listener.accept() {
            Ok((connection, peer)) => {
                let throttled = self.quotas.record_arrival(self.context.index, now);
                if let Some((_, reached)) = throttled {
                    self.context.tell_of_limit(now.instant, peer, reached, TOO_FAST);
                }
                let not_before = throttled.map(|(until, _)| until);
                self.pass_on(Held { connection, peer, not_before, is_told: false, is_admitted: false }, now)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.may_have_more = false;
                Step::Idle { until: None }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {
                Mark::AcceptForNothing.reached();
                if zoo::is(Bug::AbortedAcceptEnds) {
                    self.may_have_more = false;
                    return Step::Idle { until: None };
                }
                Step::Worked
            }
            Err(error) => {
                Mark::NoDescriptorToAccept.reached();
                self.tell_of_refusal(&error, now);
                if zoo::is(Bug::AcceptNotRetried) {
                    self.may_have_more = false;
                    return Step::Idle { until: None };
                }
                let until = now.instant.after(ACCEPT_RETRY);
                self.retry_at = Some(until);
                Step::Idle { until: Some(until) }
            }
        }
    }

    /// Warns that connections wait in vain, or are closed at once, unless that was told just now: the next try is near.
    fn tell_of_refusal(&self, error: &io::Error, now: Now) {
        if let Some(untold) = self.context.reached_limits.due(now.instant, "accept") {
            let others_before = (untold > 0).then_some(untold);
            tracing::warn!(%error, listener = self.context.name, others_before, "cannot take a connection; trying again: is the limit of open files too low? the last descriptors are kept for files");
        }
    }

    /// Brings an accepted connection as far as it can go now.
    fn pass_on(&mut self, mut held: Held<S::Connection>, now: Now) -> Step {
        if held.not_before.is_some_and(|at| now.instant < at) {
            let until = held.not_before;
            self.held = Some(held);
            return Step::Idle { until };
        }
        if !held.is_admitted {
            match self.quotas.admit(self.context.index, held.peer.ip()) {
                Admission::Admitted => held.is_admitted = true,
                Admission::Full(reached) => {
                    if !std::mem::replace(&mut held.is_told, true) {
                        self.context.tell_of_limit(now.instant, held.peer, reached, FULL);
                    }
                    self.held = Some(held);
                    return Step::Idle { until: None };
                }
                Admission::TooManyFromAddress(reached) => {
                    self.context.tell_of_limit(now.instant, held.peer, reached, TOO_MANY_FROM_ADDRESS);
                    return Step::Worked;
                }
            }
            if let Err(error) = held.connection.configure(&self.options) {
                Mark::LostBeforeSetUp.reached();
                tracing::debug!(peer = %held.peer, %error, "connection lost before it was set up");
                self.quotas.leave(self.context.index, held.peer.ip());
                return Step::Worked;
            }
        }
        self.hand_over(held)
    }

    /// Offers the connection to each Processor once, in turn.
    fn hand_over(&mut self, held: Held<S::Connection>) -> Step {
        let mut carried = (held.connection, held.peer);
        for _ in 0..self.processors.len() {
            let index = self.next_processor % self.processors.len();
            self.next_processor = index + 1;
            let Some(processor) = self.processors.get(index) else { break };
            match processor.offer(carried.0, carried.1) {
                Ok(()) => return Step::Worked,
                Err(refused) => carried = refused,
            }
        }
        Mark::ProcessorsFull.reached();
        self.held =
            Some(Held { connection: carried.0, peer: carried.1, not_before: None, is_told: true, is_admitted: true });
        Step::Idle { until: None }
    }
}

impl<S: Selector> Drop for Acceptor<S> {
    fn drop(&mut self) {
        if let Some(held) = self.held.take().filter(|held| held.is_admitted) {
            self.quotas.leave(self.context.index, held.peer.ip());
        }
    }
}
