//! One simulated TCP connection: two pipes and two ends, as plain state.
//!
//! It must not know selectors' queues, chance or time. The bytes of a direction lie in one buffer; three positions in it say what
//! was sent, what has arrived and what was read.

use std::collections::VecDeque;
use std::net::SocketAddr;

use klamm::env::{Event, Interest, Token};

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

/// One direction of a connection. Positions count bytes from the start of the connection.
#[derive(Debug)]
pub(crate) struct Pipe {
    /// Bytes from `read` to `sent`.
    buffer: VecDeque<u8>,
    read: u64,
    arrived: u64,
    sent: u64,
    /// How far bytes may arrive by now; the receive buffer may keep them out.
    due: u64,
    /// Where each piece in flight ends, in the order of their coming.
    pieces: VecDeque<u64>,
    /// When the last piece comes; a later one never comes earlier.
    pub(crate) last_due: u64,
    /// Where the stream ends, once its sender has said so.
    finished_at: Option<u64>,
    finish_came: bool,
    pub(crate) receive_capacity: u64,
    pub(crate) send_capacity: u64,
}

impl Pipe {
    pub(crate) fn new(receive_capacity: u64, send_capacity: u64) -> Pipe {
        Pipe {
            buffer: VecDeque::new(),
            read: 0,
            arrived: 0,
            sent: 0,
            due: 0,
            pieces: VecDeque::new(),
            last_due: 0,
            finished_at: None,
            finish_came: false,
            receive_capacity: receive_capacity.max(1),
            send_capacity: send_capacity.max(1),
        }
    }

    /// Bytes that a reader could have now.
    pub(crate) fn readable(&self) -> u64 {
        self.arrived - self.read
    }

    /// Bytes that a writer could add now.
    pub(crate) fn room(&self) -> u64 {
        self.send_capacity.saturating_sub(self.sent - self.arrived)
    }

    /// Whether a writer is told of the room: as in Linux, from a third of the buffer on.
    pub(crate) fn has_much_room(&self) -> bool {
        self.room().saturating_mul(3) >= self.send_capacity
    }

    /// Whether the end of the stream has arrived, be it behind unread bytes.
    pub(crate) fn end_came(&self) -> bool {
        self.finish_came && self.finished_at == Some(self.arrived)
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished_at.is_some()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend(bytes);
        self.sent += bytes.len() as u64;
    }

    /// Notes that a piece ends `back` bytes before what was sent so far.
    pub(crate) fn mark_piece(&mut self, back: u64) {
        self.pieces.push_back(self.sent - back);
    }

    /// The next piece has travelled its way.
    pub(crate) fn piece_comes(&mut self) {
        if let Some(end) = self.pieces.pop_front() {
            self.due = self.due.max(end);
        }
    }

    /// Lets in what is due and fits. Says whether anything became visible.
    pub(crate) fn settle(&mut self) -> bool {
        let had_ended = self.end_came();
        let before = self.arrived;
        self.arrived = self.due.min(self.read + self.receive_capacity).max(self.arrived);
        self.arrived > before || (self.end_came() && !had_ended)
    }

    pub(crate) fn finish(&mut self) {
        self.finished_at.get_or_insert(self.sent);
    }

    pub(crate) fn finish_comes(&mut self) {
        self.finish_came = true;
    }

    /// Copies the next bytes out; the caller has cut `buffer` to what is readable.
    pub(crate) fn take(&mut self, buffer: &mut [u8]) {
        let (front, back) = self.buffer.as_slices();
        let split = buffer.len().min(front.len());
        buffer[..split].copy_from_slice(&front[..split]);
        let rest = buffer.len() - split;
        buffer[split..].copy_from_slice(&back[..rest]);
        self.buffer.drain(..buffer.len());
        self.read += buffer.len() as u64;
    }

    /// Forgets what has not arrived: the sender is gone.
    pub(crate) fn drop_in_flight(&mut self) {
        self.buffer.truncate(usize::try_from(self.readable()).unwrap_or(usize::MAX));
        self.sent = self.arrived;
        self.due = self.arrived;
        self.pieces.iter_mut().for_each(|end| *end = (*end).min(self.arrived));
    }

    /// Forgets everything that was not read: nobody will.
    pub(crate) fn drop_all(&mut self) {
        self.drop_in_flight();
        self.buffer = VecDeque::new();
        self.read = self.arrived;
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

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Waiting,
    Accepted,
    Refused,
}

/// A connection's place in a selector, and what was shown of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registration {
    pub(crate) selector: u32,
    pub(crate) token: Token,
    pub(crate) interest: Interest,
    /// Edges that the next poll shows.
    pub(crate) read_edge: bool,
    pub(crate) write_edge: bool,
    /// Whether the place is in the selector's queue.
    pub(crate) queued: bool,
}

impl Registration {
    pub(crate) fn new(selector: u32, token: Token, interest: Interest) -> Registration {
        Registration { selector, token, interest, read_edge: false, write_edge: false, queued: false }
    }

    /// What a poll shows of a connection in this state.
    pub(crate) fn event(&self, read_closed: bool, write_closed: bool, error: bool) -> Event {
        Event {
            token: self.token,
            readable: self.read_edge,
            writable: self.write_edge,
            read_closed,
            write_closed,
            error,
        }
    }
    pub(crate) fn wants_writable(&self) -> bool {
        self.interest == Interest::ReadableWritable
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The name by which chance knows it: client and attempt, as the client said.
    pub(crate) identity: u64,
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) phase: Phase,
    pub(crate) to_broker: Pipe,
    pub(crate) to_client: Pipe,
    pub(crate) broker: End,
    pub(crate) client: End,
    pub(crate) registration: Option<Registration>,
    /// Whether the broker has seen `WouldBlock` since the last readable edge, so that it is owed the next.
    pub(crate) read_armed: bool,
    /// The same for writing.
    pub(crate) write_armed: bool,
    /// Until when nothing arrives.
    pub(crate) clogged_until: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_receive_buffer_keeps_bytes_and_the_end_out() {
        let mut pipe = Pipe::new(4, 10);
        pipe.push(b"abcdef");
        pipe.mark_piece(0);
        pipe.finish();
        pipe.piece_comes();
        pipe.finish_comes();
        assert!(pipe.settle());
        assert_eq!((pipe.readable(), pipe.room(), pipe.end_came()), (4, 8, false));
        let mut buffer = [0; 3];
        pipe.take(&mut buffer);
        assert_eq!(&buffer, b"abc");
        assert!(pipe.settle());
        assert_eq!((pipe.readable(), pipe.end_came()), (3, true));
    }

    #[test]
    fn dropping_what_flies_keeps_what_arrived() {
        let mut pipe = Pipe::new(10, 10);
        pipe.push(b"abcd");
        pipe.mark_piece(2);
        pipe.mark_piece(0);
        pipe.piece_comes();
        pipe.settle();
        pipe.drop_in_flight();
        pipe.piece_comes();
        pipe.settle();
        let mut buffer = [0; 2];
        pipe.take(&mut buffer);
        assert_eq!((&buffer, pipe.readable()), (b"ab", 0));
    }
}
