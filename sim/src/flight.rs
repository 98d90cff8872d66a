//! What happens on the simulated network: connects, pieces, ends and resets come to their place, and edges are shown for them.
//!
//! It must not know frames or requests. Edges are exact: one is shown after a real `WouldBlock`, or when a registration finds
//! readiness; every kinder edge is a fault with a site of its own.

use std::net::SocketAddr;

use klamm::env::{Event, Token};

use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::Site;
use crate::network_state::{Action, Ready};
use crate::stream::{End, Phase, Pipe, Side, Stream};
use crate::trace::TraceKind;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// How often a connect is tried against a full backlog, waiting 1, 2, 4, 8 and 16 seconds.
const CONNECT_ATTEMPTS: u32 = 5;
/// A socket's buffer when no fault makes it small.
const BUFFER_BYTES: u64 = 64 * 1_024;

impl Kernel {
    /// Does everything that is due by now, in order.
    pub(crate) fn run_due(&mut self) {
        while let Some(action) = self.network.pop_due(self.now.0) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect { stream, attempt } => self.connect_comes(stream, attempt),
            Action::Arrive { stream, side } => self.piece_comes(stream, side),
            Action::Finish { stream, side } => self.finish_comes(stream, side),
            Action::Reset { stream, side } => self.reset_comes(stream, side),
            Action::ReadEdge { stream, always } => {
                if always || self.network.stream(stream).read_armed {
                    self.network.show_read_edge(stream);
                }
            }
            Action::WriteEdge { stream, always } => {
                if always || self.network.stream(stream).write_armed {
                    self.network.show_write_edge(stream);
                }
            }
            Action::AcceptEdge { listener } => self.network.show_accept_edge(listener),
            Action::Wake { selector } => self.network.selector(selector).wakes = 1,
        }
    }

    /// A new connection on its way from `peer` to `to`.
    pub(crate) fn connect(&mut self, identity: u64, peer: SocketAddr, to: SocketAddr) -> u32 {
        let stream =
            u32::try_from(self.network.streams.len()).expect("a run makes less than four thousand million connections");
        let mut capacity = [BUFFER_BYTES; 4];
        if let Some(draw) = self.fault(Site::SmallBuffers, identity) {
            for (index, bytes) in (0..).zip(&mut capacity) {
                let bits = draw.part(index).below(13);
                *bytes = draw.part(index + 4).between(1, 1 << bits);
            }
        }
        let [broker_in, client_out, client_in, broker_out] = capacity;
        self.network.streams.push(Stream {
            identity,
            peer,
            local: to,
            phase: Phase::Connecting,
            to_broker: Pipe::new(broker_in, client_out),
            to_client: Pipe::new(client_in, broker_out),
            broker: End::default(),
            client: End { open: true, ..End::default() },
            registration: None,
            read_armed: false,
            write_armed: false,
            clogged_until: 0,
            client_touched: false,
        });
        let delay = self.value(Site::ConnectDelay, identity).exponential(self.network.mean_delay);
        self.network.schedule(self.now.0 + delay, Action::Connect { stream, attempt: 0 });
        self.note(TraceKind::Client, identity, 0);
        stream
    }

    fn connect_comes(&mut self, stream: u32, attempt: u32) {
        let state = self.network.stream(stream);
        if state.phase != Phase::Connecting {
            return;
        }
        let (address, gone) = (state.local, !state.client.open);
        let listener = self.network.listener_at(address);
        let Some(listener) = listener.filter(|_| !gone) else {
            self.refuse(stream, errno::ECONNREFUSED);
            return;
        };
        let state = &mut self.network.listeners[listener];
        if state.waiting.len() >= state.backlog.max(1) {
            if attempt >= CONNECT_ATTEMPTS {
                self.refuse(stream, errno::ETIMEDOUT);
            } else {
                self.network
                    .schedule(self.now.0 + (SECOND << attempt), Action::Connect { stream, attempt: attempt + 1 });
            }
            return;
        }
        state.waiting.push_back(stream);
        let (armed, entity) = (state.armed, state.entity);
        let state = self.network.stream(stream);
        state.phase = Phase::Waiting;
        state.broker.open = true;
        self.network.touch_client(stream);
        let owed = armed || self.fault(Site::ExtraEdge, entity).is_some();
        if owed && !self.flawed(Flaw::AcceptEdgeLost) {
            self.network.show_accept_edge(u32::try_from(listener).expect("listeners are few"));
        }
    }

    fn refuse(&mut self, stream: u32, error: i32) {
        let state = self.network.stream(stream);
        state.phase = Phase::Refused;
        state.client.error = Some(error);
        state.client.reset = true;
        self.network.touch_client(stream);
    }

    /// The name of one direction of a connection, so that what one side sends moves no decision about the other's pieces.
    fn flow(&mut self, stream: u32, side: Side) -> u64 {
        let identity = self.network.stream(stream).identity;
        if side == Side::Broker { !identity } else { identity }
    }

    /// Puts bytes on their way out of `side`, in one piece or more.
    pub(crate) fn send(&mut self, stream: u32, side: Side, bytes: &[u8]) {
        let flow = self.flow(stream, side);
        self.trace.bytes(bytes);
        self.network.stream(stream).outgoing(side).push(bytes);
        let mut left = bytes.len() as u64;
        while left > 0 {
            let split = if left > 1 { self.fault(Site::SegmentSplit, flow) } else { None };
            let piece = split.map_or(left, |draw| draw.between(1, left - 1));
            left -= piece;
            self.network.stream(stream).outgoing(side).mark_piece(left);
            let at = self.next_arrival(stream, side);
            self.network.schedule(at, Action::Arrive { stream, side: side.other() });
        }
    }

    /// When something that `side` sends now comes to the other one: never before what was sent earlier.
    fn next_arrival(&mut self, stream: u32, side: Side) -> u64 {
        let flow = self.flow(stream, side);
        let mean = self.network.mean_delay;
        let mut delay = self.value(Site::SegmentDelay, flow).exponential(mean);
        if let Some(draw) = self.fault(Site::SegmentSlow, flow) {
            delay += draw.exponential(200 * MILLISECOND);
        }
        let now = self.now.0;
        if let Some(draw) = self.fault(Site::Clogged, flow) {
            let until = now + draw.between(SECOND, 20 * SECOND);
            let state = self.network.stream(stream);
            state.clogged_until = state.clogged_until.max(until);
        }
        let state = self.network.stream(stream);
        let at = (now + delay).max(state.clogged_until).max(state.outgoing(side).last_due);
        state.outgoing(side).last_due = at;
        at
    }

    fn piece_comes(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        state.incoming(side).piece_comes();
        if !state.end(side).open {
            // Nobody is there to read: the peer hears of it by a reset.
            state.incoming(side).drop_all();
            let silent = state.end(side).silent;
            if !silent && !state.end(side.other()).reset && !self.flawed(Flaw::WriteToClosedPeerSucceeds) {
                let at = self.next_arrival(stream, side);
                self.network.schedule(at, Action::Reset { stream, side: side.other() });
            }
            return;
        }
        self.settle(stream, side);
    }

    fn finish_comes(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if side == Side::Client && !state.client.open {
            return;
        }
        state.incoming(side).finish_comes();
        if self.flawed(Flaw::FinishShowsNoEdge) && side == Side::Broker {
            self.network.stream(stream).incoming(side).settle();
            return;
        }
        if self.flawed(Flaw::HalfCloseIsWhole) && side == Side::Broker {
            self.network.stream(stream).broker.write_shut = true;
        }
        // The end alone is news, even if no byte came with it.
        let state = self.network.stream(stream);
        state.incoming(side).settle();
        if state.incoming(side).end_came() {
            self.tell_reader(stream, side);
        }
    }

    /// Lets in what is due at `side`, and tells both ends what that changes.
    pub(crate) fn settle(&mut self, stream: u32, side: Side) {
        if self.network.stream(stream).incoming(side).settle() {
            self.tell_reader(stream, side);
            self.tell_writer(stream, side.other());
        }
    }

    fn tell_reader(&mut self, stream: u32, side: Side) {
        if side == Side::Client {
            self.network.touch_client(stream);
            return;
        }
        let state = self.network.stream(stream);
        let (armed, identity) = (state.read_armed, state.identity);
        if armed && self.flawed(Flaw::EdgeAfterDrainLost) {
            return;
        }
        if armed || self.flawed(Flaw::LevelTriggered) || self.fault(Site::ExtraEdge, identity).is_some() {
            self.network.show_read_edge(stream);
        }
    }

    fn tell_writer(&mut self, stream: u32, side: Side) {
        if side == Side::Client {
            self.network.touch_client(stream);
            return;
        }
        let state = self.network.stream(stream);
        let (owed, identity) = (state.write_armed && state.to_client.has_much_room(), state.identity);
        if !owed || self.flawed(Flaw::WritableEdgeLost) {
            return;
        }
        match self.fault(Site::WritableLate, identity) {
            Some(draw) => {
                let at = self.now.0 + draw.exponential(500 * MILLISECOND);
                self.network.schedule(at, Action::WriteEdge { stream, always: false });
            }
            None => self.network.show_write_edge(stream),
        }
    }

    /// Says the end of the stream, after the bytes sent before.
    pub(crate) fn finish(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if state.end(side).write_shut && state.outgoing(side).is_finished() {
            return;
        }
        state.end(side).write_shut = true;
        if side == Side::Broker && self.flawed(Flaw::ShutdownDropsQueued) {
            self.network.stream(stream).outgoing(side).drop_in_flight();
        }
        self.network.stream(stream).outgoing(side).finish();
        let at = self.next_arrival(stream, side);
        self.network.schedule(at, Action::Finish { stream, side: side.other() });
    }

    /// Tears the connection: what flies may be lost, and the other end learns by an error.
    pub(crate) fn reset(&mut self, stream: u32, side: Side) {
        let identity = self.network.stream(stream).identity;
        if self.fault(Site::ResetOvertakes, identity).is_some() {
            self.network.stream(stream).outgoing(side).drop_in_flight();
        }
        let at = self.next_arrival(stream, side);
        self.network.schedule(at, Action::Reset { stream, side: side.other() });
    }

    fn reset_comes(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if state.end(side).reset || !state.end(side).open {
            return;
        }
        let identity = state.identity;
        let end = state.end(side);
        end.reset = true;
        end.error = Some(errno::ECONNRESET);
        state.outgoing(side).drop_all();
        state.incoming(side).drop_in_flight();
        self.note(TraceKind::Reset, identity, u64::from(side == Side::Client));
        if side == Side::Client {
            self.network.touch_client(stream);
            return;
        }
        if self.fault(Site::ResetDestroysData, identity).is_some() {
            self.network.stream(stream).to_broker.drop_all();
        }
        if self.flawed(Flaw::ResetLooksLikeEnd) {
            self.network.stream(stream).broker.error = None;
        }
        if self.flawed(Flaw::ResetShowsNoEdge) {
            return;
        }
        let state = self.network.stream(stream);
        // epoll reports a hang-up always, also to one who is not owed an edge.
        let owed = state.read_armed || state.write_armed;
        if owed || self.fault(Site::HangUpUnseen, identity).is_none() {
            let blocked_writer = self.network.stream(stream).write_armed;
            if !(blocked_writer && self.flawed(Flaw::BlockedWriterNotTold)) {
                self.network.show_read_edge(stream);
                self.network.show_write_edge(stream);
            }
        }
    }

    /// Closes an end, as when its process drops it: with a reset if something was left unread, else with an end of the stream.
    pub(crate) fn close(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        if !state.end(side).open {
            return;
        }
        state.end(side).open = false;
        let identity = state.identity;
        let unread = state.incoming(side).readable() > 0;
        let gone = state.end(side).reset;
        state.incoming(side).drop_all();
        let accepted = state.phase == Phase::Accepted;
        self.note(TraceKind::Close, identity, u64::from(side == Side::Client));
        if side == Side::Broker {
            self.forget_registration(stream);
            if accepted {
                self.network.descriptors -= 1;
            }
            if self.flawed(Flaw::DropSaysNothing) {
                return;
            }
        }
        if gone {
            return;
        }
        if unread && !(side == Side::Broker && self.flawed(Flaw::DropWithUnreadIsGraceful)) {
            self.reset(stream, side);
        } else {
            self.finish(stream, side);
        }
    }

    /// Takes a connection out of its selector.
    pub(crate) fn forget_registration(&mut self, stream: u32) {
        let state = self.network.stream(stream);
        let identity = state.identity;
        let Some(registration) = state.registration else { return };
        if self.flawed(Flaw::DroppedStillShown) && !self.network.stream(stream).broker.open {
            self.network.queue(registration.selector, Ready::Stale(stale_event(registration.token)));
        }
        self.network.stream(stream).registration = None;
        self.network.unqueue(registration.selector, Ready::Stream(stream));
        if self.fault(Site::StaleEvent, identity).is_some() {
            self.network.queue(registration.selector, Ready::Stale(stale_event(registration.token)));
        }
    }

    /// The broker's process is gone: its sockets are closed by the kernel, or silent if the whole machine went.
    pub(crate) fn drop_broker_sockets(&mut self, silent: bool) {
        let polite = self.flawed(Flaw::PowerCutSaysEnd);
        for stream in 0..u32::try_from(self.network.streams.len()).expect("streams are counted in 32 bits") {
            let state = self.network.stream(stream);
            if silent && !polite {
                state.broker.open = false;
                state.registration = None;
                state.to_client.drop_in_flight();
                if state.phase == Phase::Waiting {
                    state.phase = Phase::Accepted;
                }
            } else {
                self.close(stream, Side::Broker);
            }
        }
        for listener in &mut self.network.listeners {
            listener.open = false;
            listener.registration = None;
            listener.waiting.clear();
        }
        for selector in &mut self.network.selectors {
            selector.ready.clear();
            selector.wakes = 0;
        }
        self.network.descriptors = 0;
    }
}

fn stale_event(token: Token) -> Event {
    Event { token, readable: true, writable: false, read_closed: false, write_closed: false, error: false }
}
