//! A way in for fuzz targets and property tests: bytes through the reactor's reader and writer, in any cuts.
//!
//! It must not be used by the broker, and it must not know a socket: its connection is a script.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::BorrowedFd;

use bytes::Bytes;

use super::memory_pool::MemoryPool;
use super::network_receive::{NetworkReceive, Received};
use super::network_send::{NetworkSend, SendProgress};
use crate::env::{Connection, DiskFile, FileSink, Piece, SocketOptions};

/// A connection that takes and gives as many bytes at a time as its script says; 0 in a script is `WouldBlock` once.
#[derive(Debug, Default)]
pub(crate) struct ScriptedConnection {
    incoming: VecDeque<u8>,
    written: Vec<u8>,
    cuts: VecDeque<usize>,
    /// Where its bytes end it was reset, not closed.
    is_reset: bool,
    /// What was written right before a file.
    before_files: Vec<u8>,
}

impl ScriptedConnection {
    pub(crate) fn new(incoming: &[u8], cuts: &[usize]) -> ScriptedConnection {
        ScriptedConnection {
            incoming: incoming.iter().copied().collect(),
            written: Vec::new(),
            cuts: cuts.iter().copied().collect(),
            is_reset: false,
            before_files: Vec::new(),
        }
    }

    /// The same with a reset where its bytes end.
    #[cfg(test)]
    pub(crate) fn then_reset(self) -> ScriptedConnection {
        ScriptedConnection { is_reset: true, ..self }
    }

    /// How many bytes the next call may move; all, when the script is over.
    fn cut(&mut self) -> io::Result<usize> {
        match self.cuts.pop_front() {
            Some(0) => Err(io::ErrorKind::WouldBlock.into()),
            Some(cut) => Ok(cut),
            None => Ok(usize::MAX),
        }
    }

    fn take(&mut self, slices: &[&[u8]]) -> io::Result<usize> {
        let cut = self.cut()?;
        let before = self.written.len();
        self.written.extend(slices.iter().flat_map(|slice| slice.iter()).take(cut));
        Ok(self.written.len() - before)
    }
}

impl FileSink for ScriptedConnection {
    fn send_descriptor(&mut self, _file: BorrowedFd<'_>, _offset: u64, _bytes: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(&[bytes])
    }
}

impl Connection for ScriptedConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.cut()?.min(buffer.len()).min(self.incoming.len());
        if count == 0 && self.is_reset {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        for (slot, byte) in buffer.iter_mut().zip(self.incoming.drain(..count)) {
            *slot = byte;
        }
        Ok(count)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let slices: Vec<&[u8]> = slices.iter().map(|slice| &**slice).collect();
        self.take(&slices)
    }

    fn write_before_file(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.write_vectored(slices)?;
        self.before_files.extend_from_slice(&self.written[self.written.len() - written..]);
        Ok(written)
    }

    fn send_file(&mut self, file: &dyn DiskFile, offset: u64, bytes: usize) -> io::Result<usize> {
        file.send_to(self, offset, bytes)
    }

    fn configure(&mut self, _options: &SocketOptions) -> io::Result<()> {
        Ok(())
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn shutdown(&mut self, _side: Shutdown) -> io::Result<()> {
        Ok(())
    }
}

/// How a stream of frames ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The peer closed.
    Ended,
    /// A length was negative or above the limit.
    BadLength([u8; 4]),
}

/// Reads `bytes` as frames of at most `frame_bytes_max`, in the given cuts (0 blocks once) and with at most `budget_bytes` a turn,
/// through a scratch of `scratch_bytes`, until the end or a bad length.
pub fn receive_frames(
    bytes: &[u8],
    cuts: &[usize],
    frame_bytes_max: usize,
    scratch_bytes: usize,
    budget_bytes: usize,
) -> (Vec<Bytes>, StreamEnd) {
    let mut connection = ScriptedConnection::new(bytes, cuts);
    let pool = MemoryPool::new(None, Vec::new());
    let mut scratch = vec![0; scratch_bytes.max(1)];
    let mut receive = NetworkReceive::default();
    let mut frames = Vec::new();
    loop {
        let received = receive.read_from(&mut connection, &mut scratch, frame_bytes_max, &pool, budget_bytes.max(1));
        match received.expect("the script has no errors but WouldBlock") {
            Received::Frame(frame) => frames.push(frame),
            Received::Blocked | Received::BudgetSpent => {}
            Received::NoMemory => unreachable!("the pool has no bound"),
            Received::Ended => return (frames, StreamEnd::Ended),
            Received::BadLength(prefix) => return (frames, StreamEnd::BadLength(prefix)),
        }
    }
}

/// What a peer gets of `pieces` if the socket takes them in the given cuts (0 blocks once).
pub fn send_pieces(pieces: Vec<Piece>, cuts: &[usize]) -> io::Result<Vec<u8>> {
    let mut connection = ScriptedConnection::new(&[], cuts);
    let mut send = NetworkSend::new(pieces);
    while send.write_to(&mut connection)? == SendProgress::Blocked {}
    Ok(connection.written)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::{NetworkSend, ScriptedConnection, StreamEnd, receive_frames, send_pieces};
    use crate::env::{DiskError, DiskFile, FileSink, Piece};
    use crate::types::WallTime;

    /// A file whose range is in memory.
    #[derive(Debug)]
    struct MemoryFile(Vec<u8>);

    impl DiskFile for MemoryFile {
        fn append(&self, _pieces: &[std::io::IoSlice<'_>]) -> Result<(), DiskError> {
            unreachable!("a send only reads")
        }
        fn read_at(&self, _offset: u64, _buffer: &mut [u8]) -> Result<usize, DiskError> {
            unreachable!("a send goes through send_to")
        }
        fn bytes(&self) -> Result<u64, DiskError> {
            Ok(self.0.len() as u64)
        }
        fn truncate(&self, _bytes: u64) -> Result<(), DiskError> {
            unreachable!("a send only reads")
        }
        fn sync(&self) -> Result<(), DiskError> {
            Ok(())
        }
        fn modified(&self) -> Result<WallTime, DiskError> {
            Ok(WallTime(0))
        }
        fn set_modified(&self, _time: WallTime) -> Result<(), DiskError> {
            Ok(())
        }
        fn send_to(&self, sink: &mut dyn FileSink, offset: u64, bytes: usize) -> std::io::Result<usize> {
            let range = self.0.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
            sink.send_bytes(&range[..bytes.min(range.len())])
        }
    }

    fn cuts() -> impl Strategy<Value = Vec<usize>> {
        proptest::collection::vec(prop_oneof![Just(0), 1..5_usize, 1..40_000_usize], 0..60)
    }

    fn bodies() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let body = prop_oneof![
            4 => proptest::collection::vec(any::<u8>(), 0..60),
            1 => proptest::collection::vec(any::<u8>(), 900..3_000),
        ];
        proptest::collection::vec(body, 0..8)
    }

    proptest! {
        #[test]
        fn the_frames_that_come_out_do_not_depend_on_the_cuts(
            bodies in bodies(),
            cuts in cuts(),
            scratch_bytes in 1..600_usize,
            budget_bytes in 1..2_000_usize,
            lost_bytes in 0..4_usize,
        ) {
            let mut stream = Vec::new();
            for body in &bodies {
                stream.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
                stream.extend_from_slice(body);
            }
            stream.truncate(stream.len().saturating_sub(lost_bytes));
            let (frames, end) = receive_frames(&stream, &cuts, 3_000, scratch_bytes, budget_bytes);
            prop_assert_eq!(end, StreamEnd::Ended);
            let is_last_lost = lost_bytes > 0 && !bodies.is_empty();
            prop_assert!(frames.len() <= bodies.len());
            prop_assert!(frames.len() + 4 > bodies.len() || !is_last_lost);
            for (frame, body) in frames.iter().zip(&bodies) {
                prop_assert_eq!(&frame[..], &body[..]);
            }
            prop_assert_eq!(is_last_lost, frames.len() < bodies.len());
        }

        #[test]
        fn a_bad_length_ends_the_stream_after_the_frames_before_it(
            bodies in bodies(),
            cuts in cuts(),
            length in prop_oneof![i32::MIN..0, 3_001..i32::MAX],
        ) {
            let mut stream = Vec::new();
            for body in &bodies {
                stream.extend_from_slice(&u32::try_from(body.len()).unwrap().to_be_bytes());
                stream.extend_from_slice(body);
            }
            stream.extend_from_slice(&length.to_be_bytes());
            stream.extend_from_slice(b"whatever");
            let (frames, end) = receive_frames(&stream, &cuts, 3_000, 128, 1_000);
            prop_assert_eq!(end, StreamEnd::BadLength(length.to_be_bytes()));
            prop_assert_eq!(frames.len(), bodies.len());
        }

        #[test]
        fn what_is_sent_does_not_depend_on_how_short_the_writes_are(
            parts in proptest::collection::vec((any::<bool>(), 0..4_usize, proptest::collection::vec(any::<u8>(), 0..300)), 0..50),
            cuts in cuts(),
        ) {
            let mut expected = Vec::new();
            let mut pieces = Vec::new();
            for (is_file, offset, bytes) in parts {
                let visible = bytes.get(offset..).unwrap_or_default();
                expected.extend_from_slice(visible);
                pieces.push(if is_file {
                    let (offset, length) = (offset as u64, visible.len());
                    Piece::File { file: Arc::new(MemoryFile(bytes)), offset, bytes: length }
                } else {
                    Piece::Bytes(Bytes::copy_from_slice(visible))
                });
            }
            prop_assert_eq!(send_pieces(pieces, &cuts).unwrap(), expected);
        }
    }

    #[test]
    fn only_bytes_that_a_file_follows_wait_for_it() {
        let bytes = |text: &'static str| Piece::Bytes(Bytes::from_static(text.as_bytes()));
        let file = || Piece::File { file: Arc::new(MemoryFile(vec![b'-'; 3])), offset: 0, bytes: 3 };
        let pieces = vec![bytes("a"), bytes("b"), file(), file(), bytes("c"), file(), bytes("d"), bytes("e")];
        let mut connection = ScriptedConnection::new(&[], &[]);
        NetworkSend::new(pieces).write_to(&mut connection).unwrap();
        assert_eq!(connection.written, b"ab------c---de");
        assert_eq!(connection.before_files, b"abc");
    }

    #[test]
    fn a_file_that_became_shorter_than_the_answer_ends_the_send_with_an_error() {
        let piece = Piece::File { file: Arc::new(MemoryFile(vec![1; 10])), offset: 4, bytes: 20 };
        let result = send_pieces(vec![Piece::Bytes(Bytes::from_static(b"head")), piece], &[3, 0, 2]);
        assert_eq!(result.unwrap_err().kind(), std::io::ErrorKind::WriteZero);
    }
}
