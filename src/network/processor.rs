//! Owns the channels of its connections: reads frames, queues requests, writes answers, closes what must end.
//!
//! One request of a channel is in work at a time; the channel is read again when its answer is wholly written. It must not know what a
//! request means, and it never waits: its driver polls and steps.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::channel_table::{ChannelTable, connection_id, token_of};
use super::connection_queue::ConnectionQueue;
use super::connection_quotas::ConnectionQuotas;
use super::idle_queue::IdleQueue;
use super::kafka_channel::{InFlight, KafkaChannel, Stage};
use super::likely_cause::likely_cause;
use super::memory_pool::MemoryPool;
use super::network_receive::Received;
use super::network_send::SendProgress;
use super::request::{Departure, ListenerContext, Request, Response, ResponseKind};
use super::request_channel::RequestChannel;
use crate::env::{Clock, Event, Interest, Piece, Selector, Step, Token};
use crate::limits::READ_BUDGET_BYTES;
use crate::metrics::RequestMetrics;
use crate::protocol::{ApiKey, Decoder, HeaderError, RequestHeader};
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
    throttled: Vec<(Instant, Token)>,
    /// Requests of closed channels that a handler has, or will have: it is told of the departure when it has parked them, not before.
    orphans: Vec<Ticket>,
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

    fn take_responses(&mut self, now: Now) -> bool {
        let mut worked = false;
        for _ in 0..self.settings.quantum {
            let Some(response) = self.shared.requests.take_response(self.id) else { break };
            worked = true;
            self.take_response(response, now);
        }
        worked
    }

    fn take_response(&mut self, response: Response, now: Now) {
        let token = token_of(response.ticket.connection);
        let stopwatch = self.shared.stopwatch.stopwatch();
        // A channel that is gone needs no answer.
        let Some(channel) = self.channels.get_mut(token) else { return self.bury_orphan(&response) };
        if let ResponseKind::Parked { keeps_frame } = response.kind {
            return self.note_parked(token, &response, keeps_frame);
        }
        let Some(in_flight) = &mut channel.in_flight else {
            return self.close(token, "two answers to one request");
        };
        if in_flight.ticket != response.ticket
            && !zoo::is(Bug::NoMuteWhileProcessing)
            && !zoo::is(Bug::SlotReuseWithoutGeneration)
        {
            return self.close(token, "an answer to a request that is not in work");
        }
        self.shared.pool.give_back(std::mem::take(&mut in_flight.frame_bytes));
        in_flight.stage = Stage::Answered;
        in_flight.response_dequeued = stopwatch;
        in_flight.times.response_complete = response.times.response_complete;
        if in_flight.times.dequeued == Instant(0) {
            in_flight.times = response.times;
        }
        if !response.throttle.is_zero() {
            let until = now.instant.after(response.throttle);
            if channel.throttle(until).is_none() {
                return self.close(token, "a throttle that may not start");
            }
            self.throttled.push((until, token));
        }
        match response.kind {
            ResponseKind::Parked { .. } | ResponseKind::NoOp => self.finish_response(token),
            ResponseKind::Close(reason) => self.close(token, reason),
            ResponseKind::Malformed(error) => {
                let Ticket { api_key, api_version, .. } = response.ticket;
                let detail = format!("API key {api_key}, version {api_version}: {error}");
                self.close_stranger(token, now, "a request whose body cannot be read", &detail);
            }
            ResponseKind::Send(pieces) => self.begin_send(token, pieces),
        }
    }

    /// The handler is done with a request that is parked: its frame is freed. The note may come after the answer itself, which another
    /// role sends, and is then of no interest.
    fn note_parked(&mut self, token: Token, response: &Response, keeps_frame: bool) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        let is_meant = |known: &&mut InFlight| known.ticket == response.ticket && known.stage == Stage::AtHandler;
        let Some(in_flight) = channel.in_flight.as_mut().filter(is_meant) else { return };
        in_flight.times = response.times;
        in_flight.stage = Stage::Parked;
        if !keeps_frame {
            self.shared.pool.give_back(std::mem::take(&mut in_flight.frame_bytes));
        }
        if channel.is_peer_finished {
            self.shared.requests.depart(Departure::Finished(response.ticket.connection));
        }
    }

    /// A request of a closed channel is back from its handler: if it is parked, nobody is there to be answered.
    fn bury_orphan(&mut self, response: &Response) {
        let Some(place) = self.orphans.iter().position(|ticket| *ticket == response.ticket) else { return };
        self.orphans.swap_remove(place);
        if matches!(response.kind, ResponseKind::Parked { .. }) {
            self.shared.requests.depart(Departure::Closed(response.ticket.connection));
        }
    }

    fn begin_send(&mut self, token: Token, pieces: Vec<Piece>) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        if channel.begin_send(pieces).is_none() {
            return self.close(token, "an answer while another is being sent");
        }
        self.write(token);
    }

    fn write(&mut self, token: Token) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        match channel.write() {
            Ok(SendProgress::Complete) => self.finish_response(token),
            Ok(SendProgress::Blocked) if channel.wants_writable => {}
            Ok(SendProgress::Blocked) => {
                channel.wants_writable = true;
                let wanted = self.selector.reregister(&mut channel.connection, token, Interest::ReadableWritable);
                if wanted.is_err() {
                    self.close(token, "it cannot be waited for");
                }
            }
            Err(error) => self.close_for(token, &error),
        }
    }

    /// The answer is out, or there was none: count it and read the channel again.
    fn finish_response(&mut self, token: Token) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        let Some(in_flight) = channel.response_sent() else {
            return self.close(token, "an answer that nobody waits for");
        };
        let points = [
            in_flight.received,
            in_flight.times.dequeued,
            in_flight.times.local_complete,
            in_flight.times.response_complete,
            in_flight.response_dequeued,
            self.shared.stopwatch.stopwatch(),
        ];
        self.shared.metrics.record(in_flight.ticket.api_key, points);
        tracing::trace!(
            peer = %channel.peer,
            api_key = in_flight.ticket.api_key,
            api_version = in_flight.ticket.api_version,
            correlation_id = in_flight.ticket.correlation_id,
            total_us = points[5].since(points[0]).as_micros(),
            "request answered"
        );
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

    fn end_throttles(&mut self, now: Now) -> bool {
        let (over, running): (Vec<_>, Vec<_>) = self.throttled.drain(..).partition(|(until, _)| *until <= now.instant);
        self.throttled = running;
        for (_, token) in &over {
            let Some(channel) = self.channels.get_mut(*token) else { continue };
            match channel.end_throttle() {
                Some(()) => self.queue_to_read(*token),
                None => self.close(*token, "a throttle that may not end"),
            }
        }
        !over.is_empty()
    }

    /// Lets channels that lacked memory try again.
    fn feed_starved(&mut self) -> bool {
        if self.starved.is_empty() || self.shared.pool.processor_starves(self.id) {
            return false;
        }
        for token in std::mem::take(&mut self.starved) {
            self.queue_to_read(token);
        }
        true
    }

    fn queue_to_read(&mut self, token: Token) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        if channel.may_be_read() && !channel.is_queued_to_read {
            channel.is_queued_to_read = true;
            self.to_read.push_back(token);
        }
    }

    /// Reads each channel of the queue once, unless a request was refused: then nothing is read until it is taken.
    fn read_channels(&mut self, now: Now) -> bool {
        let mut worked = false;
        if let Some(request) = self.refused.take() {
            match self.shared.requests.offer(self.id, request) {
                Ok(()) => worked = true,
                Err(request) => self.refused = Some(*request),
            }
        }
        for _ in 0..self.to_read.len().min(self.settings.quantum) {
            if self.refused.is_some() || self.is_stopping {
                break;
            }
            let Some(token) = self.to_read.pop_front() else { break };
            worked = true;
            self.read(token, now);
        }
        worked
    }

    fn read(&mut self, token: Token, now: Now) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        channel.is_queued_to_read = false;
        if !channel.may_be_read() {
            return;
        }
        let received =
            channel.read(&mut self.scratch, self.settings.frame_bytes_max, &self.shared.pool, READ_BUDGET_BYTES);
        match received {
            Ok(Received::Frame(frame)) => self.receive(token, frame, now),
            Ok(Received::Blocked) => {}
            Ok(Received::BudgetSpent) => self.queue_to_read(token),
            Ok(Received::NoMemory) => self.starved.push(token),
            Ok(Received::Ended) if channel.is_inside_frame() => {
                let class = "the peer closed it inside a frame: it has crashed, or does not speak the Kafka protocol";
                self.close_stranger(token, now, class, "");
            }
            Ok(Received::Ended) => self.close(token, "the peer closed it"),
            Ok(Received::BadLength(prefix)) => {
                let detail = format!("first bytes: {}", prefix.escape_ascii());
                self.close_stranger(token, now, likely_cause(prefix), &detail);
            }
            Err(error) => self.close_for(token, &error),
        }
    }

    /// Makes a request of a frame and queues it.
    fn receive(&mut self, token: Token, frame: Bytes, now: Now) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        channel.last_used = now.instant;
        let mut decoder = Decoder::new(&frame);
        let header = match RequestHeader::decode(&mut decoder) {
            Ok(header) => header,
            // The one unsupported version that is answered instead of closed: so a client learns which versions there are.
            Err(HeaderError::UnsupportedVersion(header)) if header.api_key == ApiKey::ApiVersions => header,
            Err(error) => {
                let detail = format!("a frame of {} bytes: {error}", frame.len());
                self.shared.pool.give_back(frame.len());
                return self.close_stranger(token, now, "a frame whose header is no request's", &detail);
            }
        };
        let body_at = frame.len() - decoder.remaining();
        channel.requests = channel.requests.wrapping_add(1);
        let ticket = Ticket {
            connection: connection_id(self.id, token),
            ordinal: channel.requests,
            correlation_id: header.correlation_id,
            api_key: header.api_key.code(),
            api_version: header.api_version,
        };
        let received = self.shared.stopwatch.stopwatch();
        let in_flight = InFlight {
            ticket,
            stage: Stage::AtHandler,
            frame_bytes: frame.len(),
            received,
            times: Default::default(),
            response_dequeued: received,
        };
        if channel.request_received(in_flight).is_none() {
            return self.close(token, "a request while another is in work");
        }
        let listener = Arc::clone(&self.listener);
        let request = Request { ticket, frame, body_at, listener, peer: channel.peer, local: channel.local, received };
        if let Err(refused) = self.shared.requests.offer(self.id, request) {
            self.refused = Some(*refused);
        }
    }

    /// Closes one channel if the broker has more than it may: the one unused the longest.
    fn close_excess(&mut self) -> bool {
        if !self.shared.quotas.is_exceeded(self.listener.index) {
            return false;
        }
        let oldest = self
            .channels
            .tokens()
            .into_iter()
            .min_by_key(|token| self.channels.get(*token).map(|channel| channel.last_used));
        match oldest {
            Some(token) => {
                self.close(token, "max.connections is exceeded");
                true
            }
            None => false,
        }
    }

    /// Closes at most one idle channel, as Kafka does.
    fn close_idle(&mut self, now: Now) -> bool {
        let channels = &self.channels;
        match self.idle.expired(now.instant, |token| channels.get(token).map(|channel| channel.last_used)) {
            Some(token) => {
                if self.channels.get(token).is_some_and(KafkaChannel::is_inside_frame) {
                    let class = "idle for connections.max.idle.ms inside a frame: the peer hangs, or does not speak the Kafka protocol";
                    self.close_stranger(token, now, class, "");
                } else {
                    self.close(token, "idle for connections.max.idle.ms");
                }
                true
            }
            None => false,
        }
    }

    fn close_for(&mut self, token: Token, error: &io::Error) {
        self.close(token, &format!("input or output failed: {error}"));
    }

    /// Closes a channel whose bytes are no requests, and tells the operator of the likely cause.
    fn close_stranger(&mut self, token: Token, now: Now, class: &'static str, detail: &str) {
        if let Some(channel) = self.channels.get(token) {
            self.listener.nonsense.tell(now.instant, &self.listener.name, channel.peer, class, detail);
        }
        self.close(token, class);
    }

    /// Ends a connection: exactly once leaves the quotas, gives its memory back, and lets what a request of it waits for be forgotten.
    fn close(&mut self, token: Token, reason: &str) {
        let Some(mut channel) = self.channels.remove(token) else { return };
        tracing::debug!(peer = %channel.peer, listener = %self.listener.name, reason, "connection closed");
        // A failure to deregister changes nothing: the socket is closed right after.
        let _ = self.selector.deregister(&mut channel.connection);
        self.shared.pool.give_back(channel.held_bytes());
        self.shared.quotas.leave(self.listener.index, channel.peer.ip());
        self.throttled.retain(|(_, other)| *other != token);
        match channel.in_flight {
            Some(InFlight { stage: Stage::Parked, ticket, .. }) => {
                self.shared.requests.depart(Departure::Closed(ticket.connection));
            }
            Some(InFlight { stage: Stage::AtHandler, ticket, .. }) => self.orphans.push(ticket),
            Some(InFlight { stage: Stage::Answered, .. }) | None => {}
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
