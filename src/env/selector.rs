//! The door to the network: readiness, listeners, connections.
//!
//! It must not know frames or requests. The contract is edge-triggered: readiness is shown once, and the reader reads until
//! `WouldBlock`; a spurious event is legal, a missing one is not. Every read, write and send may be short at any byte.

use std::io::{self, IoSlice};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use crate::env::{DiskFile, FileSink, Wake};

/// Names a registered listener or connection. The generation keeps a stale event away from a later user of the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The slot.
    pub index: u32,
    /// Which user of the slot this is.
    pub generation: u32,
}

/// One readiness event. `read_closed`, `write_closed` and `error` are hints that may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whom it concerns.
    pub token: Token,
    /// Reading may make progress.
    pub readable: bool,
    /// Writing may make progress.
    pub writable: bool,
    /// The peer has closed its side, or the connection is gone.
    pub read_closed: bool,
    /// Our side is closed, or the connection is gone.
    pub write_closed: bool,
    /// The connection has an error waiting.
    pub error: bool,
}

/// What a registration wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Readable only.
    Readable,
    /// Readable and writable.
    ReadableWritable,
}

/// Socket options of an accepted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// `SO_SNDBUF`, or the kernel's tuning.
    pub send_buffer_bytes: Option<u32>,
}

/// Makes selectors and listeners.
pub trait Network {
    /// The selectors that it makes.
    type Selector: Selector;

    /// A new selector.
    fn selector(&self) -> io::Result<Self::Selector>;

    /// A listener at `host` (empty: every address of this machine) and `port` (0: any free one), with the given backlog and
    /// `SO_RCVBUF` (or the kernel's tuning).
    fn listen(
        &self,
        host: &str,
        port: u16,
        backlog: u32,
        receive_buffer_bytes: Option<u32>,
    ) -> io::Result<<Self::Selector as Selector>::Listener>;

    /// The addresses of a host name; none if it has none.
    fn resolve(&self, host: &str) -> Vec<IpAddr>;
}

/// Waits for readiness of many sockets. One selector belongs to one role.
pub trait Selector: Send + 'static {
    /// The listeners that it can wait for.
    type Listener: Listener<Connection = Self::Connection>;
    /// The connections that it can wait for.
    type Connection: Connection;

    /// Appends what became ready to `events`, waiting at most `timeout` (for ever if `None`). May return early with nothing.
    /// A wake ends it and shows no event. `Interrupted` is an error that the caller answers by polling again.
    fn poll(&mut self, events: &mut Vec<Event>, timeout: Option<Duration>) -> io::Result<()>;

    /// Starts to show accept readiness of `listener`; one that has connections waiting shows an edge at once.
    fn register_listener(&mut self, listener: &mut Self::Listener, token: Token) -> io::Result<()>;

    /// Asks for a new edge of `listener` if connections wait, after an accept error had stopped the draining (`EMFILE`).
    fn rearm_listener(&mut self, listener: &mut Self::Listener, token: Token) -> io::Result<()>;

    /// Starts to show readiness of `connection`; one that is ready already shows an edge at once.
    fn register(&mut self, connection: &mut Self::Connection, token: Token, interest: Interest) -> io::Result<()>;

    /// Changes what is shown; readiness that holds now shows a new edge.
    fn reregister(&mut self, connection: &mut Self::Connection, token: Token, interest: Interest) -> io::Result<()>;

    /// Stops showing `connection`. Events that were already taken out may still name its token.
    fn deregister(&mut self, connection: &mut Self::Connection) -> io::Result<()>;

    /// Ends a running or the next `poll` of this selector, from any thread.
    fn waker(&self) -> Arc<dyn Wake>;
}

/// A socket that accepts.
pub trait Listener: Send + 'static {
    /// What it accepts.
    type Connection: Connection;

    /// The next waiting connection and its peer's address; `WouldBlock` when none waits.
    fn accept(&mut self) -> io::Result<(Self::Connection, SocketAddr)>;

    /// Where it listens; with the real port if port 0 was asked for.
    fn local_address(&self) -> io::Result<SocketAddr>;
}

/// A byte stream to one peer, never blocking.
pub trait Connection: FileSink + Send + 'static {
    /// Reads into `buffer`; 0 is the end of the stream (if `buffer` is not empty).
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Like [`Connection::read`], behind what `buffer` holds: as much as its capacity has room for, which must be more than nothing. Makers
    /// that can spare themselves clearing the room first.
    fn read_behind(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let filled = buffer.len();
        buffer.resize(buffer.capacity(), 0);
        let outcome = self.read(buffer.get_mut(filled..).unwrap_or_default());
        buffer.truncate(filled + outcome.as_ref().map_or(0, |read| *read));
        outcome
    }

    /// Writes a prefix of `slices`, taken together.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Like [`Connection::write_vectored`] where a range of a file is sent right after: makers that can hold the bytes back, so that they leave
    /// with the first of the file and not in a small segment of their own.
    fn write_before_file(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.write_vectored(slices)
    }

    /// Sends a prefix of `bytes` bytes of `file` from `offset` on, without a copy where the makers can.
    /// `UnexpectedEof` if the file ends before `offset`.
    fn send_file(&mut self, file: &dyn DiskFile, offset: u64, bytes: usize) -> io::Result<usize>;

    /// Sets the options of an accepted socket: no delay, keep-alive, and those given.
    fn configure(&mut self, options: &SocketOptions) -> io::Result<()>;

    /// The address at which the peer reached us.
    fn local_address(&self) -> io::Result<SocketAddr>;

    /// Closes one or both directions.
    fn shutdown(&mut self, side: Shutdown) -> io::Result<()>;
}
