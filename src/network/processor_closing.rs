//! How a Processor ends connections: too many, idle, broken, or strangers; and what each end sets free.
//!
//! It must not know what a peer was about.

use std::io;

use super::kafka_channel::{InFlight, KafkaChannel, Stage};
use super::processor::Processor;
use super::request::Departure;
use crate::env::{Selector, Token};
use crate::types::Now;

impl<S: Selector> Processor<S> {
    /// Closes one channel if the broker has more than it may: the one unused the longest.
    pub(super) fn close_excess(&mut self) -> bool {
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
    pub(super) fn close_idle(&mut self, now: Now) -> bool {
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

    /// Ends a connection: exactly once leaves the quotas, gives its memory back, and lets what a request of it waits for be forgotten.
    pub(super) fn close(&mut self, token: Token, reason: &str) {
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
