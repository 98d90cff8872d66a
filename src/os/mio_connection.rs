//! The real connection: a TCP socket that never blocks.
//!
//! It must not know frames. Files go out with `sendfile`; the file hands its descriptor over, so neither learns the other's type.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::fs::sendfile;
use socket2::{SockRef, TcpKeepalive};

use crate::env::{Connection, DiskFile, FileSink, SocketOptions};
use crate::os::mio_listener::canonical;

/// After how much silence the kernel asks whether the peer still lives: long, since the broker's own idle timeout comes first.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(7_200);

/// A byte stream to one peer.
#[derive(Debug)]
pub struct MioConnection {
    stream: mio::net::TcpStream,
}

impl MioConnection {
    pub(super) fn new(stream: mio::net::TcpStream) -> MioConnection {
        MioConnection { stream }
    }

    pub(super) fn source(&mut self) -> &mut mio::net::TcpStream {
        &mut self.stream
    }
}

impl Connection for MioConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| self.stream.read(buffer))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        uninterrupted(|| self.stream.write_vectored(slices))
    }

    fn send_file(&mut self, file: &dyn DiskFile, offset: u64, bytes: usize) -> io::Result<usize> {
        file.send_to(self, offset, bytes)
    }

    fn configure(&mut self, options: &SocketOptions) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        let socket = SockRef::from(&self.stream);
        socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_IDLE))?;
        match options.send_buffer_bytes {
            Some(bytes) => socket.set_send_buffer_size(bytes as usize),
            None => Ok(()),
        }
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr().map(canonical)
    }

    fn shutdown(&mut self, side: Shutdown) -> io::Result<()> {
        self.stream.shutdown(side)
    }
}

impl FileSink for MioConnection {
    fn send_descriptor(&mut self, file: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<usize> {
        let stream = &self.stream;
        let sent = uninterrupted(|| {
            let mut position = offset;
            stream.try_io(|| Ok(sendfile(stream, file, Some(&mut position), bytes)?))
        })?;
        if sent == 0 && bytes > 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(sent)
    }

    fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<usize> {
        uninterrupted(|| self.stream.write(bytes))
    }
}

/// Repeats a call that a signal interrupted: nothing of it happened.
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
