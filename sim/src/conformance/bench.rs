//! What many clauses need: a connected pair, and loops that bear short reads, spurious blocks and interrupted polls.
//!
//! It must not know who made the doors.

use std::io::{self, ErrorKind, IoSlice};

use klamm::env::{Connection, Event, Interest, Listener, Selector, Token};

use crate::conformance::{Failure, Makers, Outcome, Patience, Peer, ensure};

/// How many polls may pass before an event that is owed.
const POLLS: usize = 60;
/// The most that a clause writes in the hope of a full buffer.
const WRITE_MAX: usize = 48 << 20;

pub(super) type ListenerOf<M> = <<M as Makers>::Selector as Selector>::Listener;
pub(super) type ConnectionOf<M> = <<M as Makers>::Selector as Selector>::Connection;

pub(super) const LISTENER: Token = Token { index: 0, generation: 3 };
pub(super) const FIRST: Token = Token { index: 1, generation: 7 };
pub(super) const SECOND: Token = Token { index: 2, generation: 9 };

/// A connection under test with its selector and its peer.
pub(super) struct Pair<M: Makers> {
    pub(super) selector: M::Selector,
    pub(super) connection: ConnectionOf<M>,
    pub(super) peer: M::Peer,
    /// Kept open: a closed listener may tear what waits.
    _listener: ListenerOf<M>,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Blocked,
    End,
    Failed(ErrorKind),
}

impl<M: Makers> Pair<M> {
    /// Connected and accepted, registered nowhere.
    pub(super) fn unregistered(makers: &mut M) -> Result<Pair<M>, Failure> {
        let mut listener = makers.listen()?;
        let peer = makers.connect(listener.local_address()?)?;
        let connection = accept(makers, &mut listener)?;
        Ok(Pair { selector: makers.selector()?, connection, peer, _listener: listener })
    }

    /// Connected and registered under `FIRST` for both directions.
    pub(super) fn registered(makers: &mut M) -> Result<Pair<M>, Failure> {
        let mut pair = Pair::unregistered(makers)?;
        pair.selector.register(&mut pair.connection, FIRST, Interest::ReadableWritable)?;
        Ok(pair)
    }

    /// Like `registered`, with everything drained: reading blocks, and no edge is on its way.
    pub(super) fn drained(makers: &mut M, interest: Interest) -> Result<Pair<M>, Failure> {
        let mut pair = Pair::unregistered(makers)?;
        pair.selector.register(&mut pair.connection, FIRST, interest)?;
        for _ in 0..POLLS {
            ensure!(pair.read_some(&mut Vec::new()) == Stop::Blocked, "a fresh connection has something to read");
            let mut events = Vec::new();
            poll(makers, &mut pair.selector, &mut events, Patience::Short)?;
            // An event, be it a spurious one, is answered by draining, else the next edge is not owed.
            if !events.iter().any(|event| event.token == FIRST && event.readable) {
                return Ok(pair);
            }
        }
        Err("spurious edges never end".into())
    }

    /// Reads until the connection blocks, ends or fails.
    pub(super) fn read_some(&mut self, bytes: &mut Vec<u8>) -> Stop {
        let mut buffer = [0; 4_096];
        loop {
            match self.connection.read(&mut buffer) {
                Ok(0) => return Stop::End,
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Stop::Blocked,
                Err(error) => return Stop::Failed(error.kind()),
            }
        }
    }

    /// Reads until `count` bytes are there, waiting for edges.
    pub(super) fn read_bytes(&mut self, makers: &mut M, count: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        loop {
            let stop = self.read_some(&mut bytes);
            if bytes.len() >= count {
                return Ok(bytes);
            }
            ensure!(stop == Stop::Blocked, "{stop:?} after {} of {count} bytes", bytes.len());
            self.await_readable(makers)?;
        }
    }

    /// Reads until the end or an error, waiting for edges.
    pub(super) fn read_to_stop(&mut self, makers: &mut M) -> Result<(Vec<u8>, Stop), Failure> {
        let mut bytes = Vec::new();
        loop {
            let stop = self.read_some(&mut bytes);
            if stop != Stop::Blocked {
                return Ok((bytes, stop));
            }
            self.await_readable(makers)?;
        }
    }

    pub(super) fn await_readable(&mut self, makers: &mut M) -> Outcome {
        await_event(makers, &mut self.selector, |event| event.token == FIRST && event.readable)
    }

    pub(super) fn await_writable(&mut self, makers: &mut M) -> Outcome {
        await_event(makers, &mut self.selector, |event| event.token == FIRST && event.writable)
    }

    /// Writes all bytes, waiting for edges.
    pub(super) fn write_bytes(&mut self, makers: &mut M, bytes: &[u8]) -> Outcome {
        let mut written = 0;
        while written < bytes.len() {
            match self.connection.write_vectored(&[IoSlice::new(&bytes[written..])]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.await_writable(makers)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Writes a pattern until the connection blocks with nobody reading, and gives back what was taken.
    pub(super) fn write_to_block(&mut self, makers: &mut M) -> Result<Vec<u8>, Failure> {
        let mut taken = Vec::new();
        let mut blocks = 0;
        while taken.len() < WRITE_MAX {
            let chunk = pattern(taken.len(), 65_536);
            match self.connection.write_vectored(&[IoSlice::new(&chunk)]) {
                Ok(count) => taken.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // What was on its way makes room when it arrives; only a block after that is a full connection.
                    makers.settle();
                    blocks += 1;
                    if blocks > 20 {
                        return Ok(taken);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err("a write never blocked".into())
    }

    /// Reads exactly this many bytes at the peer.
    pub(super) fn peer_reads(&mut self, count: usize) -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while filled < count {
            let read = self.peer.read(&mut bytes[filled..])?;
            ensure!(read > 0, "the peer reads the end after {filled} of {count} bytes");
            filled += read;
        }
        Ok(bytes)
    }
}

/// Bytes that differ from their neighbours, so that a shift or a gap shows.
pub(super) fn pattern(from: usize, count: usize) -> Vec<u8> {
    (from..from + count).map(|index| u8::try_from((index ^ (index >> 8) ^ (index >> 16)) & 0xff).unwrap_or(0)).collect()
}

/// Accepts the next connection, which is on its way.
pub(super) fn accept<L: Listener>(makers: &mut impl Makers, listener: &mut L) -> Result<L::Connection, Failure> {
    for _ in 0..POLLS {
        match listener.accept() {
            Ok((connection, _)) => return Ok(connection),
            Err(error) if error.kind() == ErrorKind::WouldBlock => makers.settle(),
            Err(error) => return Err(error.into()),
        }
    }
    Err("the connection never came to be accepted".into())
}

/// Polls once; an interrupted poll is polled again.
pub(super) fn poll<M: Makers>(
    makers: &mut M,
    selector: &mut M::Selector,
    events: &mut Vec<Event>,
    patience: Patience,
) -> io::Result<()> {
    for _ in 0..POLLS {
        match makers.poll(selector, events, patience) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
    Err(ErrorKind::Interrupted.into())
}

/// Polls until an event of this kind comes; others are let go.
pub(super) fn await_event<M: Makers>(
    makers: &mut M,
    selector: &mut M::Selector,
    mut wanted: impl FnMut(&Event) -> bool,
) -> Outcome {
    let mut events = Vec::new();
    for _ in 0..POLLS {
        events.clear();
        poll(makers, selector, &mut events, Patience::Long)?;
        if events.iter().any(&mut wanted) {
            return Ok(());
        }
    }
    Err("an event that is owed never came".into())
}

/// Polls and fails if an event names this token.
pub(super) fn expect_silence<M: Makers>(makers: &mut M, selector: &mut M::Selector, token: Token) -> Outcome {
    for _ in 0..3 {
        let mut events = Vec::new();
        poll(makers, selector, &mut events, Patience::Short)?;
        let found = events.iter().find(|event| event.token.index == token.index);
        ensure!(found.is_none(), "{found:?} names one who left");
    }
    Ok(())
}
