//! Clauses about sending ranges of files.
//!
//! It must not know who made the files or the connections.

use std::io::{ErrorKind, IoSlice};
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;

use klamm::env::{Connection, DiskFile, Interest, OpenMode};

use crate::conformance::bench::{Pair, pattern};
use crate::conformance::{Clause, Failure, Makers, Outcome, Peer, ensure, table};
use crate::flaw::Flaw;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        range_is_sent, SendShifted,
            "A range of a file is sent as it is, though perhaps in parts.";
        sending_beyond_end_is_unexpected_eof, SendBeyondEndIsNothing,
            "Sending from beyond the file's end is an unexpected end.";
        sending_across_end_stops_there, SendPadsWithZeroes,
            "Sending across the file's end sends what is there.";
        big_send_blocks_and_goes_on, WritableEdgeLost,
            "A big send blocks in the end and goes on at a writable edge.";
        removed_file_is_sent, RemovedFileUnreadable,
            "A file that was removed while open is still sent.";
        sent_range_keeps_its_place, ShortWriteOverstates,
            "Bytes, a range of a file and bytes again arrive in that order.";
        sending_nothing_is_nothing, EmptyWriteBlocks,
            "Sending no bytes of a file sends nothing and is no error.";
        sending_after_shutdown_is_broken_pipe, WriteAfterShutdownSucceeds,
            "Sending a file after shutting the write side is a broken pipe.";
    }
}

fn file_of<M: Makers>(makers: &M, bytes: &[u8]) -> Result<(Arc<dyn DiskFile>, PathBuf), Failure> {
    let path = makers.directory().join("00000000000000000000.log");
    let file = makers.disk().open(&path, OpenMode::CreateEmpty)?;
    file.append(&[IoSlice::new(bytes)])?;
    Ok((file, path))
}

/// Sends a whole range, waiting for edges; the peer reads when the connection is full.
fn send_all<M: Makers>(
    makers: &mut M,
    pair: &mut Pair<M>,
    file: &dyn DiskFile,
    offset: u64,
    bytes: usize,
) -> Result<Vec<u8>, Failure> {
    let mut sent = 0;
    let mut read = Vec::new();
    while sent < bytes {
        match pair.connection.send_file(file, offset + sent as u64, bytes - sent) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                read.extend(pair.peer_reads(sent - read.len())?);
                pair.await_writable(makers)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let rest = sent - read.len();
    read.extend(pair.peer_reads(rest)?);
    Ok(read)
}

fn range_is_sent<M: Makers>(makers: &mut M) -> Outcome {
    let bytes = pattern(0, 10_000);
    let (file, _) = file_of(makers, &bytes)?;
    let mut pair = Pair::registered(makers)?;
    let read = send_all(makers, &mut pair, &*file, 1_234, 5_678)?;
    ensure!(read == bytes[1_234..1_234 + 5_678], "another range came");
    Ok(())
}

fn sending_beyond_end_is_unexpected_eof<M: Makers>(makers: &mut M) -> Outcome {
    let (file, _) = file_of(makers, b"short")?;
    let mut pair = Pair::registered(makers)?;
    for offset in [5, 100] {
        match pair.connection.send_file(&*file, offset, 10) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            outcome => return Err(format!("sending from {offset} of 5 bytes: {outcome:?}").into()),
        }
    }
    Ok(())
}

fn sending_across_end_stops_there<M: Makers>(makers: &mut M) -> Outcome {
    let (file, _) = file_of(makers, b"hello world")?;
    let mut pair = Pair::registered(makers)?;
    let mut sent = 0;
    loop {
        match pair.connection.send_file(&*file, 6 + sent, 100) {
            Ok(count) => sent += count as u64,
            Err(error) if error.kind() == ErrorKind::WouldBlock => pair.await_writable(makers)?,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error.into()),
        }
        ensure!(sent <= 5, "{sent} of 5 bytes were sent");
    }
    pair.connection.shutdown(Shutdown::Write)?;
    let read = pair.peer_reads(5)?;
    ensure!(read == b"world", "{read:?} came");
    Ok(())
}

fn big_send_blocks_and_goes_on<M: Makers>(makers: &mut M) -> Outcome {
    let bytes = pattern(0, 12 << 20);
    let (file, _) = file_of(makers, &bytes)?;
    let mut pair = Pair::drained(makers, Interest::ReadableWritable)?;
    let read = send_all(makers, &mut pair, &*file, 0, bytes.len())?;
    ensure!(read == bytes, "other bytes came");
    Ok(())
}

fn removed_file_is_sent<M: Makers>(makers: &mut M) -> Outcome {
    let bytes = pattern(0, 1_000);
    let (file, path) = file_of(makers, &bytes)?;
    makers.disk().remove_file(&path)?;
    let mut pair = Pair::registered(makers)?;
    let read = send_all(makers, &mut pair, &*file, 0, bytes.len())?;
    ensure!(read == bytes, "other bytes came");
    Ok(())
}

fn sent_range_keeps_its_place<M: Makers>(makers: &mut M) -> Outcome {
    let (file, _) = file_of(makers, b"middle")?;
    let mut pair = Pair::registered(makers)?;
    pair.write_bytes(makers, b"before ")?;
    let middle = 6;
    let mut sent = 0;
    while sent < middle {
        match pair.connection.send_file(&*file, sent as u64, middle - sent) {
            Ok(count) => sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => pair.await_writable(makers)?,
            Err(error) => return Err(error.into()),
        }
    }
    pair.write_bytes(makers, b" after")?;
    pair.connection.shutdown(Shutdown::Write)?;
    let read = pair.peer_reads(19)?;
    ensure!(read == b"before middle after", "{:?} came", String::from_utf8_lossy(&read));
    ensure!(pair.peer.read(&mut [0; 1])? == 0, "more came");
    Ok(())
}

fn sending_nothing_is_nothing<M: Makers>(makers: &mut M) -> Outcome {
    let (file, _) = file_of(makers, b"something")?;
    let mut pair = Pair::registered(makers)?;
    let sent = pair.connection.send_file(&*file, 4, 0)?;
    ensure!(sent == 0, "{sent} bytes of nothing sent");
    Ok(())
}

fn sending_after_shutdown_is_broken_pipe<M: Makers>(makers: &mut M) -> Outcome {
    let (file, _) = file_of(makers, b"something")?;
    let mut pair = Pair::registered(makers)?;
    pair.connection.shutdown(Shutdown::Write)?;
    match pair.connection.send_file(&*file, 0, 9) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => Err(format!("sending after shutting the write side: {outcome:?}").into()),
    }
}
