//! How connections come about on the simulated network: connects on their way, backlogs, strangers, and what each way is like.
//!
//! It must not know frames or requests, nor what happens on a connection that is made.

use std::net::SocketAddr;

use crate::errno;
use crate::flaw::Flaw;
use crate::kernel::Kernel;
use crate::keyed::{Draw, Site, mix};
use crate::network_state::{Action, Manner};
use crate::pipe::Pipe;
use crate::route::{Mishap, Route};
use crate::stream::{End, Phase, Side, Stream, Turnaround};
use crate::trace::TraceKind;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// How often a connect is tried against a full backlog or a lossy network, waiting 1, 2, 4, 8 and 16 seconds.
const CONNECT_ATTEMPTS: u32 = 5;
/// A socket's buffer when no fault makes it small.
const BUFFER_BYTES: u64 = 64 * 1_024;
/// Marks the names of strangers, which are no client's.
const STRANGER: u64 = 1 << 63;
/// What befalls connections in the middle of their life.
const MISHAPS: [Site; 6] =
    [Site::TornBetween, Site::PeerUnreachable, Site::BlackHole, Site::OneWayHole, Site::WindowShut, Site::Swizzled];
/// It befalls them within so many pieces.
const MISHAP_PIECES_MAX: u64 = 16;

impl Kernel {
    /// A new connection on its way from `peer` to `to`.
    pub(crate) fn connect(&mut self, identity: u64, peer: SocketAddr, to: SocketAddr) -> u32 {
        let mut capacity = [BUFFER_BYTES; 4];
        if let Some(draw) = self.fault(Site::SmallBuffers, identity) {
            for (index, bytes) in (0..).zip(&mut capacity) {
                *bytes = small(draw.part(index), draw.part(index + 4));
            }
        }
        if let Some(draw) = self.fault(Site::SmallSendBuffer, identity) {
            capacity[3] = small(draw.part(0), draw.part(1));
        }
        let route = self.route(identity);
        let delay = self.value(Site::ConnectDelay, identity).exponential(self.network.mean_delay) + route.distance;
        let stream = self.set_out(identity, (peer, to), capacity, route, delay);
        self.note(TraceKind::Client, identity, 0);
        if let Some(draw) = self.fault(Site::ConnectStorm, identity) {
            for number in 0..draw.between(2, 60) {
                let stay = draw.part(number).exponential(20 * MILLISECOND);
                self.stranger(mix(identity ^ (number << 40)), (peer, to), delay, stay, draw.part(100 + number));
            }
        }
        if let Some(draw) = self.fault(Site::ConnectAndVanish, identity) {
            self.stranger(mix(!identity), (peer, to), delay, 0, draw);
        }
        stream
    }

    /// Puts a connect on its way.
    fn set_out(
        &mut self,
        identity: u64,
        (peer, local): (SocketAddr, SocketAddr),
        [broker_in, client_out, client_in, broker_out]: [u64; 4],
        route: Route,
        delay: u64,
    ) -> u32 {
        let stream =
            u32::try_from(self.network.streams.len()).expect("a run makes less than four thousand million connections");
        self.network.streams.push(Stream {
            turnaround: Turnaround::default(),
            identity,
            peer,
            local,
            phase: Phase::Connecting,
            accepted: None,
            to_broker: Pipe::new(broker_in, client_out),
            to_client: Pipe::new(client_in, broker_out),
            broker: End::default(),
            client: End { open: true, ..End::default() },
            registration: None,
            read_armed: false,
            write_armed: false,
            route,
            // Nobody asks for a stranger's news.
            client_touched: identity & STRANGER != 0,
        });
        self.network.schedule(self.now.0 + delay, Action::Connect { stream, attempt: 0 });
        stream
    }

    /// Somebody who connects from beside `peer`, says nothing, and leaves after a while.
    fn stranger(&mut self, name: u64, (peer, to): (SocketAddr, SocketAddr), delay: u64, stay: u64, draw: Draw) {
        let from = SocketAddr::new(peer.ip(), 61_000 + u16::try_from(draw.part(0).below(4_000)).unwrap_or(0));
        let stream = self.set_out(name | STRANGER, (from, to), [BUFFER_BYTES; 4], Route::default(), delay);
        let manner = match draw.below(3) {
            0 => Manner::Close,
            1 => Manner::Reset,
            _ => Manner::Vanish,
        };
        self.network.schedule(self.now.0 + delay + stay, Action::Leave { stream, manner });
    }

    /// A stranger leaves.
    pub(crate) fn leave(&mut self, stream: u32, manner: Manner) {
        match manner {
            Manner::Close => self.close(stream, Side::Client),
            Manner::Vanish if !self.chance.is_calm() => {
                self.vanish(stream);
                self.network.half_open.push((stream, Side::Client));
            }
            Manner::Reset | Manner::Vanish => self.tear_client(stream),
        }
    }

    /// What the way of a connection is like, and what will befall it.
    fn route(&mut self, identity: u64) -> Route {
        let mut route = Route::of(self.distance(identity >> 32));
        if let Some(draw) = self.fault(Site::LittleBandwidth, identity) {
            route.bandwidth = Some([1_000, 10_000, 100_000, 1_000_000][draw.below(4) as usize]);
        }
        if let Some(draw) = self.fault(Site::SlowSender, identity) {
            route.drip = Some(draw.exponential(2 * MILLISECOND));
        }
        if let Some(draw) = self.fault(Site::OneByteReads, identity) {
            route.one_byte_reads = draw.between(1, 300);
        }
        for site in MISHAPS {
            if let Some(draw) = self.fault(site, identity) {
                route.expect(Mishap { pieces_left: draw.between(1, MISHAP_PIECES_MAX), site, draw });
            }
        }
        route
    }

    /// How far away a client is, on each of its connections.
    fn distance(&mut self, client: u64) -> u64 {
        if let Some(distance) = self.network.distances.get(&client) {
            return *distance;
        }
        let distance =
            self.fault(Site::SlowPeer, client).map_or(0, |draw| draw.between(MILLISECOND, 100 * MILLISECOND));
        self.network.distances.insert(client, distance);
        distance
    }

    pub(crate) fn connect_comes(&mut self, stream: u32, attempt: u32) {
        let state = self.network.stream(stream);
        if state.phase != Phase::Connecting {
            return;
        }
        let (address, gone, identity) = (state.local, !state.client.open, state.identity);
        let listener = self.network.listener_at(address).filter(|_| !gone);
        let Some(listener) = listener.filter(|_| self.fault(Site::ConnectRefused, identity).is_none()) else {
            return self.refuse(stream, errno::ECONNREFUSED);
        };
        let listener = if self.flawed(Flaw::ListenersMixed) { 0 } else { listener };
        let state = &self.network.listeners[listener];
        if state.waiting.len() >= state.backlog.max(1) || self.fault(Site::ConnectHangs, identity).is_some() {
            if attempt >= CONNECT_ATTEMPTS {
                return self.refuse(stream, errno::ETIMEDOUT);
            }
            let at = self.now.0 + (SECOND << attempt);
            return self.network.schedule(at, Action::Connect { stream, attempt: attempt + 1 });
        }
        let newest_first = self.flawed(Flaw::AcceptsNewestFirst);
        let state = &mut self.network.listeners[listener];
        if newest_first {
            state.waiting.push_front(stream)
        } else {
            state.waiting.push_back(stream)
        }
        let (armed, entity) = (state.armed, state.entity);
        let state = self.network.stream(stream);
        state.phase = Phase::Waiting;
        state.broker.open = true;
        self.network.touch_client(stream);
        let owed = armed || self.network.is_linux_like || self.fault(Site::ExtraEdge, entity).is_some();
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
}

/// The size of a small buffer: as likely of a few bytes as of a few thousand.
fn small(magnitude: Draw, size: Draw) -> u64 {
    size.between(1, 1 << magnitude.below(13))
}
