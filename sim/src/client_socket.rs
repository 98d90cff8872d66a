//! The client's end of a simulated connection, for simulated clients of any protocol.
//!
//! It must not know Kafka. No fault strikes here: a client that reads slowly, cuts its writes or vanishes does so by its own choice.

use std::io;
use std::net::SocketAddr;

use crate::errno;
use crate::kernel::Shared;
use crate::stream::{Phase, Side, Turnaround};
use crate::trace::TraceKind;

/// What a client can do with its connection now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientReadiness {
    /// The connection is made.
    pub connected: bool,
    /// The connect was refused, or the connection was reset.
    pub failed: bool,
    /// Bytes or the end of the stream wait.
    pub readable: bool,
    /// There is room for bytes.
    pub writable: bool,
}

/// A client's connection. Dropping it closes it.
#[derive(Debug)]
pub struct ClientSocket {
    shared: Shared,
    stream: u32,
}

impl ClientSocket {
    pub(crate) fn new(shared: Shared, stream: u32) -> ClientSocket {
        ClientSocket { shared, stream }
    }

    /// The name under which chance knows the connection.
    pub fn identity(&self) -> u64 {
        self.shared.lock().network.stream(self.stream).identity
    }

    /// The client's own address.
    pub fn local_address(&self) -> SocketAddr {
        self.shared.lock().network.stream(self.stream).peer
    }

    /// What can be done now. The network says who to ask, through [`crate::World::next_touched_client`].
    pub fn readiness(&self) -> ClientReadiness {
        let mut kernel = self.shared.lock();
        let state = kernel.network.stream(self.stream);
        let connected = matches!(state.phase, Phase::Waiting | Phase::Accepted);
        let failed = state.client.reset;
        ClientReadiness {
            connected,
            failed,
            readable: failed || state.to_client.readable() > 0 || state.to_client.end_came(),
            writable: failed || (connected && state.to_broker.room() > 0),
        }
    }

    /// Whether nothing comes any more but what waits to be read. Who does not read can know it all the same, as by `poll`.
    pub(crate) fn has_ended(&self) -> bool {
        let mut kernel = self.shared.lock();
        let state = kernel.network.stream(self.stream);
        state.client.reset || state.to_client.end_came()
    }

    /// How many bytes the other side has read, and how many it has sent, from the start on.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let mut kernel = self.shared.lock();
        let state = kernel.network.stream(self.stream);
        (state.to_broker.read_bytes(), state.to_client.sent_bytes())
    }

    /// What the broker did last.
    pub(crate) fn turnaround(&self) -> Turnaround {
        self.shared.lock().network.stream(self.stream).turnaround
    }

    /// Reads what has arrived; 0 is the end of the stream.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut kernel = self.shared.lock();
        let state = kernel.network.stream(self.stream);
        let count = state.to_client.readable().min(buffer.len() as u64);
        if count > 0 || buffer.is_empty() {
            let count = usize::try_from(count).unwrap_or(buffer.len());
            state.to_client.take(&mut buffer[..count]);
            let identity = state.identity;
            kernel.note(TraceKind::ClientRead, identity, count as u64);
            kernel.settle(self.stream, Side::Client);
            return Ok(count);
        }
        if let Some(number) = state.client.error.take() {
            return Err(io::Error::from_raw_os_error(number));
        }
        if state.client.reset || state.to_client.end_came() {
            return Ok(0);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Writes as much of `bytes` as there is room for.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kernel = self.shared.lock();
        let state = kernel.network.stream(self.stream);
        if let Some(number) = state.client.error.take() {
            return Err(io::Error::from_raw_os_error(number));
        }
        if state.client.reset || state.client.write_shut {
            return Err(io::Error::from_raw_os_error(errno::EPIPE));
        }
        let room = if state.phase == Phase::Connecting { 0 } else { state.to_broker.room() };
        let count = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let identity = state.identity;
        kernel.note(TraceKind::Client, identity, count as u64);
        kernel.send(self.stream, Side::Client, &bytes[..count]);
        Ok(count)
    }

    /// Says that no more bytes come; answers are still read.
    pub fn shutdown_write(&mut self) {
        self.shared.lock().finish(self.stream, Side::Client);
    }

    /// Tears the connection: the broker learns of it by an error.
    pub fn reset(self) {
        self.shared.lock().tear_client(self.stream);
    }

    /// Goes silent for ever: nothing more is sent, not even an end, and what arrives is never answered.
    pub fn vanish(self) {
        self.shared.lock().vanish(self.stream);
    }

    /// Says that nothing protects the bits on this connection: the sender does not mind what becomes of them.
    pub fn unprotected(self) -> ClientSocket {
        self.shared.lock().network.stream(self.stream).route.is_unprotected = true;
        self
    }
}

impl Drop for ClientSocket {
    fn drop(&mut self) {
        self.shared.lock().close(self.stream, Side::Client);
    }
}
