//! Clauses about reading, writing and the ends of a connection.
//!
//! It must not know who made them.

use std::io::{ErrorKind, IoSlice};
use std::net::Shutdown;

use klamm::env::{Connection, Interest, Listener, Selector, SocketOptions};

use crate::conformance::bench::{FIRST, Pair, SECOND, Stop, accept, await_event, pattern};
use crate::conformance::{Clause, Makers, Outcome, Peer, ensure, table};
use crate::flaw::Flaw;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        bytes_come_in_order, ReadSkipsAByte,
            "Bytes come whole and in order, however they are cut.";
        empty_read_blocks, EmptyReadIsEnd,
            "Reading where nothing is would block.";
        reading_into_nothing_is_nothing, EmptyReadBlocks,
            "Reading into an empty buffer reads nothing and is no error.";
        writing_nothing_is_nothing, EmptyWriteBlocks,
            "Writing no bytes writes nothing and is no error.";
        answer_after_half_close_arrives, HalfCloseIsWhole,
            "A peer that has ended its side still gets our answer.";
        reset_is_an_error_then_the_end, ResetLooksLikeEnd,
            "Reading after a reset is an error once, then the end.";
        write_to_closed_peer_fails, WriteToClosedPeerSucceeds,
            "Writing to a peer that has closed fails in the end, if not at once.";
        big_write_blocks, WriteNeverBlocks,
            "Writing with nobody reading blocks in the end.";
        peer_reads_what_was_taken, ShortWriteOverstates,
            "The peer reads exactly the bytes that writes said they took.";
        slices_are_written_in_order, VectoredWriteSkipsSlice,
            "Slices are written one after the other, empty ones too.";
        connections_are_apart, ConnectionsMixed,
            "Two connections keep their bytes apart.";
        dropping_says_the_end, DropSaysNothing,
            "Dropping a connection says the end to the peer, after all bytes.";
        dropping_unread_bytes_resets, DropWithUnreadIsGraceful,
            "Dropping a connection with unread bytes resets it.";
        shutdown_write_says_the_end, ShutdownDropsQueued,
            "Shutting the write side says the end, after all bytes.";
        write_after_shutdown_is_broken_pipe, WriteAfterShutdownSucceeds,
            "Writing after shutting the write side is a broken pipe.";
        shutdown_write_leaves_reading, ShutdownWriteClosesReading,
            "Shutting the write side leaves reading as it was.";
        shutdown_read_ends_reading, ShutdownReadIgnored,
            "Shutting the read side ends reading.";
        options_leave_bytes_alone, ShortWriteOverstates,
            "Options can be set on an accepted connection, and bytes pass as before.";
    }
}

fn bytes_come_in_order<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let sent = pattern(0, 5_000);
    for chunk in sent.chunks(777) {
        pair.peer.write_all(chunk)?;
    }
    let mut bytes = Vec::new();
    let mut size = 0;
    while bytes.len() < sent.len() {
        size = size % 13 + 1;
        let mut buffer = [0; 13];
        match pair.connection.read(&mut buffer[..size]) {
            Ok(0) => return Err("the stream ended early".into()),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => pair.await_readable(makers)?,
            Err(error) => return Err(error.into()),
        }
    }
    ensure!(bytes == sent, "other bytes came than were sent");
    Ok(())
}

fn empty_read_blocks<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let stop = pair.read_some(&mut Vec::new());
    ensure!(stop == Stop::Blocked, "reading where nothing is: {stop:?}");
    Ok(())
}

fn reading_into_nothing_is_nothing<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.peer.write_all(b"hello")?;
    pair.await_readable(makers)?;
    let count = pair.connection.read(&mut [])?;
    ensure!(count == 0, "{count} bytes read into nothing");
    let bytes = pair.read_bytes(makers, 5)?;
    ensure!(bytes == b"hello", "{bytes:?} came");
    Ok(())
}

fn writing_nothing_is_nothing<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::ReadableWritable)?;
    let count = pair.connection.write_vectored(&[])?;
    ensure!(count == 0, "{count} bytes of nothing written");
    pair.write_to_block(makers)?;
    match pair.connection.write_vectored(&[IoSlice::new(b"")]) {
        Ok(0) => Ok(()),
        outcome => Err(format!("writing nothing where there is no room: {outcome:?}").into()),
    }
}

fn answer_after_half_close_arrives<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.peer.write_all(b"question")?;
    pair.peer.shutdown_write()?;
    let (bytes, stop) = pair.read_to_stop(makers)?;
    ensure!(bytes == b"question" && stop == Stop::End, "{} bytes, then {stop:?}", bytes.len());
    pair.write_bytes(makers, b"answer")?;
    let answer = pair.peer_reads(6)?;
    ensure!(answer == b"answer", "{answer:?} came");
    Ok(())
}

fn reset_is_an_error_then_the_end<M: Makers>(makers: &mut M) -> Outcome {
    let Pair { mut selector, mut connection, peer, .. } = Pair::drained(makers, Interest::Readable)?;
    peer.reset();
    await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)?;
    let mut buffer = [0; 16];
    match connection.read(&mut buffer) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        outcome => return Err(format!("reading after a reset: {outcome:?}").into()),
    }
    let count = connection.read(&mut buffer)?;
    ensure!(count == 0, "{count} bytes after a reset");
    Ok(())
}

fn write_to_closed_peer_fails<M: Makers>(makers: &mut M) -> Outcome {
    let Pair { mut connection, peer, .. } = Pair::drained(makers, Interest::Readable)?;
    drop(peer);
    makers.settle();
    for _ in 0..10_000 {
        match connection.write_vectored(&[IoSlice::new(b"anyone?")]) {
            Ok(_) => makers.settle(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => makers.settle(),
            Err(error) => {
                let kind = error.kind();
                ensure!(matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "it fails with {error}");
                return Ok(());
            }
        }
    }
    Err("writing to a closed peer goes on for ever".into())
}

fn big_write_blocks<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.write_to_block(makers).map(|_| ())
}

fn peer_reads_what_was_taken<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let mut taken = pair.write_to_block(makers)?;
    let half = taken.len() / 2;
    let mut read = pair.peer_reads(half)?;
    let more = pattern(taken.len(), 10_000);
    if let Ok(count) = pair.connection.write_vectored(&[IoSlice::new(&more)]) {
        taken.extend_from_slice(&more[..count]);
    }
    pair.connection.shutdown(Shutdown::Write)?;
    read.extend(pair.peer_reads(taken.len() - half)?);
    ensure!(read == taken, "the peer read other bytes than were taken");
    ensure!(pair.peer.read(&mut [0; 16])? == 0, "the peer read more than was taken");
    Ok(())
}

fn slices_are_written_in_order<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let parts: Vec<Vec<u8>> = (0..20).map(|index| pattern(index * 100, index)).collect();
    let expected = parts.concat();
    let mut written = 0;
    while written < expected.len() {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut rest = slices.as_mut_slice();
        IoSlice::advance_slices(&mut rest, written);
        match pair.connection.write_vectored(rest) {
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => pair.await_writable(makers)?,
            Err(error) => return Err(error.into()),
        }
    }
    pair.connection.shutdown(Shutdown::Write)?;
    let read = pair.peer_reads(expected.len())?;
    ensure!(read == expected, "the peer read other bytes");
    Ok(())
}

fn connections_are_apart<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let address = listener.local_address()?;
    let mut peers = [makers.connect(address)?, makers.connect(address)?];
    let mut connections = [accept(makers, &mut listener)?, accept(makers, &mut listener)?];
    let mut selector = makers.selector()?;
    for (token, connection) in [FIRST, SECOND].into_iter().zip(&mut connections) {
        selector.register(connection, token, Interest::Readable)?;
    }
    peers[0].write_all(b"one")?;
    peers[1].write_all(b"two")?;
    for (index, token) in [FIRST, SECOND].into_iter().enumerate() {
        let mut bytes = Vec::new();
        while bytes.len() < 3 {
            let mut buffer = [0; 16];
            match connections[index].read(&mut buffer) {
                Ok(count) => bytes.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    await_event(makers, &mut selector, |event| event.token == token && event.readable)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        let expected = if index == 0 { b"one" } else { b"two" };
        ensure!(bytes == expected, "connection {index} read {bytes:?}");
    }
    Ok(())
}

fn dropping_says_the_end<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.write_bytes(makers, b"goodbye")?;
    let Pair { connection, mut peer, .. } = pair;
    drop(connection);
    let mut bytes = Vec::new();
    let mut buffer = [0; 16];
    loop {
        match peer.read(&mut buffer)? {
            0 => break,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    ensure!(bytes == b"goodbye", "{bytes:?} came before the end");
    Ok(())
}

fn dropping_unread_bytes_resets<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.peer.write_all(b"unread")?;
    pair.await_readable(makers)?;
    let Pair { connection, mut peer, .. } = pair;
    drop(connection);
    match peer.read(&mut [0; 16]) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
        outcome => Err(format!("the peer of a connection dropped with unread bytes reads {outcome:?}").into()),
    }
}

fn shutdown_write_says_the_end<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let bytes = pattern(0, 20_000);
    pair.write_bytes(makers, &bytes)?;
    pair.connection.shutdown(Shutdown::Write)?;
    let read = pair.peer_reads(bytes.len())?;
    ensure!(read == bytes, "other bytes came before the end");
    ensure!(pair.peer.read(&mut [0; 16])? == 0, "bytes came after the end");
    Ok(())
}

fn write_after_shutdown_is_broken_pipe<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.connection.shutdown(Shutdown::Write)?;
    match pair.connection.write_vectored(&[IoSlice::new(b"more")]) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => Err(format!("writing after the end: {outcome:?}").into()),
    }
}

fn shutdown_write_leaves_reading<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.connection.shutdown(Shutdown::Write)?;
    let stop = pair.read_some(&mut Vec::new());
    ensure!(stop == Stop::Blocked, "reading where nothing is: {stop:?}");
    pair.peer.write_all(b"more")?;
    let bytes = pair.read_bytes(makers, 4)?;
    ensure!(bytes == b"more", "{bytes:?} came");
    Ok(())
}

fn shutdown_read_ends_reading<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.connection.shutdown(Shutdown::Read)?;
    let stop = pair.read_some(&mut Vec::new());
    ensure!(stop == Stop::End, "reading after shutting that side: {stop:?}");
    Ok(())
}

fn options_leave_bytes_alone<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    pair.connection.configure(&SocketOptions { send_buffer_bytes: Some(100_000) })?;
    pair.selector.register(&mut pair.connection, FIRST, Interest::ReadableWritable)?;
    let bytes = pattern(0, 30_000);
    pair.write_bytes(makers, &bytes)?;
    let read = pair.peer_reads(bytes.len())?;
    ensure!(read == bytes, "other bytes came");
    Ok(())
}
