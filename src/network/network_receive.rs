//! A frame that is coming in: four bytes of length, then that many bytes, in whatever cuts the network makes.
//!
//! Small frames are read through a scratch buffer that all channels of a Processor share, so that length and body cost one system call;
//! what the scratch holds beyond the frame stays here until the channel is read again. Large frames are read straight into their own
//! buffer, which grows with what has come and never by what was only announced. It must not know what a frame means.

use std::io;

use bytes::{Buf, Bytes, BytesMut};

use super::memory_pool::MemoryPool;
use crate::env::Connection;
use crate::limits::FRAME_PREFIX_BYTES;
use crate::marks::Mark;
use crate::zoo::{self, Bug};

/// What a body may take before any of it is there: a usual batch of a producer with its request.
const BODY_BYTES_AT_ONCE: usize = 128 << 10;
/// How many times the bytes that are there the body's buffer may hold. So much that a frame of 1 MiB is moved once.
const BODY_GROWTH: usize = 16;

/// What a read came to.
#[derive(Debug)]
pub(crate) enum Received {
    /// A whole frame, without its length. Its bytes are taken from the pool; the channel gives them back.
    Frame(Bytes),
    /// The socket has no more for now: an edge will come.
    Blocked,
    /// The budget of this turn is used up: read again without waiting for an edge.
    BudgetSpent,
    /// The pool has no memory: read again when it has.
    NoMemory,
    /// The peer has closed its side. What was read of an unfinished frame is dropped.
    Ended,
    /// The length is negative or above the limit.
    BadLength([u8; FRAME_PREFIX_BYTES]),
}

/// The frame that is coming in on one channel.
#[derive(Debug, Default)]
pub(crate) struct NetworkReceive {
    /// Bytes that were read and belong to no body yet.
    surplus: BytesMut,
    body: Option<Body>,
}

/// A body that is coming in.
#[derive(Debug)]
struct Body {
    received: Vec<u8>,
    /// How long it will be.
    bytes: usize,
}

impl Body {
    fn new(bytes: usize) -> Body {
        Body { received: Vec::with_capacity(bytes.min(BODY_BYTES_AT_ONCE)), bytes }
    }

    fn missing_bytes(&self) -> usize {
        self.bytes.saturating_sub(self.received.len())
    }

    /// Takes what belongs to it from `source`; says how much that is.
    fn take(&mut self, source: &[u8]) -> usize {
        let taken = source.len().min(self.missing_bytes());
        self.make_room(taken);
        self.received.extend_from_slice(&source[..taken]);
        taken
    }

    /// Makes room for so many more bytes, and for as many behind them as those that are there warrant.
    fn make_room(&mut self, more: usize) {
        let received = self.received.len();
        let needed = received + more;
        if needed > self.received.capacity() {
            let bytes = self.bytes.min(needed.saturating_mul(BODY_GROWTH).max(BODY_BYTES_AT_ONCE));
            self.received.reserve_exact(bytes.max(needed) - received);
        }
    }
}

impl NetworkReceive {
    /// Reads until a frame is whole, the socket is dry or `budget_bytes` are read.
    pub(crate) fn read_from(
        &mut self,
        connection: &mut impl Connection,
        scratch: &mut [u8],
        frame_bytes_max: usize,
        pool: &MemoryPool,
        mut budget_bytes: usize,
    ) -> io::Result<Received> {
        loop {
            if self.body.is_none()
                && self.surplus.len() >= FRAME_PREFIX_BYTES
                && let Some(refused) = self.start_body(frame_bytes_max, pool)
            {
                return Ok(refused);
            }
            if let Some(body) = self.body.take_if(|body| body.missing_bytes() == 0) {
                if !self.surplus.is_empty() {
                    Mark::FramesTogether.reached();
                }
                return Ok(Received::Frame(body.received.into()));
            }
            if budget_bytes == 0 {
                return Ok(Received::BudgetSpent);
            }
            match self.read_once(connection, scratch) {
                Ok(0) => return Ok(Received::Ended),
                Ok(read) => budget_bytes = budget_bytes.saturating_sub(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.body.is_none() && !self.surplus.is_empty() {
                        Mark::LengthCut.reached();
                    }
                    if self.body.is_none() && zoo::is(Bug::LengthPrefixSplit) {
                        self.surplus.clear();
                    }
                    return Ok(Received::Blocked);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a frame has begun and lacks bytes.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.body.is_some() || !self.surplus.is_empty()
    }

    /// Bytes of the pool that the unfinished frame holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.bytes)
    }

    /// Takes the length from the surplus and makes room for the body; says why if it must not.
    fn start_body(&mut self, frame_bytes_max: usize, pool: &MemoryPool) -> Option<Received> {
        let prefix: [u8; FRAME_PREFIX_BYTES] = self.surplus.first_chunk().copied()?;
        let Some(bytes) = usize::try_from(i32::from_be_bytes(prefix))
            .ok()
            .filter(|bytes| *bytes <= frame_bytes_max || zoo::is(Bug::LengthBelieved))
        else {
            return Some(Received::BadLength(prefix));
        };
        // An empty frame needs no memory, and does not wait for any.
        if bytes > 0 && !pool.try_take(bytes) {
            return Some(Received::NoMemory);
        }
        self.surplus.advance(FRAME_PREFIX_BYTES);
        let mut body = Body::new(bytes);
        let taken = body.take(&self.surplus);
        self.surplus.advance(taken);
        if zoo::is(Bug::SurplusDropped) {
            self.surplus.clear();
        }
        self.body = Some(body);
        None
    }

    /// One read: straight into a body that lacks much, else through the scratch.
    fn read_once(&mut self, connection: &mut impl Connection, scratch: &mut [u8]) -> io::Result<usize> {
        match &mut self.body {
            Some(body) if body.missing_bytes() >= scratch.len() => {
                body.make_room(1);
                let read = connection.read_behind(&mut body.received)?;
                // A vector may hold more than was asked for.
                if body.received.len() > body.bytes {
                    self.surplus.extend_from_slice(&body.received[body.bytes..]);
                    body.received.truncate(body.bytes);
                }
                Ok(read)
            }
            body => {
                let read = connection.read(scratch)?;
                let bytes = &scratch[..read];
                let taken = body.as_mut().map_or(0, |body| body.take(bytes));
                self.surplus.extend_from_slice(&bytes[taken..]);
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use allocation_counter::{AllocationInfo, measure};

    use super::{BODY_BYTES_AT_ONCE, NetworkReceive, Received};
    use crate::network::memory_pool::MemoryPool;
    use crate::network::testing::ScriptedConnection;

    const NO_LIMIT: usize = usize::MAX;

    fn frame(bytes: usize) -> Vec<u8> {
        let mut frame = i32::try_from(bytes).unwrap().to_be_bytes().to_vec();
        frame.resize(4 + bytes, 7);
        frame
    }

    /// What it costs to read from a peer that has sent `sent`, in pieces of `cut` bytes, and whether a frame came of it.
    fn cost(sent: &[u8], cut: usize) -> (AllocationInfo, usize) {
        let cuts: Vec<usize> = sent.chunks(cut).map(<[u8]>::len).collect();
        let mut connection = ScriptedConnection::new(sent, &cuts);
        let pool = MemoryPool::new(None, Vec::new());
        let (mut scratch, mut receive) = (vec![0; 16 << 10], NetworkReceive::default());
        let mut bytes = 0;
        let info = measure(|| {
            let received = receive.read_from(&mut connection, &mut scratch, 100 << 20, &pool, NO_LIMIT).unwrap();
            if let Received::Frame(frame) = received {
                bytes = frame.len();
            }
        });
        (info, bytes)
    }

    #[test]
    fn an_announced_length_takes_no_more_memory_than_sixteen_times_what_has_come() {
        let announced = frame(100 << 20);
        for came in [4, 1 << 10, 200 << 10, 1 << 20] {
            let (info, _) = cost(&announced[..came], 60_000);
            let bound = BODY_BYTES_AT_ONCE + 17 * came;
            assert!(info.bytes_max <= bound as u64, "{came} bytes took {}", info.bytes_max);
        }
    }

    #[test]
    fn a_frame_of_one_mebibyte_is_moved_once_and_one_of_a_usual_batch_never() {
        for (bytes, allocations) in [(10, 1), (1 << 10, 1), (66_000, 1), ((1 << 20) + 500, 2)] {
            let (info, received) = cost(&frame(bytes), 40_000);
            assert_eq!(received, bytes);
            // One more for what a scratch held beyond the prefix.
            assert!(info.count_total <= allocations + 1, "{bytes} bytes cost {} allocations", info.count_total);
        }
    }

    #[test]
    fn a_frame_takes_no_more_memory_than_its_own_length() {
        for bytes in [10, BODY_BYTES_AT_ONCE + 8_000, (1 << 20) + 500] {
            let mut connection = ScriptedConnection::new(&frame(bytes), &[]);
            let pool = MemoryPool::new(None, Vec::new());
            let (mut scratch, mut receive) = (vec![0; 16 << 10], NetworkReceive::default());
            let received = receive.read_from(&mut connection, &mut scratch, 100 << 20, &pool, NO_LIMIT).unwrap();
            let Received::Frame(whole) = received else { panic!("{received:?}") };
            let held = whole.try_into_mut().map(|whole| whole.capacity()).unwrap();
            assert!(held <= bytes.max(64), "{bytes} bytes hold {held}");
        }
    }

    #[test]
    fn an_empty_frame_does_not_wait_for_memory() {
        let pool = MemoryPool::new(Some(1), Vec::new());
        assert!(pool.try_take(1));
        let mut connection = ScriptedConnection::new(&[0; 4], &[]);
        let mut receive = NetworkReceive::default();
        let received = receive.read_from(&mut connection, &mut [0; 64], 100, &pool, NO_LIMIT).unwrap();
        assert!(matches!(received, Received::Frame(frame) if frame.is_empty()));
    }
}
