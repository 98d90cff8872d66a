//! A frame that is coming in: four bytes of length, then that many bytes, in whatever cuts the network makes.
//!
//! Small frames are read through a scratch buffer that all channels of a Processor share, so that length and body cost one system call;
//! what the scratch holds beyond the frame stays here until the channel is read again. Large frames are read straight into their own
//! buffer. It must not know what a frame means.

use std::io;

use bytes::{Buf, Bytes, BytesMut};

use super::memory_pool::MemoryPool;
use crate::env::Connection;
use crate::limits::FRAME_PREFIX_BYTES;
use crate::zoo::{self, Bug};

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
    /// The body, at its full length, and how much of it is there.
    body: Option<(BytesMut, usize)>,
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
            if let Some((body, filled)) = self.body.take() {
                if filled == body.len() {
                    return Ok(Received::Frame(body.freeze()));
                }
                self.body = Some((body, filled));
            }
            if budget_bytes == 0 {
                return Ok(Received::BudgetSpent);
            }
            match self.read_once(connection, scratch) {
                Ok(0) => return Ok(Received::Ended),
                Ok(read) => budget_bytes = budget_bytes.saturating_sub(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
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
        self.body.as_ref().map_or(0, |(body, _)| body.len())
    }

    /// Takes the length from the surplus and makes room for the body; says why if it must not.
    fn start_body(&mut self, frame_bytes_max: usize, pool: &MemoryPool) -> Option<Received> {
        let prefix: [u8; FRAME_PREFIX_BYTES] = self.surplus.first_chunk().copied()?;
        let Some(bytes) = usize::try_from(i32::from_be_bytes(prefix)).ok().filter(|bytes| *bytes <= frame_bytes_max)
        else {
            return Some(Received::BadLength(prefix));
        };
        if !pool.try_take(bytes) {
            return Some(Received::NoMemory);
        }
        self.surplus.advance(FRAME_PREFIX_BYTES);
        let at_hand = bytes.min(self.surplus.len());
        let mut body = BytesMut::zeroed(bytes);
        body[..at_hand].copy_from_slice(&self.surplus[..at_hand]);
        self.surplus.advance(at_hand);
        self.body = Some((body, at_hand));
        None
    }

    /// One read: straight into a body that lacks much, else through the scratch.
    fn read_once(&mut self, connection: &mut impl Connection, scratch: &mut [u8]) -> io::Result<usize> {
        match &mut self.body {
            Some((body, filled)) if body.len() - *filled >= scratch.len() => {
                let read = connection.read(&mut body[*filled..])?;
                *filled += read;
                Ok(read)
            }
            body => {
                let read = connection.read(scratch)?;
                let mut bytes = &scratch[..read];
                if let Some((body, filled)) = body {
                    let wanted = bytes.len().min(body.len() - *filled);
                    body[*filled..*filled + wanted].copy_from_slice(&bytes[..wanted]);
                    *filled += wanted;
                    bytes = &bytes[wanted..];
                }
                self.surplus.extend_from_slice(bytes);
                Ok(read)
            }
        }
    }
}
