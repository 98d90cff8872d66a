//! How a Processor reads its channels and makes requests of their frames.
//!
//! It must not know how a request is answered.

use std::sync::Arc;

use bytes::Bytes;

use super::Processor;
use crate::env::{Selector, Token};
use crate::limits::READ_BUDGET_BYTES;
use crate::marks::Mark;
use crate::network::channel_table::connection_id;
use crate::network::kafka_channel::{InFlight, PeerState, Stage};
use crate::network::likely_cause::{evidence, likely_cause, why_refused};
use crate::network::network_receive::Received;
use crate::network::request::Request;
use crate::protocol::{ApiKey, Decoder, HeaderError, RequestHeader};
use crate::types::{Now, Ticket};

const ENDED_INSIDE_FRAME: &str =
    "the peer closed it inside a frame: it has crashed, or does not speak the Kafka protocol";
const BROKEN_INSIDE_FRAME: &str = "it broke inside a frame: the peer has crashed, or does not speak the Kafka protocol";

impl<S: Selector> Processor<S> {
    /// Lets channels that lacked memory try again.
    pub(super) fn feed_starved(&mut self) -> bool {
        if self.starved.is_empty() || self.shared.pool.processor_starves(self.id) {
            return false;
        }
        Mark::StarvedReads.reached();
        for token in std::mem::take(&mut self.starved) {
            self.queue_to_read(token);
        }
        true
    }

    pub(super) fn queue_to_read(&mut self, token: Token) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        if channel.may_be_read() && !channel.is_queued_to_read {
            channel.is_queued_to_read = true;
            self.to_read.push_back(token);
        }
    }

    /// Reads each channel of the queue once, unless a request was refused: then nothing is read until it is taken.
    pub(super) fn read_channels(&mut self, now: Now) -> bool {
        let mut worked = false;
        if let Some(request) = self.refused.take() {
            match self.shared.requests.offer(self.id, request) {
                Ok(()) => {
                    Mark::QueueHasRoom.reached();
                    worked = true;
                }
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
            Ok(Received::NoMemory) => {
                Mark::Starved.reached();
                self.starved.push(token);
            }
            Ok(Received::Ended) if channel.is_inside_frame() => {
                Mark::EndedInsideFrame.reached();
                self.close_stranger(token, now, ENDED_INSIDE_FRAME, "");
            }
            Ok(Received::Ended) => self.close(token, "the peer closed it"),
            Ok(Received::BadLength(prefix)) => {
                Mark::BadLength.reached();
                let detail = evidence(prefix, self.settings.frame_bytes_max);
                self.close_stranger(token, now, likely_cause(prefix), &detail);
            }
            Err(error) if channel.is_inside_frame() => {
                Mark::BrokenInsideFrame.reached();
                self.close_stranger(token, now, BROKEN_INSIDE_FRAME, &error.to_string());
            }
            Err(error) => self.close_for(token, &error),
        }
    }

    /// Makes a request of a frame and queues it.
    fn receive(&mut self, token: Token, frame: Bytes, now: Now) {
        let Some(channel) = self.channels.get_mut(token) else { return };
        channel.last_used = now.instant;
        if channel.peer_state == PeerState::Gone {
            Mark::ReadAfterReset.reached();
        }
        let mut decoder = Decoder::new(&frame);
        let header = match RequestHeader::decode(&mut decoder) {
            Ok(header) => header,
            // The one unsupported version that is answered instead of closed: so a client learns which versions there are.
            Err(HeaderError::UnsupportedVersion(header)) if header.api_key == ApiKey::ApiVersions => header,
            Err(error) => {
                Mark::BadHeader.reached();
                let detail = format!("a frame of {} bytes: {error}", frame.len());
                self.shared.pool.give_back(frame.len());
                return self.close_stranger(token, now, why_refused(&error), &detail);
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
            Mark::QueueFull.reached();
            self.refused = Some(*refused);
        }
    }
}
