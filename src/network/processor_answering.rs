//! How a Processor answers: responses in, bytes out, and the channel free for its next request.
//!
//! It must not know what an answer says.

use super::channel_table::token_of;
use super::kafka_channel::{InFlight, Stage};
use super::network_send::SendProgress;
use super::processor::Processor;
use super::request::{Departure, Response, ResponseKind};
use crate::env::{Interest, Piece, Selector, Token};
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

    pub(super) fn write(&mut self, token: Token) {
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
