//! What travels on the simulated network: pieces come to their place, late, lost or cut, and edges are shown for them.
//!
//! It must not know frames or requests. Edges are exact: one is shown after a real `WouldBlock`, or when a registration finds
//! readiness; every kinder edge is a fault with a site of its own.

use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::{Draw, Site};
use crate::network_state::Action;
use crate::pipe::NEVER;
use crate::route::Mishap;
use crate::stream::Side;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

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
            Action::Reset { stream, side } => self.reset_comes(stream, side, errno::ECONNRESET),
            Action::GiveUp { stream, error } => {
                self.reset_comes(stream, Side::Broker, error);
                self.network.half_open.push((stream, Side::Broker));
            }
            Action::Clog { stream, until } => self.network.stream(stream).hold(until),
            Action::Tear { stream } => self.tear(stream),
            Action::Leave { stream, manner } => self.leave(stream, manner),
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
            Action::Look { .. } => {}
        }
    }

    /// The name of one direction of a connection, so that what one side sends moves no decision about the other's pieces.
    pub(crate) fn flow(&mut self, stream: u32, side: Side) -> u64 {
        let identity = self.network.stream(stream).identity;
        if side == Side::Broker { !identity } else { identity }
    }

    /// Puts bytes on their way out of `side`, in one piece or more.
    pub(crate) fn send(&mut self, stream: u32, side: Side, bytes: &[u8]) {
        let flow = self.flow(stream, side);
        self.trace.bytes(bytes);
        self.network.stream(stream).outgoing(side).push(bytes);
        if self.network.stream(stream).route.is_unprotected
            && let Some(draw) = self.fault(Site::BitFlipped, flow)
        {
            self.network.stream(stream).outgoing(side).flip_bit(draw.below(bytes.len() as u64), draw.part(0).below(8));
        }
        let mut left = bytes.len() as u64;
        if left > 1
            && let Some(draw) = self.fault(Site::SegmentCutNearEdge, flow)
        {
            let piece = near_edge(draw, left);
            left -= piece;
            self.send_piece(stream, side, piece, left);
            let until = self.now.0 + draw.part(2).exponential(MILLISECOND);
            self.network.stream(stream).outgoing(side).hold(until);
        }
        while left > 0 {
            let split = if left > 1 { self.fault(Site::SegmentSplit, flow) } else { None };
            let piece = split.map_or(left, |draw| draw.between(1, left - 1));
            let piece = self.network.stream(stream).route.piece(side, piece);
            left -= piece;
            self.send_piece(stream, side, piece, left);
        }
    }

    /// Puts a piece on its way, behind which `left` bytes are still to go.
    fn send_piece(&mut self, stream: u32, side: Side, bytes: u64, left: u64) {
        self.network.stream(stream).outgoing(side).mark_piece(left);
        let at = self.next_arrival(stream, side, bytes);
        self.network.schedule(at, Action::Arrive { stream, side: side.other() });
    }

    /// When so many bytes that `side` sends now come to the other one: never before what was sent earlier.
    pub(crate) fn next_arrival(&mut self, stream: u32, side: Side, bytes: u64) -> u64 {
        let flow = self.flow(stream, side);
        let mean = self.network.mean_delay;
        let mut delay = self.value(Site::SegmentDelay, flow).exponential(mean);
        if let Some(draw) = self.fault(Site::SegmentSlow, flow) {
            delay += draw.exponential(200 * MILLISECOND);
        }
        let now = self.now.0;
        if let Some(draw) = self.fault(Site::Clogged, flow) {
            self.network.stream(stream).hold(now + draw.between(SECOND, 20 * SECOND));
        }
        if let Some(draw) = self.fault(Site::SegmentsGathered, flow) {
            self.network.stream(stream).outgoing(side).hold(now + draw.exponential(5 * MILLISECOND));
        }
        if let Some(mishap) = self.network.stream(stream).route.mishap() {
            self.befall(stream, mishap);
        }
        let state = self.network.stream(stream);
        let (distance, busy) = (state.route.distance, state.route.busy(side, bytes));
        let pipe = state.outgoing(side);
        let start = (now + delay + distance).max(pipe.held_until).max(pipe.last_due);
        let at = start.saturating_add(busy);
        pipe.last_due = at;
        at
    }

    /// What was to befall a connection comes true.
    fn befall(&mut self, stream: u32, Mishap { site, draw, .. }: Mishap) {
        let now = self.now.0;
        let state = self.network.stream(stream);
        match site {
            // Not in the middle of a send, whose other pieces are still to go.
            Site::TornBetween => self.network.schedule(now, Action::Tear { stream }),
            Site::OneWayHole => {
                let side = if draw.happens(500_000) { Side::Broker } else { Side::Client };
                state.incoming(side).hold(NEVER);
            }
            Site::WindowShut => state.to_client.hold(now + draw.between(SECOND, 20 * SECOND)),
            Site::Swizzled => self.swizzle(draw),
            Site::PeerUnreachable => {
                state.hold(NEVER);
                let error = if draw.happens(500_000) { errno::ETIMEDOUT } else { errno::EHOSTUNREACH };
                let at = now + draw.part(0).exponential(300 * MILLISECOND);
                self.network.schedule(at, Action::GiveUp { stream, error });
            }
            _ => state.hold(NEVER),
        }
    }

    /// Clogs half of the connections one after the other, and frees them in another order.
    fn swizzle(&mut self, draw: Draw) {
        let now = self.now.0;
        for stream in 0..u32::try_from(self.network.streams.len()).expect("streams are counted in 32 bits") {
            let state = self.network.stream(stream);
            let draw = draw.part(state.identity);
            if state.broker.open && state.client.open && draw.happens(500_000) {
                let from = now + draw.part(0).below(50 * MILLISECOND);
                let until = from + draw.part(1).between(50 * MILLISECOND, 2 * SECOND);
                self.network.schedule(from, Action::Clog { stream, until });
            }
        }
    }

    fn piece_comes(&mut self, stream: u32, side: Side) {
        let state = self.network.stream(stream);
        state.incoming(side).piece_comes();
        if state.end(side).reset {
            // Sent before the other end had heard of it: whoever was told that the connection is torn reads nothing more.
            return state.incoming(side).drop_in_flight();
        }
        if !state.end(side).open {
            // Nobody is there to read: the peer hears of it by a reset.
            state.incoming(side).drop_all();
            let (silent, identity) = (state.end(side).silent, state.identity);
            let answers = !silent || self.fault(Site::VanishedPeerResets, identity).is_some();
            let is_reset = self.network.stream(stream).end(side.other()).reset;
            if answers && !is_reset && !self.flawed(Flaw::WriteToClosedPeerSucceeds) {
                let at = self.next_arrival(stream, side, 0);
                self.network.schedule(at, Action::Reset { stream, side: side.other() });
            }
            return;
        }
        self.settle(stream, side);
    }

    /// Lets in what is due at `side`, and tells both ends what that changes.
    pub(crate) fn settle(&mut self, stream: u32, side: Side) {
        if self.network.stream(stream).incoming(side).settle() {
            self.tell_reader(stream, side);
            self.tell_writer(stream, side.other());
        }
    }

    /// Tells the reader at `side` that there is something new.
    pub(crate) fn tell_reader(&mut self, stream: u32, side: Side) {
        if side == Side::Client {
            self.network.touch_client(stream);
            return;
        }
        let state = self.network.stream(stream);
        let (armed, identity) = (state.read_armed, state.identity);
        if armed && self.flawed(Flaw::EdgeAfterDrainLost) {
            return;
        }
        if armed
            || self.network.is_linux_like
            || self.flawed(Flaw::LevelTriggered)
            || self.fault(Site::ExtraEdge, identity).is_some()
        {
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
}

/// Where a cut of `bytes` bytes, which are more than one, hits what is read in steps: the length, the header, the last byte.
pub(crate) fn near_edge(draw: Draw, bytes: u64) -> u64 {
    let wanted = match draw.below(4) {
        0 | 1 => draw.part(0).between(1, 3),
        2 => draw.part(1).between(4, 14),
        _ => bytes - 1,
    };
    wanted.min(bytes - 1)
}
