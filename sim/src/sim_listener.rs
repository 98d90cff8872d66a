//! The simulated listening socket.
//!
//! It must not know listener names or protocols.

use std::io;
use std::net::SocketAddr;

use klamm::env::Listener;

use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::{Kernel, Shared};
use crate::keyed::Site;
use crate::network_state::Action;
use crate::sim_connection::SimConnection;
use crate::stream::{Phase, Side};
use crate::trace::TraceKind;

/// A socket that accepts.
#[derive(Debug)]
pub struct SimListener {
    shared: Shared,
    index: u32,
    boot: u32,
}

impl SimListener {
    pub(crate) fn new(shared: Shared, index: u32, boot: u32) -> SimListener {
        SimListener { shared, index, boot }
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }
}

impl Listener for SimListener {
    type Connection = SimConnection;

    fn accept(&mut self) -> io::Result<(SimConnection, SocketAddr)> {
        let mut kernel = self.shared.lock();
        if kernel.boot != self.boot {
            return Err(io::Error::from_raw_os_error(errno::EBADF));
        }
        let (stream, peer) = kernel.accept(self.index).map_err(io::Error::from_raw_os_error)?;
        Ok((SimConnection::new(self.shared.clone(), stream, self.boot), peer))
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        let mut kernel = self.shared.lock();
        let mut address = kernel.network.listener(self.index).address;
        if kernel.flawed(Flaw::PortZeroReported) {
            address.set_port(0);
        }
        Ok(address)
    }
}

impl Drop for SimListener {
    fn drop(&mut self) {
        let mut kernel = self.shared.lock();
        if kernel.boot == self.boot && !kernel.flawed(Flaw::DroppedListenerListens) {
            kernel.close_listener(self.index);
        }
    }
}

impl Kernel {
    fn accept(&mut self, listener: u32) -> Result<(u32, SocketAddr), i32> {
        let entity = self.network.listener(listener).entity;
        let Some(stream) = self.network.listener(listener).waiting.front().copied() else {
            if self.flawed(Flaw::EmptyBacklogIsAnError) {
                return Err(errno::ECONNABORTED);
            }
            self.network.listener(listener).armed = true;
            if let Some(draw) = self.fault(Site::SpuriousAccept, entity) {
                let at = self.now.0 + draw.exponential(1_000_000);
                self.network.schedule(at, Action::AcceptEdge { listener });
            }
            return Err(errno::EAGAIN);
        };
        if let Some(error) = self.socket_shortage(entity) {
            if self.flawed(Flaw::AcceptErrorLosesConnection) {
                self.network.listener(listener).waiting.pop_front();
            }
            return Err(error);
        }
        self.network.listener(listener).waiting.pop_front();
        if self.fault(Site::AcceptAborted, entity).is_some() {
            self.reset(stream, Side::Broker);
            self.network.stream(stream).broker.open = false;
            return Err(errno::ECONNABORTED);
        }
        self.descriptors.sockets += 1;
        let accepted = (self.boot, self.now);
        let state = self.network.stream(stream);
        state.phase = Phase::Accepted;
        state.accepted = Some(accepted);
        let (identity, mut peer) = (state.identity, state.peer);
        if self.flawed(Flaw::AcceptForgetsBytes) {
            self.network.stream(stream).to_broker.drop_all();
        }
        if self.flawed(Flaw::PeerAddressWrong) {
            peer.set_port(peer.port().wrapping_add(1));
        }
        self.note(TraceKind::Accept, identity, 0);
        if self.fault(Site::ResetAfterAccept, identity).is_some() {
            self.tear(stream);
        }
        Ok((stream, peer))
    }

    /// Why no connection can be accepted now, if so.
    fn socket_shortage(&mut self, entity: u64) -> Option<i32> {
        if !std::mem::replace(&mut self.descriptors.is_limit_drawn, true)
            && let Some(draw) = self.fault(Site::DescriptorLimit, entity)
        {
            self.descriptors.leave_spare(draw.below(8));
        }
        if let Some(draw) = self.fault(Site::DescriptorsExhausted, entity) {
            let error = if draw.happens(500_000) { errno::EMFILE } else { errno::ENFILE };
            let until = self.now.0 + draw.part(0).exponential(100_000_000);
            self.descriptors.run_out(until, error);
        }
        if let Some(error) = self.descriptors.socket_shortage(self.now.0)
            && !self.flawed(Flaw::DescriptorLimitIgnored)
        {
            return Some(error);
        }
        if self.fault(Site::AcceptProcessLimit, entity).is_some() {
            return Some(errno::EMFILE);
        }
        self.fault(Site::AcceptSystemLimit, entity).map(|_| errno::ENFILE)
    }

    pub(crate) fn listen(&mut self, address: SocketAddr, backlog: usize) -> Result<u32, i32> {
        let mut address = address;
        if address.port() == 0 {
            address.set_port(self.network.free_port());
        }
        let taken =
            self.network.listeners.iter().any(|listener| listener.open && listener.address.port() == address.port());
        let entity = u64::from(address.port());
        if taken || self.fault(Site::ListenFails, entity).is_some() {
            return Err(errno::EADDRINUSE);
        }
        let backlog = self.fault(Site::SmallBacklog, entity).map_or(backlog, |draw| draw.between(1, 3) as usize);
        let index = u32::try_from(self.network.listeners.len()).expect("listeners are few");
        self.network.listeners.push(crate::network_state::ListenerState {
            entity,
            address,
            backlog,
            open: true,
            waiting: std::collections::VecDeque::new(),
            registration: None,
            armed: false,
            edge: false,
        });
        Ok(index)
    }

    fn close_listener(&mut self, listener: u32) {
        let state = self.network.listener(listener);
        state.open = false;
        let waiting = std::mem::take(&mut state.waiting);
        if let Some((selector, _)) = state.registration.take() {
            self.network.unqueue(selector, crate::network_state::Ready::Listener(listener));
        }
        if self.flawed(Flaw::DroppedListenerTakesAll) {
            (0..self.network.streams.len() as u32).for_each(|stream| self.tear(stream));
        }
        if self.flawed(Flaw::DroppedListenerForgetsWaiting) {
            return;
        }
        for stream in waiting {
            self.reset(stream, Side::Broker);
            self.network.stream(stream).broker.open = false;
        }
    }
}
