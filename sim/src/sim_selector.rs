//! The simulated selector: shows the edges that the simulated network owes, exactly those, and whatever faults the seed adds.
//!
//! It must not know what is read or written. It never waits: the scheduler steps its owner when there is something to show.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use klamm::env::{Event, Interest, Selector, Token, Wake};

use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::{Kernel, Shared};
use crate::keyed::Site;
use crate::network_state::{Action, Ready};
use crate::sim_connection::SimConnection;
use crate::sim_listener::SimListener;
use crate::trace::TraceKind;

/// Names a selector to the scheduler, also after the selector has moved into its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SelectorId(pub(crate) u32);

/// Waits for readiness, without ever waiting.
#[derive(Debug)]
pub struct SimSelector {
    shared: Shared,
    id: u32,
}

impl SimSelector {
    pub(crate) fn new(shared: Shared, id: u32) -> SimSelector {
        SimSelector { shared, id }
    }

    /// Its name to the scheduler.
    pub fn id(&self) -> SelectorId {
        SelectorId(self.id)
    }
}

impl Selector for SimSelector {
    type Listener = SimListener;
    type Connection = SimConnection;

    fn poll(&mut self, events: &mut Vec<Event>, _timeout: Option<Duration>) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        if kernel.flawed(Flaw::PollClearsEvents) {
            events.clear();
        }
        kernel.poll(self.id, events)
    }

    fn register_listener(&mut self, listener: &mut SimListener, token: Token) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        if kernel.network.listener(listener.index()).registration.is_some() {
            return Err(io::Error::from_raw_os_error(errno::EEXIST));
        }
        kernel.arm_listener(self.id, listener.index(), token, Flaw::RegisterForgetsWaiting);
        Ok(())
    }

    fn rearm_listener(&mut self, listener: &mut SimListener, token: Token) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        if kernel.network.listener(listener.index()).registration.is_none() {
            return Err(io::Error::from_raw_os_error(errno::ENOENT));
        }
        let entity = kernel.network.listener(listener.index()).entity;
        if kernel.fault(Site::RearmFails, entity).is_some() {
            return Err(io::Error::from_raw_os_error(errno::ENOMEM));
        }
        kernel.arm_listener(self.id, listener.index(), token, Flaw::RearmForgetsWaiting);
        Ok(())
    }

    fn register(&mut self, connection: &mut SimConnection, token: Token, interest: Interest) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        let stream = connection.stream(&kernel)?;
        kernel.register(self.id, stream, token, interest)
    }

    fn reregister(&mut self, connection: &mut SimConnection, token: Token, interest: Interest) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        let stream = connection.stream(&kernel)?;
        kernel.reregister(self.id, stream, token, interest)
    }

    fn deregister(&mut self, connection: &mut SimConnection) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        let stream = connection.stream(&kernel)?;
        if kernel.network.stream(stream).registration.is_none() {
            let succeeds = kernel.flawed(Flaw::DeregisterStrangerSucceeds);
            return if succeeds { Ok(()) } else { Err(io::Error::from_raw_os_error(errno::ENOENT)) };
        }
        let identity = kernel.network.stream(stream).identity;
        if kernel.fault(Site::DeregisterFails, identity).is_some() {
            return Err(io::Error::from_raw_os_error(errno::ENOMEM));
        }
        if !kernel.flawed(Flaw::DeregisterKeepsShowing) {
            kernel.forget_registration(stream);
        }
        Ok(())
    }

    fn waker(&self) -> Arc<dyn Wake> {
        Arc::new(SimWaker { shared: self.shared.clone(), selector: self.id })
    }
}

/// Wakes a simulated selector.
struct SimWaker {
    shared: Shared,
    selector: u32,
}

impl Wake for SimWaker {
    fn wake(&self) {
        let mut kernel = self.shared.lock();
        let entity = kernel.network.selector(self.selector).entity;
        kernel.note(TraceKind::Wake, entity, 0);
        if let Some(draw) = kernel.fault(Site::WakeLate, entity) {
            let at = kernel.now.0 + draw.exponential(1_000_000);
            kernel.network.schedule(at, Action::Wake { selector: self.selector });
            return;
        }
        if kernel.flawed(Flaw::WakeReachesAll) {
            kernel.network.selectors.iter_mut().for_each(|selector| selector.wakes = 1);
        }
        let (lost, counted) = (kernel.flawed(Flaw::WakeBeforePollLost), kernel.flawed(Flaw::WakesAreCounted));
        let selector = kernel.network.selector(self.selector);
        selector.wakes = match (lost, counted) {
            (true, _) => 0,
            (_, true) => selector.wakes + 1,
            _ => 1,
        };
    }
}

impl Kernel {
    fn poll(&mut self, selector: u32, events: &mut Vec<Event>) -> io::Result<()> {
        let entity = self.network.selector(selector).entity;
        if self.fault(Site::PollInterrupted, entity).is_some() {
            return Err(io::Error::from_raw_os_error(errno::EINTR));
        }
        if self.poll_fails(selector, entity) {
            return Err(io::Error::from_raw_os_error(errno::ENOMEM));
        }
        let woken = self.network.selector(selector).wakes > 0;
        self.network.selector(selector).wakes = self.network.selector(selector).wakes.saturating_sub(1);
        if woken && self.flawed(Flaw::WakeShowsAnEvent) {
            events.push(stranger_event());
        }
        if self.fault(Site::PollEarly, entity).is_some() {
            return Ok(());
        }
        if woken && self.flawed(Flaw::WakeSwallowsEvents) {
            self.network.selector(selector).ready.clear();
        }
        self.shuffle(selector, entity);
        let count = self.network.selector(selector).ready.len();
        let shown = match self.fault(Site::PollTruncated, entity) {
            Some(draw) if count > 1 => usize::try_from(draw.between(1, count as u64 - 1)).unwrap_or(count),
            _ => count,
        };
        if count == 0 && self.flawed(Flaw::PollInventsEvents) {
            events.push(stranger_event());
        }
        for _ in 0..shown {
            let Some(ready) = self.network.selector(selector).ready.pop_front() else { break };
            let event = self.event_of(selector, ready);
            let flags = [event.readable, event.writable, event.read_closed, event.write_closed, event.error];
            let flags = flags.iter().fold(0, |flags, flag| flags << 1 | u64::from(*flag));
            let token = (u64::from(event.token.generation) << 32) | u64::from(event.token.index);
            self.note(TraceKind::Event, token, flags);
            let both = event.readable && event.writable;
            if both && self.fault(Site::EventSplit, entity).is_some() {
                events.push(Event { writable: false, ..event });
                events.push(Event { readable: false, ..event });
            } else {
                events.push(event);
            }
        }
        if shown > 4 && self.flawed(Flaw::PollForgetsMany) {
            events.truncate(4);
        }
        self.look_late(selector, entity);
        Ok(())
    }

    /// Whether a poll fails, be it alone or one of a row.
    fn poll_fails(&mut self, selector: u32, entity: u64) -> bool {
        if let Some(draw) = self.fault(Site::PollFailsOn, entity) {
            self.network.selector(selector).failing = draw.between(2, 20);
        }
        let state = self.network.selector(selector);
        let was_failing = state.failing > 0;
        state.failing = state.failing.saturating_sub(1);
        was_failing || self.fault(Site::PollFails, entity).is_some()
    }

    /// The next look at what is ready may come late.
    fn look_late(&mut self, selector: u32, entity: u64) {
        if let Some(draw) = self.fault(Site::EventsGathered, entity) {
            let until = self.now.0 + draw.exponential(2_000_000);
            self.network.selector(selector).late_until = until;
            self.network.schedule(until, Action::Look { selector });
        }
    }

    fn shuffle(&mut self, selector: u32, entity: u64) {
        let count = self.network.selector(selector).ready.len();
        if count < 2 {
            return;
        }
        if let Some(draw) = self.fault(Site::PollShuffled, entity) {
            let ready = self.network.selector(selector).ready.make_contiguous();
            for last in (1..count).rev() {
                let other = usize::try_from(draw.part(last as u64).below(last as u64 + 1)).unwrap_or(last);
                ready.swap(last, other);
            }
        }
    }

    fn event_of(&mut self, selector: u32, ready: Ready) -> Event {
        match ready {
            Ready::Stale(event) => event,
            Ready::Listener(listener) => {
                let state = self.network.listener(listener);
                state.edge = false;
                let mut token = state.registration.map_or(Token { index: 0, generation: 0 }, |(_, token)| token);
                if self.flawed(Flaw::ListenerTokenLost) {
                    token.generation = 0;
                }
                Event { token, readable: true, writable: false, read_closed: false, write_closed: false, error: false }
            }
            Ready::Stream(stream) => self.event_of_stream(selector, stream),
        }
    }

    fn event_of_stream(&mut self, selector: u32, stream: u32) -> Event {
        let state = self.network.stream(stream);
        let identity = state.identity;
        let read_closed = state.to_broker.end_came() || state.broker.reset || state.broker.read_shut;
        let write_closed = state.broker.reset;
        let error = state.broker.error.is_some();
        let registration = state.registration.as_mut().expect("a queued connection is registered");
        debug_assert_eq!(registration.selector, selector);
        let mut event = registration.event(read_closed, write_closed, error);
        registration.read_edge = false;
        registration.write_edge = false;
        registration.queued = false;
        let wants_writable = registration.wants_writable();
        if self.network.is_linux_like || self.fault(Site::ReadinessMerged, identity).is_some() {
            event.readable |= self.network.stream(stream).broker_can_read();
            event.writable |= wants_writable && self.network.stream(stream).broker_can_write();
        }
        if !self.network.is_linux_like && self.fault(Site::HintsMissing, identity).is_some() {
            event = Event { read_closed: false, write_closed: false, error: false, ..event };
        }
        if self.flawed(Flaw::GenerationLost) {
            event.token.generation = 0;
        }
        event.writable |= self.flawed(Flaw::WritableUnasked);
        event
    }
}

/// An event of nobody.
fn stranger_event() -> Event {
    let token = Token { index: u32::MAX, generation: u32::MAX };
    Event { token, readable: true, writable: false, read_closed: false, write_closed: false, error: false }
}
