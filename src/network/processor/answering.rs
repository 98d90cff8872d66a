//! How a Processor takes what the handlers answer, sends it, and lets the channel go on.
//!
//! It must not know how requests come in.

use std::time::Duration;

use super::Processor;
use crate::env::{Interest, Piece, Selector, Token};
use crate::marks::Mark;
use crate::network::channel_table::{connection_id, token_of};
use crate::network::kafka_channel::{InFlight, KafkaChannel, PeerState, Stage};
use crate::network::network_send::SendProgress;
use crate::network::request::{Departure, RequestTimes, Response, ResponseKind};
use crate::types::{Instant, Now, Ticket};
use crate::zoo::{self, Bug};

impl<S: Selector> Processor<S> {
    pub(super) fn take_responses(&mut self, now: Now) -> bool {
        let mut worked = false;
        for _ in 0..self.settings.quantum {
            let Some(response) = self.shared.requests.take_response(self.id) else { break };
            worked = true;
            self.take_response(response, now);
        }
        worked
    }

    fn take_response(&mut self, response: Response, now: Now) {
        let Response { ticket, kind, throttle, times } = response;
        let token = token_of(ticket.connection);
        if self.channels.get(token).is_none() {
            return self.bury_orphan(ticket, &kind, times);
        }
        match kind {
            ResponseKind::Parked { keeps_frame } => self.note_parked(token, ticket, times, keeps_frame),
            ResponseKind::NoOp => {
                if self.note_answered(token, ticket, times) && self.begin_throttle(token, throttle, now) {
                    self.finish_response(token, now);
                }
            }
            ResponseKind::Send(pieces) => {
                if self.note_answered(token, ticket, times) && self.begin_throttle(token, throttle, now) {
                    self.begin_send(token, pieces, now);
                }
            }
            ResponseKind::Close(reason) => {
                self.note_answered(token, ticket, times);
                self.close(token, reason);
            }
            ResponseKind::Malformed(error) => {
                Mark::UnreadableBody.reached();
                self.note_answered(token, ticket, times);
                // It is no request: the request times do not know it.
                self.channels.get_mut(token).map(|channel| channel.in_flight.take());
                let detail = format!("API key {}, version {}: {error}", ticket.api_key, ticket.api_version);
                self.close_stranger(token, now, "a request whose body cannot be read", &detail);
            }
        }
    }

    /// The handler is done with a request that is parked: its frame is freed. The note may come after the answer itself, which another
    /// role sends, and is then of no interest.
    fn note_parked(&mut self, token: Token, ticket: Ticket, times: RequestTimes, keeps_frame: bool) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        let is_meant = |known: &&mut InFlight| known.ticket == ticket && known.stage == Stage::AtHandler;
        let Some(in_flight) = channel.in_flight.as_mut().filter(is_meant) else { return };
        in_flight.times = times;
        in_flight.stage = Stage::Parked;
        if !keeps_frame {
            self.shared.pool.give_back(std::mem::take(&mut in_flight.frame_bytes));
        }
        self.heed_peer_state(token);
    }

    /// The request in work has its answer: its frame is freed. `false` if the answer is none of this channel's, which ends it.
    fn note_answered(&mut self, token: Token, ticket: Ticket, times: RequestTimes) -> bool {
        let response_dequeued = self.shared.stopwatch.stopwatch();
        let Some(channel) = self.channels.get_mut(token) else { return false };
        let Some(in_flight) = &mut channel.in_flight else {
            self.close(token, "two answers to one request");
            return false;
        };
        if in_flight.ticket != ticket
            && !zoo::is(Bug::NoMuteWhileProcessing)
            && !zoo::is(Bug::SlotReuseWithoutGeneration)
        {
            self.close(token, "an answer to a request that is not in work");
            return false;
        }
        self.shared.pool.give_back(std::mem::take(&mut in_flight.frame_bytes));
        in_flight.stage = Stage::Answered;
        in_flight.response_dequeued = response_dequeued;
        in_flight.times.response_complete = times.response_complete;
        if in_flight.times.dequeued == Instant(0) {
            in_flight.times = times;
        }
        true
    }

    /// A peer that leaves does not wait for what is parked; once it is gone, nobody is there to be answered, and the channel ends. Not while
    /// a handler has the request: what came whole is served to the last, as acks=0 wants it, until an answer cannot be sent.
    pub(super) fn heed_peer_state(&mut self, token: Token) {
        let Some(channel) = self.channels.get(token) else { return };
        let is_parked = channel.in_flight.is_some_and(|in_flight| in_flight.stage == Stage::Parked);
        match channel.peer_state {
            PeerState::Finished if is_parked => {
                Mark::FinishedWhileParked.reached();
                self.shared.requests.depart(Departure::Finished(connection_id(self.id, token)));
            }
            PeerState::Gone if is_parked || channel.is_sending() => {
                let mark = if is_parked { Mark::GoneWhileParked } else { Mark::GoneWhileSending };
                mark.reached();
                self.close(token, "the peer has reset it");
            }
            PeerState::Open | PeerState::Finished | PeerState::Gone => {}
        }
    }

    fn begin_send(&mut self, token: Token, pieces: Vec<Piece>, now: Now) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        if channel.begin_send(pieces).is_none() {
            return self.close(token, "an answer while another is being sent");
        }
        self.write(token, now);
        if zoo::is(Bug::UnmutedTooEarly) && self.channels.get(token).is_some_and(KafkaChannel::is_sending) {
            self.finish_response(token, now);
        }
    }

    pub(super) fn write(&mut self, token: Token, now: Now) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        match channel.write() {
            Ok(SendProgress::Complete)
                if zoo::is(Bug::UnmutedTooEarly)
                    && channel.in_flight.is_none_or(|in_flight| in_flight.stage != Stage::Answered) => {}
            Ok(SendProgress::Complete) => self.finish_response(token, now),
            Ok(SendProgress::Blocked) if channel.wants_writable => {}
            Ok(SendProgress::Blocked) => {
                Mark::SentInParts.reached();
                channel.wants_writable = true;
                let wanted = self.selector.reregister(&mut channel.connection, token, Interest::ReadableWritable);
                if wanted.is_err() {
                    Mark::CannotWaitForRoom.reached();
                    self.close(token, "it cannot be waited for");
                }
            }
            Err(_) if zoo::is(Bug::BrokenChannelKept) => {}
            Err(error) => self.close_for(token, &error),
        }
    }

    /// The answer is out, or there was none: count it and read the channel again.
    fn finish_response(&mut self, token: Token, now: Now) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        channel.last_used = now.instant;
        let Some(in_flight) = channel.response_sent() else {
            return self.close(token, "an answer that nobody waits for");
        };
        let peer = channel.peer;
        let total_us = self.count(&in_flight).as_micros();
        tracing::trace!(
            %peer,
            api_key = in_flight.ticket.api_key,
            api_version = in_flight.ticket.api_version,
            correlation_id = in_flight.ticket.correlation_id,
            total_us,
            "request answered"
        );
        if !zoo::is(Bug::UnmuteForgets) {
            self.queue_to_read(token);
        }
    }

    /// Adds a request that is over to the request times, and says how long it took.
    pub(super) fn count(&self, in_flight: &InFlight) -> Duration {
        let over = self.shared.stopwatch.stopwatch();
        let InFlight { received, times, response_dequeued, .. } = *in_flight;
        let points = [received, times.dequeued, times.local_complete, times.response_complete, response_dequeued, over];
        self.shared.metrics.record(in_flight.ticket.api_key, points);
        over.since(received)
    }

    /// Lets the channel be read only when `throttle` is over. `false` if it may not start, which ends the channel.
    fn begin_throttle(&mut self, token: Token, throttle: Duration, now: Now) -> bool {
        if throttle.is_zero() {
            return true;
        }
        let Some(channel) = self.channels.get_mut(token) else { return false };
        if channel.begin_throttle().is_none() {
            self.close(token, "a throttle that may not start");
            return false;
        }
        self.throttled.push((now.instant.after(throttle), token));
        true
    }

    pub(super) fn end_throttles(&mut self, now: Now) -> bool {
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
}
