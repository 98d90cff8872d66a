//! Owns the channels of its connections and says in which order their work is done: reading, answering and closing are in the files beside it.
//!
//! One request of a channel is in work at a time; the channel is read again when its answer is wholly written. It must not know what a
//! request means, and it never waits: its driver polls and steps.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::channel_table::{ChannelTable, connection_id};
use super::connection_queue::ConnectionQueue;
use super::connection_quotas::ConnectionQuotas;
use super::idle_queue::IdleQueue;
use super::kafka_channel::{KafkaChannel, Stage};
use super::memory_pool::MemoryPool;
use super::request::{Departure, ListenerContext, Request};
use super::request_channel::RequestChannel;
use crate::env::{Clock, Event, Interest, Selector, Step, Token};
use crate::metrics::RequestMetrics;
use crate::types::{Instant, Now, ProcessorId, Ticket};
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
    pub(super) id: ProcessorId,
    pub(super) listener: Arc<ListenerContext>,
    pub(super) settings: ProcessorSettings,
    pub(super) shared: ProcessorShared<S::Connection>,
    pub(super) selector: S,
    events: Vec<Event>,
    pub(super) channels: ChannelTable<KafkaChannel<S::Connection>>,
    pub(super) to_read: VecDeque<Token>,
    /// A request that the full queue refused; nothing is read until it is taken.
    pub(super) refused: Option<Request>,
    /// Channels that know their frame's length and got no memory.
    pub(super) starved: Vec<Token>,
    pub(super) throttled: Vec<(Instant, Token)>,
    /// Requests of closed channels that a handler has, or will have: it is told of the departure when it has parked them, not before.
    pub(super) orphans: Vec<Ticket>,
    pub(super) idle: IdleQueue,
    pub(super) scratch: Vec<u8>,
    pub(super) is_stopping: bool,
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
        worked |= self.close_excess();
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
            let Some(channel) = self.channels.get_mut(event.token) else { continue };
            channel.last_used = now.instant;
            if (event.error || event.write_closed) && channel.in_flight.is_some() {
                // Nobody is left to be answered: what the request waits for is forgotten at once, not when the answer finds no one.
                self.close(event.token, "the peer has reset it");
                continue;
            }
            if event.readable || event.read_closed || event.error {
                channel.is_readable = true;
                let is_leaving = event.read_closed || event.error;
                let is_news = is_leaving && !std::mem::replace(&mut channel.is_peer_finished, true);
                if is_news && channel.in_flight.is_some_and(|in_flight| in_flight.stage == Stage::Parked) {
                    self.shared.requests.depart(Departure::Finished(connection_id(self.id, event.token)));
                }
                self.queue_to_read(event.token);
            }
            let writes_on = event.writable && !zoo::is(Bug::WritableEventIgnored);
            if writes_on && self.channels.get(event.token).is_some_and(KafkaChannel::is_sending) {
                self.write(event.token);
            }
        }
        self.events.drain(..taken);
        taken > 0
    }
}
