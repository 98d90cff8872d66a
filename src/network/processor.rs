//! Owns the channels of its connections: reads frames, queues requests, writes answers, closes what must end.
//!
//! One request of a channel is in work at a time; the channel is read again when its answer is wholly written. It must not know what a
//! request means, and it never waits: its driver polls and steps.

mod answering; // takes what the handlers answer, and sends it
mod closing; // ends channels, and knows what requests they leave behind
mod reading; // makes requests of the frames of its channels

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use self::closing::Orphan;
use super::channel_table::ChannelTable;
use super::connection_queue::ConnectionQueue;
use super::connection_quotas::ConnectionQuotas;
use super::idle_queue::IdleQueue;
use super::kafka_channel::{KafkaChannel, PeerState};
use super::memory_pool::MemoryPool;
use super::request::{ListenerContext, Request};
use super::request_channel::RequestChannel;
use crate::env::{Clock, Event, Interest, Selector, Step, Token};
use crate::marks::Mark;
use crate::metrics::RequestMetrics;
use crate::types::{Instant, Now, ProcessorId};
use crate::zoo::{self, Bug};

/// The buffer through which small frames are read, shared by the channels of a Processor.
const SCRATCH_BYTES: usize = 16 << 10;

/// Settings of a Processor.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorSettings {
    /// `socket.request.max.bytes`.
    pub frame_bytes_max: usize,
    /// `connections.max.idle.ms`; `None` if connections may be idle for ever.
    pub idle_max: Option<Duration>,
    /// Units of work (connections, responses, events, reads: of each at most so many) in one step.
    pub quantum: usize,
}

/// What a Processor shares with others.
pub struct ProcessorShared<C> {
    /// New connections for it.
    pub new_connections: Arc<ConnectionQueue<C>>,
    /// Where requests go and responses come from.
    pub requests: Arc<RequestChannel>,
    /// Where its connections are counted.
    pub quotas: Arc<ConnectionQuotas>,
    /// Where its frames are counted.
    pub pool: Arc<MemoryPool>,
    /// Where request times go.
    pub metrics: Arc<RequestMetrics>,
    /// The stopwatch of the request times; nothing else may be read from it.
    pub stopwatch: Arc<dyn Clock>,
}

/// One network thread's worth of connections.
pub struct Processor<S: Selector> {
    id: ProcessorId,
    listener: Arc<ListenerContext>,
    settings: ProcessorSettings,
    shared: ProcessorShared<S::Connection>,
    selector: S,
    events: Vec<Event>,
    channels: ChannelTable<KafkaChannel<S::Connection>>,
    to_read: VecDeque<Token>,
    /// A request that the full queue refused; nothing is read until it is taken.
    refused: Option<Request>,
    /// Channels that know their frame's length and got no memory.
    starved: Vec<Token>,
    /// Channels that are not read for a while. It waits for quotas: no answer asks for that yet.
    throttled: Vec<(Instant, Token)>,
    orphans: Vec<Orphan>,
    idle: IdleQueue,
    scratch: Vec<u8>,
    is_stopping: bool,
}

impl<S: Selector> Processor<S> {
    /// A Processor without connections.
    pub fn new(
        id: ProcessorId,
        listener: Arc<ListenerContext>,
        settings: ProcessorSettings,
        shared: ProcessorShared<S::Connection>,
        selector: S,
    ) -> Processor<S> {
        Processor {
            id,
            listener,
            settings,
            shared,
            selector,
            events: Vec::new(),
            channels: ChannelTable::new(),
            to_read: VecDeque::new(),
            refused: None,
            starved: Vec::new(),
            throttled: Vec::new(),
            orphans: Vec::new(),
            idle: IdleQueue::new(settings.idle_max),
            scratch: vec![0; SCRATCH_BYTES],
            is_stopping: false,
        }
    }

    /// Its number.
    pub fn id(&self) -> ProcessorId {
        self.id
    }

    /// What it waits with, for a driver that must know who is ready.
    pub fn selector(&self) -> &S {
        &self.selector
    }

    /// Waits for readiness, for its driver.
    pub fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.selector.poll(&mut self.events, timeout)
    }

    /// One turn: what came, what is to be answered, what is to be read, what is to end.
    pub fn step(&mut self, now: Now) -> Step {
        let mut worked = self.register_new_connections(now);
        worked |= self.take_responses(now);
        worked |= self.take_events(now);
        worked |= self.end_throttles(now);
        worked |= self.feed_starved();
        worked |= self.read_channels(now);
        worked |= self.close_excess(now);
        worked |= self.close_idle(now);
        if worked { Step::Worked } else { Step::Idle { until: self.deadline() } }
    }

    /// From now on nothing new is read; what is in work is answered.
    pub fn begin_drain(&mut self) {
        self.is_stopping = true;
    }

    /// Whether no request is in work and no answer unwritten.
    pub fn is_drained(&self) -> bool {
        self.refused.is_none() && self.channels.iter().all(|channel| channel.in_flight.is_none())
    }

    fn deadline(&self) -> Option<Instant> {
        let throttle = self.throttled.iter().map(|(until, _)| *until).min();
        [throttle, self.idle.deadline()].into_iter().flatten().min()
    }

    fn register_new_connections(&mut self, now: Now) -> bool {
        let mut worked = false;
        for _ in 0..self.settings.quantum {
            let Some((connection, peer)) = self.shared.new_connections.take() else { break };
            worked = true;
            self.register(connection, peer, now);
        }
        worked
    }

    fn register(&mut self, mut connection: S::Connection, peer: SocketAddr, now: Now) {
        let token = self.channels.next_token();
        if let Err(error) = self.selector.register(&mut connection, token, Interest::Readable) {
            Mark::NotRegistered.reached();
            tracing::warn!(%peer, %error, "connection refused: it cannot be waited for");
            self.shared.quotas.leave(self.listener.index, peer.ip());
            return;
        }
        let token = self.channels.insert(KafkaChannel::new(connection, peer, now.instant));
        self.idle.watch(token, now.instant);
        self.queue_to_read(token);
    }

    fn take_events(&mut self, now: Now) -> bool {
        let taken = self.events.len().min(self.settings.quantum);
        for index in 0..taken {
            let Some(event) = self.events.get(index).copied() else { break };
            self.take_event(event, now);
        }
        self.events.drain(..taken);
        taken > 0
    }

    fn take_event(&mut self, event: Event, now: Now) {
        let Some(channel) = self.channels.get_mut(event.token) else {
            Mark::StaleEvent.reached();
            return;
        };
        channel.last_used = now.instant;
        let state = PeerState::shown_by(&event);
        let is_news = state > channel.peer_state;
        channel.peer_state = state.max(channel.peer_state);
        if event.readable || state != PeerState::Open {
            channel.is_readable = true;
            self.queue_to_read(event.token);
        }
        if is_news {
            self.heed_peer_state(event.token);
        }
        if state == PeerState::Finished && zoo::is(Bug::FinishedPeerCut) {
            return self.close(event.token, "the peer closed it");
        }
        let writes_on = event.writable && !zoo::is(Bug::WritableEventIgnored);
        if writes_on && self.channels.get(event.token).is_some_and(KafkaChannel::is_sending) {
            self.write(event.token, now);
        }
    }
}

impl<S: Selector> Drop for Processor<S> {
    fn drop(&mut self) {
        while let Some((_, peer)) = self.shared.new_connections.take() {
            self.shared.quotas.leave(self.listener.index, peer.ip());
        }
        for token in self.channels.tokens() {
            self.close(token, "the broker stops");
        }
    }
}
