//! An answer that is going out: pieces of memory and of files, written as the socket takes them.
//!
//! It must not know what the bytes mean.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::Buf;

use crate::env::{Connection, Piece};
use crate::marks::Mark;
use crate::zoo::{self, Bug};

/// The most slices that one vectored write takes: an answer of several partitions alternates short heads and records.
const SLICES_MAX: usize = 32;

/// How far a send has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendProgress {
    /// All is written.
    Complete,
    /// The socket takes no more; a writable event will come.
    Blocked,
}

/// The unwritten rest of an answer.
#[derive(Debug)]
pub(crate) struct NetworkSend {
    pieces: VecDeque<Piece>,
}

impl NetworkSend {
    pub(crate) fn new(pieces: Vec<Piece>) -> NetworkSend {
        // The vector becomes the queue as it is: an answer costs no allocation here.
        let mut pieces = VecDeque::from(pieces);
        pieces.retain(|piece| piece.bytes() > 0);
        NetworkSend { pieces }
    }

    /// Adds the pieces of another answer, as only a planted bug does.
    pub(crate) fn add(&mut self, pieces: Vec<Piece>) {
        self.pieces.extend(pieces.into_iter().filter(|piece| piece.bytes() > 0));
    }

    /// Writes until all is written or the socket blocks. An error means that the connection is of no use any more: also when a
    /// file has become shorter than the answer that was promised.
    pub(crate) fn write_to(&mut self, connection: &mut impl Connection) -> io::Result<SendProgress> {
        loop {
            let written = match self.pieces.front() {
                None => return Ok(SendProgress::Complete),
                Some(Piece::File { file, offset, bytes }) => connection.send_file(file.as_ref(), *offset, *bytes),
                Some(Piece::Bytes(_)) => {
                    let mut slices = [IoSlice::new(&[]); SLICES_MAX];
                    let used = self.fill_leading(&mut slices);
                    let slices = slices.get(..used).unwrap_or_default();
                    match self.pieces.get(used) {
                        Some(Piece::File { .. }) => connection.write_before_file(slices),
                        Some(Piece::Bytes(_)) | None => connection.write_vectored(slices),
                    }
                }
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(SendProgress::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts the bytes up to the first file range into `slices`; says how many slices that took.
    fn fill_leading<'a>(&'a self, slices: &mut [IoSlice<'a>; SLICES_MAX]) -> usize {
        let leading = self.pieces.iter().map_while(|piece| match piece {
            Piece::Bytes(bytes) => Some(IoSlice::new(bytes)),
            Piece::File { .. } => None,
        });
        let mut used = 0;
        for (slot, slice) in slices.iter_mut().zip(leading) {
            *slot = slice;
            used += 1;
        }
        used
    }

    fn advance(&mut self, mut written: usize) {
        while written > 0 {
            let front = self.pieces.front_mut().expect("no more is written than there was");
            let step = written.min(front.bytes());
            if step < front.bytes() && matches!(front, Piece::File { .. }) {
                Mark::FileSentInParts.reached();
            }
            if step < front.bytes() && zoo::is(Bug::PartialWriteResumesWrong) {
                return;
            }
            match front {
                Piece::Bytes(bytes) => bytes.advance(step),
                Piece::File { offset, bytes, .. } => {
                    *offset += step as u64;
                    *bytes -= step;
                }
            }
            if front.bytes() == 0 {
                self.pieces.pop_front();
            }
            written -= step;
        }
    }
}
