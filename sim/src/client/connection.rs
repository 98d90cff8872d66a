//! Frames over one simulated socket: requests go out in whatever cuts there are, answers come back in order.
//!
//! It must not know what a request asks. That answers come in order, once each, is checked here, where they are seen.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use klamm::protocol::header::decode_response_header;
use klamm::protocol::{ApiKey, Decoder, Message, encode_request};
use klamm::types::Instant;

use super::versions::one_of;
use super::{ClientContext, versions};
use crate::checker::Violation;
use crate::client_socket::ClientSocket;
use crate::keyed::{Draw, Key, Site};
use crate::plan::INNER_PORT;
use crate::stream::Turnaround;

/// The most bytes that one read takes.
const READ_BYTES: usize = 4 << 10;

/// A request whose answer is still to come.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    correlation_id: i32,
    api_key: ApiKey,
    version: i16,
    since: Instant,
}

/// What a pump brought.
#[derive(Debug)]
pub(crate) enum ConnectionNews {
    /// An answer: its correlation id, API, version, and the body.
    Answer(i32, ApiKey, i16, Vec<u8>),
    /// Nothing for now.
    Nothing,
    /// The connection is over; what is outstanding has no answer.
    Over,
}

/// One connection of a client.
pub(crate) struct ClientConnection {
    socket: ClientSocket,
    identity: u64,
    outgoing: VecDeque<u8>,
    incoming: Vec<u8>,
    /// Bytes that were queued, and bytes of answers that were taken, from the start on.
    queued: u64,
    taken: u64,
    outstanding: VecDeque<Outstanding>,
    next_correlation_id: i32,
    /// The start of the broker that it was opened to.
    boot: u32,
    is_half_closed: bool,
    /// The broker may not close it: nothing is wrong with it and no fault is about.
    is_blameless: bool,
    /// Faults of the network before it was opened.
    network_faults: u64,
    /// It was so until it said that it would write no more, and all that it had to say was said: each request is answered before the end.
    is_owed_answers: bool,
}

impl ClientConnection {
    /// Starts to connect. The identity names client and attempt for chance. Some come by IPv6.
    pub(crate) fn open(client: u32, attempt: u32, context: &ClientContext<'_>) -> ClientConnection {
        let draw = context.world.value(Site::FirstCorrelationId, identity(client, attempt));
        let from = if draw.part(1).below(8) == 0 {
            IpAddr::from([0xfd00, 0, 0, 0, 0, 0, low_bits(client >> 16), low_bits(client)])
        } else {
            let [_, _, high, low] = client.to_be_bytes();
            IpAddr::from([10, 0, high, low])
        };
        ClientConnection::between(from, context.broker, (client, attempt), draw, context)
    }

    /// The same by the listener of operators, from an address that no other connection comes from.
    pub(crate) fn open_inner(client: u32, attempt: u32, context: &ClientContext<'_>) -> ClientConnection {
        let draw = context.world.value(Site::FirstCorrelationId, identity(client, attempt));
        let from =
            [0xfd01, 0, 0, 0, low_bits(client >> 16), low_bits(client), low_bits(attempt >> 16), low_bits(attempt)];
        let to = SocketAddr::new(context.broker.ip(), INNER_PORT);
        ClientConnection::between(IpAddr::from(from), to, (client, attempt), draw, context)
    }

    fn between(
        from: IpAddr,
        to: SocketAddr,
        (client, attempt): (u32, u32),
        draw: Draw,
        context: &ClientContext<'_>,
    ) -> ClientConnection {
        let identity = identity(client, attempt);
        let port = 1_024 + u16::try_from(attempt % 60_000).unwrap_or(0);
        let socket = context.world.connect(identity, SocketAddr::new(from, port), to);
        // No two connections use the same numbers, so that an answer that went astray is recognised. Some begin where the numbers wrap.
        let near_end = draw.part(0).below(8) == 0;
        let first = if near_end { i32::MAX - 2 } else { i32::try_from(draw.below(1 << 30)).unwrap_or(1) };
        ClientConnection {
            socket,
            identity,
            outgoing: VecDeque::new(),
            incoming: Vec::new(),
            queued: 0,
            taken: 0,
            outstanding: VecDeque::new(),
            next_correlation_id: first,
            boot: context.boot,
            is_half_closed: false,
            is_blameless: context.is_network_sound,
            network_faults: context.network_faults,
            is_owed_answers: false,
        }
    }

    /// The name of the connection, by which the network tells of news.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Requests without an answer so far.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Since when the oldest of them is open.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        self.outstanding.front().map(|oldest| oldest.since)
    }

    /// Whether its broker is gone although the run is calm: nobody will ever say so if the power was cut.
    pub(crate) fn is_of_the_past(&self, context: &ClientContext<'_>) -> bool {
        context.is_calm && self.boot != context.boot
    }

    /// The broker may close it: it does so without a word if an acks=0 batch cannot be appended.
    pub(crate) fn may_be_closed(&mut self) {
        self.is_blameless = false;
    }

    /// The API and the version in which this connection speaks to it: any that will do, always the same.
    pub(crate) fn api(
        &self,
        context: &ClientContext<'_>,
        api_key: ApiKey,
        will_do: &RangeInclusive<i16>,
    ) -> (ApiKey, i16) {
        let ordinal = u64::from(api_key.code().unsigned_abs());
        let draw = context.world.value_for_good(Key { site: Site::ApiVersion, entity: self.identity, ordinal });
        (api_key, one_of(draw, api_key, will_do))
    }

    /// Queues a request. One that is never answered (acks=0) is not waited for.
    pub(crate) fn send<'m, M: Message<'m>>(
        &mut self,
        context: &ClientContext<'_>,
        (api_key, version): (ApiKey, i16),
        message: &M,
        is_answered: bool,
    ) -> i32 {
        context.world.say(versions::to_word(api_key, version));
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id = correlation_id.wrapping_add(1);
        let frame = encode_request(api_key, version, correlation_id, Some("sim"), message);
        self.outgoing.extend(frame.bytes.iter());
        self.queued += frame.bytes.len() as u64;
        if is_answered {
            self.outstanding.push_back(Outstanding { correlation_id, api_key, version, since: context.now() });
        }
        correlation_id
    }

    /// Queues so many bytes of a request, and nothing after them.
    pub(crate) fn send_start<'m, M: Message<'m>>(
        &mut self,
        (api_key, version): (ApiKey, i16),
        message: &M,
        bytes: usize,
    ) {
        let frame = encode_request(api_key, version, self.next_correlation_id, Some("sim"), message);
        let queued = self.outgoing.len();
        self.outgoing.extend(frame.bytes.iter().take(bytes));
        self.queued += (self.outgoing.len() - queued) as u64;
    }

    /// Whether everything that was queued is on its way.
    pub(crate) fn is_flushed(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Says that it will write no more; what was queued and not written yet is never sent.
    pub(crate) fn half_close(&mut self) {
        if !self.is_half_closed && self.socket.readiness().connected {
            self.is_half_closed = true;
            self.is_owed_answers = self.is_blameless && self.outgoing.is_empty();
            self.is_blameless = false;
            self.outgoing.clear();
            self.socket.shutdown_write();
        }
    }

    /// Whether it may still write.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.is_half_closed
    }

    /// Where the last request ends that was queued, in bytes from the start.
    pub(crate) fn queued_bytes(&self) -> u64 {
        self.queued
    }

    /// Where the last answer ended, in bytes from the start.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken
    }

    /// Whether the broker has closed or torn it, be it that answers still wait to be read.
    pub(crate) fn has_ended(&self) -> bool {
        self.socket.has_ended()
    }

    /// How many bytes the broker has read, and how many it has sent.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.socket.progress()
    }

    /// What the broker did last with it.
    pub(crate) fn turnaround(&self) -> Turnaround {
        self.socket.turnaround()
    }

    /// Writes what can be written and reads towards the next answer.
    pub(crate) fn pump(&mut self, context: &mut ClientContext<'_>) -> ConnectionNews {
        let mut bytes_left = usize::MAX;
        self.sip(context, &mut bytes_left)
    }

    /// The same, but takes at most so many bytes, and says how many of them are left.
    pub(crate) fn sip(&mut self, context: &mut ClientContext<'_>, bytes_left: &mut usize) -> ConnectionNews {
        if self.write(context).is_err() {
            return self.over(context);
        }
        let mut buffer = [0; READ_BYTES];
        loop {
            if let Some(news) = self.next_answer(context) {
                return news;
            }
            let room = READ_BYTES.min(*bytes_left);
            if room == 0 {
                return ConnectionNews::Nothing;
            }
            match self.socket.read(&mut buffer[..room]) {
                Ok(0) => return self.over(context),
                Ok(read) => {
                    *bytes_left -= read;
                    self.incoming.extend_from_slice(&buffer[..read]);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return ConnectionNews::Nothing,
                Err(_) => return self.over(context),
            }
        }
    }

    fn over(&self, context: &mut ClientContext<'_>) -> ConnectionNews {
        let is_undisturbed = self.network_faults == context.network_faults;
        if self.is_blameless && is_undisturbed && self.boot == context.boot {
            context.history.violate(Violation::ClosedWithoutCause { connection: self.identity });
        }
        if self.is_owed_answers && is_undisturbed && !self.outstanding.is_empty() && self.boot == context.boot {
            context.history.violate(Violation::Unanswered { connection: self.identity });
        }
        ConnectionNews::Over
    }

    /// Writes what can be written.
    pub(crate) fn flush(&mut self, context: &ClientContext<'_>) {
        // One that is torn anyway is told of errors by nobody.
        let _ = self.write(context);
    }

    /// Tears the connection, so that the broker learns of it by an error.
    pub(crate) fn reset(self) {
        self.socket.reset();
    }

    fn write(&mut self, context: &ClientContext<'_>) -> std::io::Result<()> {
        while !self.outgoing.is_empty() {
            let bytes = self.outgoing.make_contiguous();
            let draw = context.world.value(Site::ClientWrite, self.identity);
            // Half of the writes are whole, the others are cut anywhere.
            let cut =
                if draw.happens(500_000) { bytes.len() } else { draw.part(0).between(1, bytes.len() as u64) as usize };
            match self.socket.write(&bytes[..cut]) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn next_answer(&mut self, context: &mut ClientContext<'_>) -> Option<ConnectionNews> {
        let prefix = i32::from_be_bytes(*self.incoming.first_chunk()?);
        let Ok(length) = usize::try_from(prefix) else {
            context.history.violate(Violation::UnaskedAnswer { connection: self.identity });
            return Some(ConnectionNews::Over);
        };
        let frame = self.incoming.get(4..length.checked_add(4)?)?.to_vec();
        self.incoming.drain(..4 + length);
        self.taken += 4 + length as u64;
        let Some(expected) = self.outstanding.pop_front() else {
            context.history.violate(Violation::UnaskedAnswer { connection: self.identity });
            return Some(ConnectionNews::Over);
        };
        let mut decoder = Decoder::new(&frame);
        let correlation_id = decode_response_header(&mut decoder, expected.api_key, expected.version);
        if correlation_id != Ok(expected.correlation_id) {
            context.history.violate(Violation::AnswerOutOfOrder { connection: self.identity });
            return Some(ConnectionNews::Over);
        }
        let body = frame[frame.len() - decoder.remaining()..].to_vec();
        Some(ConnectionNews::Answer(expected.correlation_id, expected.api_key, expected.version, body))
    }
}

/// How chance and the network call a connection.
fn identity(client: u32, attempt: u32) -> u64 {
    u64::from(client) << 32 | u64::from(attempt)
}

fn low_bits(number: u32) -> u16 {
    u16::try_from(number & 0xffff).unwrap_or(0)
}

/// A deadline some time after now.
pub(crate) fn later(context: &ClientContext<'_>, nanoseconds: u64) -> Instant {
    Instant(context.now().0.saturating_add(nanoseconds))
}

/// The earlier of two deadlines.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}
