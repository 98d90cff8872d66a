//! The real connection: a TCP socket that never blocks.
//!
//! It must not know frames. Files go out with `sendfile`; the file hands its descriptor over, so neither learns the other's type.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::fs::sendfile;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
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

    fn read_behind(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let stream = &self.stream;
        uninterrupted(|| stream.try_io(|| Ok(rustix::io::read(stream, spare_capacity(buffer))?)))
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        uninterrupted(|| self.stream.write_vectored(slices))
    }

    fn write_before_file(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let stream = &self.stream;
        let flags = SendFlags::MORE | SendFlags::NOSIGNAL;
        uninterrupted(|| stream.try_io(|| Ok(sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags)?)))
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

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Both ends of a connection.
    fn pair() -> (MioConnection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        accepted.set_nonblocking(true).unwrap();
        accepted.set_nodelay(true).unwrap();
        (MioConnection::new(mio::net::TcpStream::from_std(accepted)), peer)
    }

    #[test]
    fn bytes_before_a_file_leave_with_it() {
        // The kernel holds them for a fifth of a second, which a busy machine may sleep through: one try of many shows it.
        let has_held = (0..20).any(|_| {
            let (mut connection, mut peer) = pair();
            assert_eq!(connection.write_before_file(&[IoSlice::new(b"he"), IoSlice::new(b"ad")]).unwrap(), 4);
            peer.set_nonblocking(true).unwrap();
            let has_held = peer.peek(&mut [0; 10]).is_err();
            assert_eq!(connection.send_bytes(b"file").unwrap(), 4);
            peer.set_nonblocking(false).unwrap();
            let mut received = [0; 8];
            peer.read_exact(&mut received).unwrap();
            assert_eq!(&received, b"headfile");
            has_held
        });
        assert!(has_held);
    }

    #[test]
    fn a_read_behind_what_is_there_takes_no_more_than_there_is_room_for_and_blocks_when_nothing_has_come() {
        let (mut connection, mut peer) = pair();
        let mut buffer = Vec::with_capacity(8);
        buffer.extend_from_slice(b"ab");
        assert_eq!(connection.read_behind(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(buffer, b"ab");
        peer.write_all(b"0123456789").unwrap();
        while buffer.len() < buffer.capacity() {
            read_when_ready(&mut connection, &mut buffer);
        }
        assert_eq!(buffer, b"ab0123456789"[..buffer.len()]);
        drop(peer);
        buffer.reserve(100);
        while read_when_ready(&mut connection, &mut buffer) > 0 {}
        assert_eq!(buffer, b"ab0123456789");
    }

    fn read_when_ready(connection: &mut MioConnection, buffer: &mut Vec<u8>) -> usize {
        loop {
            match connection.read_behind(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome.unwrap(),
            }
        }
    }
}
