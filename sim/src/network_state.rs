//! The simulated network: connections, listeners, selectors and what is in flight, as state that only time and calls move.
//!
//! It must not know frames or requests. Edges are exact: one is shown after a real `WouldBlock`, or when a registration finds
//! readiness; every kinder edge is a fault with a site of its own.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;

use klamm::env::{Event, Token};

use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::Site;
use crate::stream::{End, Phase, Pipe, Registration, Side, Stream};
use crate::trace::TraceKind;

/// The numbers that Linux gives its errors; the same match arms run on real and simulated ones.
pub(crate) mod errno {
    pub(crate) const ENOENT: i32 = 2;
    pub(crate) const EINTR: i32 = 4;
    pub(crate) const EIO: i32 = 5;
    pub(crate) const EBADF: i32 = 9;
    pub(crate) const ENOMEM: i32 = 12;
    pub(crate) const EEXIST: i32 = 17;
    pub(crate) const ENFILE: i32 = 23;
    pub(crate) const EMFILE: i32 = 24;
    pub(crate) const EPIPE: i32 = 32;
    pub(crate) const ECONNABORTED: i32 = 103;
    pub(crate) const ECONNRESET: i32 = 104;
    pub(crate) const ENOTCONN: i32 = 107;
    pub(crate) const ETIMEDOUT: i32 = 110;
    pub(crate) const ECONNREFUSED: i32 = 111;
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// How often a connect is tried against a full backlog, waiting 1, 2, 4, 8 and 16 seconds.
const CONNECT_ATTEMPTS: u32 = 5;
/// A socket's buffer when no fault makes it small.
const BUFFER_BYTES: u64 = 64 * 1_024;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A connect reaches the listener.
    Connect { stream: u32, attempt: u32 },
    /// A piece arrives at this side.
    Arrive { stream: u32, side: Side },
    /// The end of the stream arrives at this side.
    Finish { stream: u32, side: Side },
    /// A reset arrives at this side.
    Reset { stream: u32, side: Side },
    /// A readable edge that a fault made or delayed; shown to one that is not owed an edge only if `always`.
    ReadEdge { stream: u32, always: bool },
    /// The same for writing.
    WriteEdge { stream: u32, always: bool },
    /// An accept edge that a fault made.
    AcceptEdge { listener: u32 },
    /// A wake reaches its selector.
    Wake { selector: u32 },
}

/// An action and its time; the earlier pushed goes first among equals.
#[derive(Debug, PartialEq, Eq)]
struct Due {
    at: u64,
    sequence: u64,
    action: Action,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Who waits in a selector's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    Stream(u32),
    Listener(u32),
    /// An event of someone who has left.
    Stale(Event),
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct ListenerState {
    pub(crate) entity: u64,
    pub(crate) address: SocketAddr,
    pub(crate) backlog: usize,
    pub(crate) open: bool,
    pub(crate) waiting: VecDeque<u32>,
    pub(crate) registration: Option<(u32, Token)>,
    pub(crate) armed: bool,
    pub(crate) edge: bool,
}

/// A selector.
#[derive(Debug)]
pub(crate) struct SelectorState {
    pub(crate) entity: u64,
    pub(crate) ready: VecDeque<Ready>,
    /// How many wakes the next poll answers: one, unless a flaw counts them.
    pub(crate) wakes: u32,
}

/// The network.
#[derive(Debug)]
pub(crate) struct NetworkState {
    pub(crate) streams: Vec<Stream>,
    pub(crate) listeners: Vec<ListenerState>,
    pub(crate) selectors: Vec<SelectorState>,
    due: BinaryHeap<Reverse<Due>>,
    sequence: u64,
    /// Clients to whom something happened since they were last asked for.
    pub(crate) touched: VecDeque<u32>,
    /// Sockets that the broker holds, and how many it may hold.
    pub(crate) descriptors: u64,
    pub(crate) descriptors_max: u64,
    next_port: u16,
    /// The mean time of a piece on its way; 0 in a share of the seeds.
    mean_delay: u64,
}

impl NetworkState {
    pub(crate) fn new(seed: u64) -> NetworkState {
        let mean_delay = match crate::keyed::draw_config(seed, Site::NetworkSpeed, 0).below(4) {
            0 => 0,
            1 => 20 * MICROSECOND,
            2 => 200 * MICROSECOND,
            _ => 2 * MILLISECOND,
        };
        NetworkState {
            streams: Vec::new(),
            listeners: Vec::new(),
            selectors: Vec::new(),
            due: BinaryHeap::new(),
            sequence: 0,
            touched: VecDeque::new(),
            descriptors: 0,
            descriptors_max: u64::MAX,
            next_port: 40_000,
            mean_delay,
        }
    }

    pub(crate) fn schedule(&mut self, at: u64, action: Action) {
        self.sequence += 1;
        self.due.push(Reverse(Due { at, sequence: self.sequence, action }));
    }

    /// When the next action is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.due.peek().map(|Reverse(due)| due.at)
    }

    fn pop_due(&mut self, now: u64) -> Option<Action> {
        if self.next_due()? > now {
            return None;
        }
        self.due.pop().map(|Reverse(due)| due.action)
    }

    pub(crate) fn free_port(&mut self) -> u16 {
        self.next_port = self.next_port.wrapping_add(1).max(40_000);
        self.next_port
    }

    pub(crate) fn stream(&mut self, stream: u32) -> &mut Stream {
        &mut self.streams[stream as usize]
    }

    pub(crate) fn listener(&mut self, listener: u32) -> &mut ListenerState {
        &mut self.listeners[listener as usize]
    }

    pub(crate) fn selector(&mut self, selector: u32) -> &mut SelectorState {
        &mut self.selectors[selector as usize]
    }

    pub(crate) fn touch_client(&mut self, stream: u32) {
        let state = &mut self.streams[stream as usize];
        if !state.client_touched && state.client.open {
            state.client_touched = true;
            self.touched.push_back(stream);
        }
    }

    fn listener_at(&self, address: SocketAddr) -> Option<usize> {
        self.listeners.iter().position(|listener| {
            let wildcard = listener.address.ip().is_unspecified();
            let port = listener.address.port() == address.port();
            listener.open && port && (wildcard || listener.address.ip() == address.ip())
        })
    }

    /// Removes a connection from its selector's queue.
    pub(crate) fn unqueue(&mut self, selector: u32, who: Ready) {
        self.selector(selector).ready.retain(|ready| *ready != who);
    }

    fn queue(&mut self, selector: u32, who: Ready) {
        self.selector(selector).ready.push_back(who);
    }

    /// Shows the edges that are set in a connection's registration.
    fn enqueue(&mut self, stream: u32) {
        if let Some(registration) = &mut self.stream(stream).registration
            && !registration.queued
        {
            registration.queued = true;
            let selector = registration.selector;
            self.queue(selector, Ready::Stream(stream));
        }
    }

    /// Gives a readable edge to a connection, whether it is owed one or not.
    pub(crate) fn show_read_edge(&mut self, stream: u32) {
        let state = self.stream(stream);
        if let Some(registration) = &mut state.registration {
            registration.read_edge = true;
            state.read_armed = false;
            self.enqueue(stream);
        }
    }

    /// Gives a writable edge to a connection that wants to hear of it.
    pub(crate) fn show_write_edge(&mut self, stream: u32) {
        let state = self.stream(stream);
        if let Some(registration) = state.registration.as_mut().filter(|registration| registration.wants_writable()) {
            registration.write_edge = true;
            state.write_armed = false;
            self.enqueue(stream);
        }
    }

    pub(crate) fn show_accept_edge(&mut self, listener: u32) {
        let state = self.listener(listener);
        if let Some((selector, _)) = state.registration
            && !state.edge
        {
            state.edge = true;
            state.armed = false;
            self.queue(selector, Ready::Listener(listener));
        }
    }
}

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

    /// Puts bytes on their way out of `side`, in one piece or more.
    pub(crate) fn send(&mut self, stream: u32, side: Side, bytes: &[u8]) {
        let state = self.network.stream(stream);
        let identity = state.identity;
        state.outgoing(side).push(bytes);
        let mut left = bytes.len() as u64;
        while left > 0 {
            let split = if left > 1 { self.fault(Site::SegmentSplit, identity) } else { None };
            let piece = split.map_or(left, |draw| draw.between(1, left - 1));
            left -= piece;
            self.network.stream(stream).outgoing(side).mark_piece(left);
            let at = self.next_arrival(stream, side);
            self.network.schedule(at, Action::Arrive { stream, side: side.other() });
        }
    }

    /// When something that `side` sends now comes to the other one: never before what was sent earlier.
    fn next_arrival(&mut self, stream: u32, side: Side) -> u64 {
        let identity = self.network.stream(stream).identity;
        let mean = self.network.mean_delay;
        let mut delay = self.value(Site::SegmentDelay, identity).exponential(mean);
        if let Some(draw) = self.fault(Site::SegmentSlow, identity) {
            delay += draw.exponential(200 * MILLISECOND);
        }
        let now = self.now.0;
        if let Some(draw) = self.fault(Site::Clogged, identity) {
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

impl Registration {
    /// What a poll shows of a connection in this state.
    pub(crate) fn event(&self, read_closed: bool, write_closed: bool, error: bool) -> Event {
        Event {
            token: self.token,
            readable: self.read_edge,
            writable: self.write_edge,
            read_closed,
            write_closed,
            error,
        }
    }
}
