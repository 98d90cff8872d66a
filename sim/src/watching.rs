//! What a simulated selector is asked to watch, and what it shows at once because it holds already.
//!
//! It must not know when a poll comes.

use std::io;

use klamm::env::{Interest, Token};

use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::Site;
use crate::network_state::Ready;
use crate::registration::Registration;

/// How long the user's watches are used up, on average, in nanoseconds.
const NO_WATCHES_NANOS: u64 = 30_000_000;

impl Kernel {
    pub(crate) fn arm_listener(&mut self, selector: u32, listener: u32, token: Token, flaw: Flaw) {
        let keeps = self.flawed(Flaw::RearmKeepsToken);
        let state = self.network.listener(listener);
        let token = state.registration.map_or(token, |(_, earlier)| if keeps { earlier } else { token });
        let earlier = state.registration.replace((selector, token));
        state.armed = true;
        if let Some((earlier, _)) = earlier.filter(|_| state.edge) {
            state.edge = false;
            self.network.unqueue(earlier, Ready::Listener(listener));
        }
        let waiting = !self.network.listener(listener).waiting.is_empty();
        if waiting && !self.flawed(flaw) {
            self.network.show_accept_edge(listener);
        }
    }

    pub(crate) fn register(&mut self, selector: u32, stream: u32, token: Token, interest: Interest) -> io::Result<()> {
        let state = self.network.stream(stream);
        let identity = state.identity;
        if state.registration.is_some() {
            let succeeds = self.flawed(Flaw::RegisterTwiceSucceeds);
            return if succeeds { Ok(()) } else { Err(io::Error::from_raw_os_error(errno::EEXIST)) };
        }
        if self.fault(Site::RegisterFails, identity).is_some() {
            return Err(io::Error::from_raw_os_error(errno::ENOMEM));
        }
        if let Some(draw) = self.fault(Site::WatchesExhausted, identity) {
            self.network.no_watches_until = self.now.0 + draw.exponential(NO_WATCHES_NANOS);
        }
        if self.now.0 < self.network.no_watches_until {
            return Err(io::Error::from_raw_os_error(errno::ENOSPC));
        }
        let forgets = self.flawed(Flaw::RegisterForgetsReadiness);
        self.watch(selector, stream, token, interest, forgets);
        Ok(())
    }

    pub(crate) fn reregister(
        &mut self,
        selector: u32,
        stream: u32,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        let state = self.network.stream(stream);
        let identity = state.identity;
        let Some(earlier) = state.registration else {
            let succeeds = self.flawed(Flaw::ReregisterStrangerSucceeds);
            return if succeeds { Ok(()) } else { Err(io::Error::from_raw_os_error(errno::ENOENT)) };
        };
        let interest = if self.flawed(Flaw::ReregisterKeepsInterest) { earlier.interest } else { interest };
        if self.fault(Site::ReregisterFails, identity).is_some() {
            return Err(io::Error::from_raw_os_error(errno::ENOMEM));
        }
        let token = if self.flawed(Flaw::ReregisterKeepsToken) { earlier.token } else { token };
        self.network.unqueue(earlier.selector, Ready::Stream(stream));
        let forgets = self.flawed(Flaw::ReregisterForgetsReadiness);
        self.watch(selector, stream, token, interest, forgets);
        Ok(())
    }

    /// Registers, and shows what holds already: from here on an edge is owed for everything that does not.
    fn watch(&mut self, selector: u32, stream: u32, token: Token, interest: Interest, forgets: bool) {
        let state = self.network.stream(stream);
        let identity = state.identity;
        state.registration = Some(Registration::new(selector, token, interest));
        state.read_armed = true;
        state.write_armed = true;
        let (can_read, can_write) = (state.broker_can_read(), state.broker_can_write());
        if can_read {
            if forgets {
                self.network.stream(stream).read_armed = false;
            } else {
                self.network.show_read_edge(stream);
            }
        }
        if can_write && !self.flawed(Flaw::WatchForgetsWritable) {
            self.network.show_write_edge(stream);
        }
        if interest == Interest::ReadableWritable && self.fault(Site::SpuriousWritable, identity).is_some() {
            self.network.show_write_edge(stream);
        }
    }
}
