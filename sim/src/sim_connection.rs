//! The broker's end of a simulated connection.
//!
//! It must not know frames. Reads, writes and sends may be short at any byte; errors carry Linux's numbers.

use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;

use klamm::env::{Connection, DiskFile, FileSink, SocketOptions};

use crate::errno;
use crate::flaw::Flaw;
use crate::flight::near_edge;
use crate::kernel::{Kernel, Shared};
use crate::keyed::{Draw, Site};
use crate::network_state::Action;
use crate::stream::{Side, Turnaround};
use crate::trace::TraceKind;

/// The longest that a spuriously blocked call waits for its edge, on average.
const RETRY_NANOS: u64 = 500_000;

/// A byte stream to one simulated client.
#[derive(Debug)]
pub struct SimConnection {
    shared: Shared,
    stream: u32,
    boot: u32,
}

impl SimConnection {
    pub(crate) fn new(shared: Shared, stream: u32, boot: u32) -> SimConnection {
        SimConnection { shared, stream, boot }
    }

    /// The connection's place in the network; an error if the process that held it is gone.
    pub(crate) fn stream(&self, kernel: &Kernel) -> io::Result<u32> {
        if kernel.boot == self.boot { Ok(self.stream) } else { Err(io::Error::from_raw_os_error(errno::EBADF)) }
    }

    fn write_bytes(&mut self, slices: &[&[u8]]) -> io::Result<usize> {
        let mut kernel = self.shared.lock();
        let stream = self.stream(&kernel)?;
        kernel.broker_write(stream, slices)
    }
}

impl Connection for SimConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut kernel = self.shared.lock();
        let stream = self.stream(&kernel)?;
        kernel.broker_read(stream, buffer)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut kernel = self.shared.lock();
        let stream = self.stream(&kernel)?;
        let skipped = usize::from(slices.len() > 1 && kernel.flawed(Flaw::VectoredWriteSkipsSlice));
        let mut few = [&[][..]; 8];
        if let Some(few) = few.get_mut(..slices.len()) {
            few.iter_mut().zip(slices).for_each(|(place, slice)| *place = slice);
            return kernel.broker_write(stream, &few[skipped..]);
        }
        let many: Vec<&[u8]> = slices[skipped..].iter().map(|slice| &slice[..]).collect();
        kernel.broker_write(stream, &many)
    }

    fn send_file(&mut self, file: &dyn DiskFile, offset: u64, bytes: usize) -> io::Result<usize> {
        file.send_to(self, offset, bytes)
    }

    fn configure(&mut self, _options: &SocketOptions) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        let stream = self.stream(&kernel)?;
        let identity = kernel.network.stream(stream).identity;
        match kernel.fault(Site::ConfigureFails, identity) {
            Some(_) => Err(io::Error::from_raw_os_error(errno::ENOTCONN)),
            None => Ok(()),
        }
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        let mut kernel = self.shared.lock();
        let stream = self.stream(&kernel)?;
        let identity = kernel.network.stream(stream).identity;
        match kernel.fault(Site::AddressUnknown, identity) {
            Some(_) => Err(io::Error::from_raw_os_error(errno::ENOTCONN)),
            None => Ok(kernel.network.stream(stream).local),
        }
    }

    fn shutdown(&mut self, side: Shutdown) -> io::Result<()> {
        let mut kernel = self.shared.lock();
        let stream = self.stream(&kernel)?;
        kernel.broker_shutdown(stream, side)
    }
}

impl FileSink for SimConnection {
    fn send_descriptor(&mut self, _file: BorrowedFd<'_>, _offset: u64, _bytes: usize) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a simulated connection takes no real file"))
    }

    fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_bytes(&[bytes])
    }
}

impl Drop for SimConnection {
    fn drop(&mut self) {
        let mut kernel = self.shared.lock();
        if kernel.boot == self.boot {
            kernel.close(self.stream, Side::Broker);
        }
    }
}

fn error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// An error of a socket that nobody thinks of.
fn unexpected(draw: Draw) -> i32 {
    [errno::EIO, errno::ENOBUFS, errno::ENOMEM, errno::EHOSTUNREACH][draw.below(4) as usize]
}

impl Kernel {
    fn broker_read(&mut self, stream: u32, buffer: &mut [u8]) -> io::Result<usize> {
        let other = stream ^ 1;
        let mixed = self.flawed(Flaw::ConnectionsMixed) && (other as usize) < self.network.streams.len();
        let stream = if mixed { other } else { stream };
        if buffer.is_empty() && !self.flawed(Flaw::EmptyReadBlocks) {
            return Ok(0);
        }
        let state = self.network.stream(stream);
        let identity = state.identity;
        let available = if self.flawed(Flaw::EndHidesBytes) && self.network.stream(stream).to_broker.end_came() {
            0
        } else {
            self.network.stream(stream).to_broker.readable()
        };
        let is_unseen = self.network.stream(stream).registration.is_some_and(|registration| registration.read_edge);
        let available = if is_unseen && self.flawed(Flaw::ReadNeedsEdge) { 0 } else { available };
        let limit = available.min(buffer.len() as u64);
        if limit == 0 {
            return self.read_nothing(stream);
        }
        if let Some(draw) = self.fault(Site::ConnectionReadFails, identity) {
            return Err(error(unexpected(draw)));
        }
        if let Some(draw) = self.fault(Site::ReadBlocksSpuriously, identity) {
            self.network.stream(stream).read_armed = true;
            let at = self.now.0 + draw.exponential(RETRY_NANOS);
            self.network.schedule(at, Action::ReadEdge { stream, always: false });
            self.note(TraceKind::Block, identity, 2);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = usize::try_from(self.read_count(stream, limit)).unwrap_or(buffer.len());
        self.network.stream(stream).to_broker.take(&mut buffer[..count]);
        if self.flawed(Flaw::ReadSkipsAByte) {
            self.network.stream(stream).to_broker.take(&mut [0][..usize::from(available > count as u64)]);
        }
        if available > count as u64 && self.flawed(Flaw::PartialReadDropsRest) {
            self.network.stream(stream).to_broker.drop_all();
        }
        self.note(TraceKind::Read, identity, count as u64);
        self.network.stream(stream).turnaround = Turnaround { read_at: self.now, rested_at: None };
        self.settle(stream, Side::Broker);
        Ok(count)
    }

    /// How many of `limit` bytes a read takes.
    fn read_count(&mut self, stream: u32, limit: u64) -> u64 {
        let state = self.network.stream(stream);
        let identity = state.identity;
        if state.route.one_byte_reads > 0 {
            state.route.one_byte_reads -= 1;
            return 1;
        }
        if let Some(draw) = self.fault(Site::ShortRead, identity) {
            return draw.between(1, limit);
        }
        match self.fault(Site::ReadCutNearEdge, identity) {
            Some(draw) if limit > 1 => near_edge(draw, limit),
            _ => limit,
        }
    }

    /// Reading where nothing is: an error, the end, or a block, after which the next edge is owed.
    fn read_nothing(&mut self, stream: u32) -> io::Result<usize> {
        let state = self.network.stream(stream);
        let identity = state.identity;
        if let Some(number) = state.broker.error.take() {
            return Err(error(number));
        }
        if state.broker.reset || state.to_broker.end_came() {
            return Ok(0);
        }
        if state.broker.read_shut && !self.flawed(Flaw::ShutdownReadIgnored) {
            return Ok(0);
        }
        if self.flawed(Flaw::EmptyReadIsEnd) {
            return Ok(0);
        }
        self.network.stream(stream).read_armed = true;
        self.note(TraceKind::Block, identity, 0);
        if let Some(draw) = self.fault(Site::SpuriousReadable, identity) {
            let at = self.now.0 + draw.exponential(RETRY_NANOS);
            self.network.schedule(at, Action::ReadEdge { stream, always: true });
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn broker_write(&mut self, stream: u32, slices: &[&[u8]]) -> io::Result<usize> {
        let total: usize = slices.iter().map(|slice| slice.len()).sum();
        let state = self.network.stream(stream);
        let identity = state.identity;
        if let Some(number) = state.broker.error.take() {
            return Err(error(number));
        }
        let shut = state.broker.write_shut && !self.flawed(Flaw::WriteAfterShutdownSucceeds);
        let is_reset = self.network.stream(stream).broker.reset;
        if is_reset && self.flawed(Flaw::WriteAfterResetSucceeds) {
            return Ok(total);
        }
        if shut || is_reset {
            return Err(error(errno::EPIPE));
        }
        if total == 0 && !self.flawed(Flaw::EmptyWriteBlocks) {
            return Ok(0);
        }
        let mut room = self.network.stream(stream).to_client.room();
        if self.network.stream(stream).to_broker.readable() > 0 && self.flawed(Flaw::WriteBlocksWhileUnread) {
            room = 0;
        }
        if self.flawed(Flaw::WriteNeverBlocks) {
            room = u64::MAX;
        }
        let limit = room.min(total as u64);
        if limit == 0 {
            self.network.stream(stream).write_armed = true;
            self.note(TraceKind::Block, identity, 1);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if let Some(draw) = self.fault(Site::ConnectionWriteFails, identity) {
            return Err(error(unexpected(draw)));
        }
        if let Some(draw) = self.fault(Site::WriteBlocksSpuriously, identity) {
            self.network.stream(stream).write_armed = true;
            let at = self.now.0 + draw.exponential(RETRY_NANOS);
            self.network.schedule(at, Action::WriteEdge { stream, always: false });
            self.note(TraceKind::Block, identity, 3);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = match self.fault(Site::ShortWrite, identity) {
            Some(draw) => draw.between(1, limit),
            None => limit,
        };
        self.note(TraceKind::Write, identity, count);
        let rested_at = self.rested_at;
        self.network.stream(stream).turnaround.rested_at.get_or_insert(rested_at);
        self.send_slices(stream, slices, usize::try_from(count).unwrap_or(total));
        Ok(usize::try_from(count).unwrap_or(total))
    }

    fn send_slices(&mut self, stream: u32, slices: &[&[u8]], count: usize) {
        let mut left = count;
        for slice in slices {
            let taken = &slice[..slice.len().min(left)];
            left -= taken.len();
            let last = left == 0;
            let lost = usize::from(last && self.flawed(Flaw::ShortWriteOverstates) && taken.len() > 1);
            self.send(stream, Side::Broker, &taken[..taken.len() - lost]);
            if last {
                break;
            }
        }
    }

    fn broker_shutdown(&mut self, stream: u32, side: Shutdown) -> io::Result<()> {
        let state = self.network.stream(stream);
        let identity = state.identity;
        if state.broker.reset {
            let succeeds = self.flawed(Flaw::ShutdownAfterResetSucceeds);
            return if succeeds { Ok(()) } else { Err(error(errno::ENOTCONN)) };
        }
        let is_half = side == Shutdown::Both && self.flawed(Flaw::ShutdownBothIsRead);
        let side = if is_half { Shutdown::Read } else { side };
        self.note(TraceKind::Close, identity, 2);
        if matches!(side, Shutdown::Read | Shutdown::Both) || self.flawed(Flaw::ShutdownWriteClosesReading) {
            self.network.stream(stream).broker.read_shut = true;
            // The process hears of its own shutdown, as under epoll.
            self.network.show_read_edge(stream);
        }
        if matches!(side, Shutdown::Write | Shutdown::Both) {
            self.finish(stream, Side::Broker);
        }
        Ok(())
    }
}
