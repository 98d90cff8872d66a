//! How a Processor ends its channels, and what becomes of the requests that they leave behind.
//!
//! It must not know how a request is read or answered.

use std::io;

use super::Processor;
use crate::env::{Selector, Token};
use crate::marks::Mark;
use crate::network::kafka_channel::{InFlight, KafkaChannel, Stage};
use crate::network::request::{Departure, RequestTimes, ResponseKind};
use crate::types::{Now, Ticket};
use crate::zoo::{self, Bug};

const EXCESS: &str = "the connection that was unused the longest is closed; raise it, or have fewer clients";

/// A request of a closed channel: a handler has it, will have it, or keeps its frame.
#[derive(Debug)]
pub(super) struct Orphan(InFlight);

impl<S: Selector> Processor<S> {
    /// Closes one channel if the broker has more than it may: the one unused the longest.
    pub(super) fn close_excess(&mut self, now: Now) -> bool {
        let Some(reached) = self.shared.quotas.exceeded(self.listener.index) else { return false };
        if zoo::is(Bug::ExcessKept) {
            return false;
        }
        let oldest = self
            .channels
            .tokens()
            .into_iter()
            .min_by_key(|token| self.channels.get(*token).map(|channel| channel.last_used));
        match oldest {
            Some(token) => {
                if let Some(channel) = self.channels.get(token) {
                    self.listener.tell_of_limit(now.instant, channel.peer, reached, EXCESS);
                }
                self.close(token, "max.connections is exceeded");
                true
            }
            None => false,
        }
    }

    /// Closes at most one idle channel, as Kafka does.
    pub(super) fn close_idle(&mut self, now: Now) -> bool {
        let channels = &self.channels;
        let is_spared = |channel: &KafkaChannel<S::Connection>| {
            zoo::is(Bug::SilenceNotExpired) && channel.requests == 0
                || zoo::is(Bug::HalfFrameNotExpired) && channel.is_inside_frame()
                || zoo::is(Bug::UnreadNotExpired) && channel.is_sending()
        };
        let last_used = |channel| if is_spared(channel) { now.instant } else { channel.last_used };
        match self.idle.expired(now.instant, |token| channels.get(token).map(last_used)) {
            Some(token) => {
                if self.channels.get(token).is_some_and(KafkaChannel::is_inside_frame) {
                    Mark::IdleInsideFrame.reached();
                    let class = "idle for connections.max.idle.ms inside a frame: the peer hangs, or does not speak the Kafka protocol";
                    self.close_stranger(token, now, class, "");
                } else {
                    Mark::IdleClosed.reached();
                    self.close(token, "idle for connections.max.idle.ms");
                }
                true
            }
            None => false,
        }
    }

    pub(super) fn close_for(&mut self, token: Token, error: &io::Error) {
        self.close(token, &format!("input or output failed: {error}"));
    }

    /// Closes a channel whose bytes are no requests, and tells the operator of the likely cause.
    pub(super) fn close_stranger(&mut self, token: Token, now: Now, class: &'static str, detail: &str) {
        if let Some(channel) = self.channels.get(token) {
            self.listener.nonsense.tell(now.instant, &self.listener.name, channel.peer, class, detail);
        }
        self.close(token, class);
    }

    /// Ends a connection: exactly once leaves the quotas, gives back the memory that nobody holds any more, and lets what a request of it
    /// waits for be forgotten.
    pub(super) fn close(&mut self, token: Token, reason: &str) {
        let Some(mut channel) = self.channels.remove(token) else { return };
        tracing::debug!(peer = %channel.peer, listener = %self.listener.name, reason, "connection closed");
        // A failure to deregister changes nothing: the socket is closed right after.
        let _ = self.selector.deregister(&mut channel.connection);
        if !zoo::is(Bug::UnfinishedFrameKept) {
            self.shared.pool.give_back(channel.unfinished_bytes());
        }
        if !zoo::is(Bug::ConnectionCountKept) {
            self.shared.quotas.leave(self.listener.index, channel.peer.ip());
        }
        self.throttled.retain(|(_, other)| *other != token);
        if let Some(in_flight) = channel.in_flight {
            self.leave_behind(in_flight);
        }
    }

    /// A handler is told of the departure when it has parked the request, not before. Memory is held as long as the frame is, which outlives
    /// its connection: else a peer that sends and resets again and again would find no bound.
    fn leave_behind(&mut self, mut in_flight: InFlight) {
        let is_awaited = match in_flight.stage {
            Stage::AtHandler => true,
            Stage::Parked => {
                self.shared.requests.depart(Departure::Closed(in_flight.ticket.connection));
                in_flight.times.response_complete = self.shared.stopwatch.stopwatch();
                in_flight.response_dequeued = in_flight.times.response_complete;
                in_flight.frame_bytes > 0
            }
            Stage::Answered => false,
        };
        if in_flight.stage != Stage::AtHandler {
            self.count(&in_flight);
        }
        if is_awaited {
            self.orphans.push(Orphan(in_flight));
        }
    }

    /// A request of a closed channel is back from its handler: if it is parked, nobody is there to be answered. It is over now, if it was not before.
    pub(super) fn bury_orphan(&mut self, ticket: Ticket, kind: &ResponseKind, times: RequestTimes) {
        let Some(place) = self.orphans.iter().position(|Orphan(orphan)| orphan.ticket == ticket) else { return };
        Mark::OrphanAnswered.reached();
        if let ResponseKind::Parked { keeps_frame } = kind {
            self.shared.requests.depart(Departure::Closed(ticket.connection));
            if *keeps_frame {
                return;
            }
        }
        let Orphan(mut in_flight) = self.orphans.swap_remove(place);
        self.shared.pool.give_back(in_flight.frame_bytes);
        if in_flight.stage == Stage::AtHandler && !matches!(kind, ResponseKind::Malformed(_)) {
            in_flight.times = times;
            in_flight.response_dequeued = self.shared.stopwatch.stopwatch();
            self.count(&in_flight);
        }
    }
}
