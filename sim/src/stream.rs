//! One simulated TCP connection: two pipes and two ends, as plain state.
//!
//! It must not know selectors' queues, chance or time.

use std::net::SocketAddr;

use klamm::types::Instant;

use crate::pipe::Pipe;
use crate::registration::Registration;
use crate::route::Route;

/// Which end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Broker,
    Client,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Broker => Side::Client,
            Side::Client => Side::Broker,
        }
    }
}

/// One end of a connection, as its process sees it.
#[derive(Debug, Default)]
pub(crate) struct End {
    /// Whether a process holds it.
    pub(crate) open: bool,
    /// Whether a reset has come.
    pub(crate) reset: bool,
    /// An error number that the next call reports, once.
    pub(crate) error: Option<i32>,
    pub(crate) read_shut: bool,
    pub(crate) write_shut: bool,
    /// Whether it is gone without a word: nothing that comes is answered.
    pub(crate) silent: bool,
}

/// What the broker did last with a connection, for who judges how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turnaround {
    /// When it read.
    pub(crate) read_at: Instant,
    /// The last time before it wrote for the first time after that at which nobody had anything to do; none while it has not written.
    pub(crate) rested_at: Option<Instant>,
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Waiting,
    Accepted,
    Refused,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The name by which chance knows it: client and attempt, as the client said.
    pub(crate) identity: u64,
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) phase: Phase,
    /// In which start of the broker, and when, it was accepted.
    pub(crate) accepted: Option<(u32, Instant)>,
    pub(crate) to_broker: Pipe,
    pub(crate) to_client: Pipe,
    pub(crate) broker: End,
    pub(crate) client: End,
    pub(crate) registration: Option<Registration>,
    /// Whether the broker has seen `WouldBlock` since the last readable edge, so that it is owed the next.
    pub(crate) read_armed: bool,
    /// The same for writing.
    pub(crate) write_armed: bool,
    pub(crate) turnaround: Turnaround,
    pub(crate) route: Route,
    /// Whether the client is in the queue of those to whom something happened.
    pub(crate) client_touched: bool,
}

impl Stream {
    /// The pipe that this side reads.
    pub(crate) fn incoming(&mut self, side: Side) -> &mut Pipe {
        match side {
            Side::Broker => &mut self.to_broker,
            Side::Client => &mut self.to_client,
        }
    }

    /// The pipe that this side writes.
    pub(crate) fn outgoing(&mut self, side: Side) -> &mut Pipe {
        self.incoming(side.other())
    }

    /// Lets nothing arrive at either side before `until`.
    pub(crate) fn hold(&mut self, until: u64) {
        self.to_broker.hold(until);
        self.to_client.hold(until);
    }

    /// Whether what is on its way to this side would come earlier on a sound way.
    pub(crate) fn is_held(&self, side: Side, now: u64) -> bool {
        let pipe = match side {
            Side::Broker => &self.to_broker,
            Side::Client => &self.to_client,
        };
        self.route.is_slow() || pipe.held_until > now
    }

    /// Makes its way sound: what was held back comes now.
    pub(crate) fn heal(&mut self, now: u64) {
        for side in [Side::Broker, Side::Client] {
            if self.is_held(side, now) {
                let pipe = self.incoming(side);
                pipe.last_due = pipe.last_due.min(now);
                pipe.held_until = 0;
            }
        }
        self.route.heal();
    }

    pub(crate) fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Broker => &mut self.broker,
            Side::Client => &mut self.client,
        }
    }

    /// Whether a read by the broker would not block.
    pub(crate) fn broker_can_read(&self) -> bool {
        self.to_broker.readable() > 0 || self.to_broker.end_came() || self.broker.reset || self.broker.read_shut
    }

    /// Whether a write by the broker would make good progress, or fail.
    pub(crate) fn broker_can_write(&self) -> bool {
        self.to_client.has_much_room() || self.broker.reset || self.broker.write_shut
    }
}
