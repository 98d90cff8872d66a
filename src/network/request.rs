//! What goes through the queues: a request to a handler, a response back to the Processor that owns the connection.
//!
//! It must not know what a request asks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::connection_quotas::ReachedLimit;
use super::nonsense_log::NonsenseLog;
use crate::env::Piece;
use crate::metrics::RareLines;
use crate::protocol::DecodeError;
use crate::types::{ConnectionId, Instant, Ticket};

/// What every connection of one listener has in common.
#[derive(Debug)]
pub struct ListenerContext {
    /// Its number among the listeners, from 0.
    pub index: usize,
    /// Its name, as in `listeners`.
    pub name: String,
    /// What was told of its peers that send no requests.
    pub(crate) nonsense: NonsenseLog,
    /// Which limits of connections were told of, that of open files among them.
    pub(crate) reached_limits: RareLines,
}

impl ListenerContext {
    /// The listener with this number and name.
    pub fn new(index: usize, name: String) -> ListenerContext {
        ListenerContext { index, name, nonsense: NonsenseLog::default(), reached_limits: RareLines::default() }
    }

    /// Writes a warning that a limit is reached and what comes of it, unless there was one of this limit just now: then the next one tells
    /// how many there were.
    pub(crate) fn tell_of_limit(&self, now: Instant, peer: SocketAddr, reached: ReachedLimit, consequence: &str) {
        let ReachedLimit { key, limit } = reached;
        if let Some(untold) = self.reached_limits.due(now, key) {
            let others_before = (untold > 0).then_some(untold);
            let key = reached.key_at(&self.name);
            tracing::warn!(%peer, listener = self.name, limit, others_before, "{key} is reached: {consequence}");
        }
    }
}

/// A whole frame with a valid header, on its way to a handler.
#[derive(Debug)]
pub struct Request {
    /// Where the answer goes.
    pub ticket: Ticket,
    /// The frame without its length.
    pub frame: Bytes,
    /// Where in the frame the body starts, behind the header.
    pub body_at: usize,
    /// Through which listener it came.
    pub listener: Arc<ListenerContext>,
    /// Who sent it.
    pub peer: SocketAddr,
    /// The address at which the peer reached us; `None` if the socket could not say.
    pub local: Option<SocketAddr>,
    /// When it was whole, by the stopwatch.
    pub received: Instant,
}

/// The points of the stopwatch between which Kafka's request times lie. A point that was not passed is the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// A handler took it.
    pub dequeued: Instant,
    /// The handler was done with its own part.
    pub local_complete: Instant,
    /// The response was put into the Processor's queue.
    pub response_complete: Instant,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum ResponseKind {
    /// These bytes go out; then the next request is read.
    Send(Vec<Piece>),
    /// Nothing goes out (acks=0); the next request is read.
    NoOp,
    /// The connection ends, for the reason given.
    Close(&'static str),
    /// The connection ends, since the body of the request cannot be read.
    Malformed(DecodeError),
    /// The handler is done with it and has parked it; the answer comes later.
    Parked {
        /// The frame is kept until then, since the request is handled once more.
        keeps_frame: bool,
    },
}

/// A peer that leaves while a request of it is in work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It sends nothing more; it may still read an answer, and is not to be kept waiting for one.
    Finished(ConnectionId),
    /// The connection is gone: nobody is there to be answered.
    Closed(ConnectionId),
}

/// A response on its way to the Processor.
#[derive(Debug)]
pub struct Response {
    /// To whose request.
    pub ticket: Ticket,
    /// What becomes of it.
    pub kind: ResponseKind,
    /// How long the channel is not read, from now on: never, until there are quotas.
    pub throttle: Duration,
    /// The stopwatch.
    pub times: RequestTimes,
}
