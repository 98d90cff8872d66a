//! Clauses about the ends of a connection when both sides have a say.
//!
//! It must not know who made it.

use std::io::{ErrorKind, IoSlice};
use std::net::Shutdown;

use klamm::env::{Connection, Interest};

use crate::conformance::bench::{FIRST, Pair, Stop, await_event, pattern};
use crate::conformance::{Clause, Makers, Outcome, Peer, ensure, table};
use crate::flaw::Flaw;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        both_sides_may_end, EndAfterShutdownLost,
            "Both sides may end their stream, and each reads the other's end.";
        reset_after_the_end_stops_writing, ResetAfterEndLost,
            "A peer that tears the connection after its end makes writing fail.";
        shutdown_both_ends_both, ShutdownBothIsRead,
            "Shutting both sides ends reading here and there.";
        shutdown_after_reset_is_not_connected, ShutdownAfterResetSucceeds,
            "Shutting a connection that was reset says that it is not connected.";
        write_after_reset_fails, WriteAfterResetSucceeds,
            "Writing after a reset fails, again and again.";
        both_directions_at_once, WriteBlocksWhileUnread,
            "Bytes that lie unread do not stop those of the other direction.";
    }
}

fn both_sides_may_end<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.connection.shutdown(Shutdown::Write)?;
    pair.peer.shutdown_write()?;
    ensure!(pair.peer.read(&mut [0; 8])? == 0, "the peer read something");
    let (bytes, stop) = pair.read_to_stop(makers)?;
    ensure!(bytes.is_empty() && stop == Stop::End, "{} bytes, then {stop:?}", bytes.len());
    Ok(())
}

/// Writes until that fails as it should, or has gone well too often.
fn expect_broken<M: Makers>(makers: &mut M, connection: &mut impl Connection) -> Outcome {
    for _ in 0..1_000 {
        match connection.write_vectored(&[IoSlice::new(b"anyone?")]) {
            Ok(_) => makers.settle(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => makers.settle(),
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Err("writing goes on for ever".into())
}

fn reset_after_the_end_stops_writing<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.peer.shutdown_write()?;
    let (_, stop) = pair.read_to_stop(makers)?;
    ensure!(stop == Stop::End, "the end reads as {stop:?}");
    let Pair { mut connection, peer, .. } = pair;
    peer.reset();
    makers.settle();
    expect_broken(makers, &mut connection)
}

fn shutdown_both_ends_both<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.write_bytes(makers, b"bye")?;
    pair.connection.shutdown(Shutdown::Both)?;
    let read = pair.peer_reads(3)?;
    ensure!(read == b"bye" && pair.peer.read(&mut [0; 8])? == 0, "the peer read {read:?} and more");
    let (_, stop) = pair.read_to_stop(makers)?;
    ensure!(stop == Stop::End, "reading after shutting both sides: {stop:?}");
    Ok(())
}

/// A connection whose peer has torn it, and which has shown so.
fn torn<M: Makers>(makers: &mut M) -> Result<super::bench::ConnectionOf<M>, super::Failure> {
    let Pair { mut selector, connection, peer, .. } = Pair::drained(makers, Interest::Readable)?;
    peer.reset();
    await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)?;
    Ok(connection)
}

fn shutdown_after_reset_is_not_connected<M: Makers>(makers: &mut M) -> Outcome {
    let mut connection = torn(makers)?;
    match connection.shutdown(Shutdown::Write) {
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(()),
        outcome => Err(format!("shutting a connection that was reset says {outcome:?}").into()),
    }
}

fn write_after_reset_fails<M: Makers>(makers: &mut M) -> Outcome {
    let mut connection = torn(makers)?;
    for _ in 0..3 {
        match connection.write_vectored(&[IoSlice::new(b"anyone?")]) {
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
            outcome => return Err(format!("writing after a reset says {outcome:?}").into()),
        }
    }
    Ok(())
}

fn both_directions_at_once<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let (asked, answered) = (pattern(0, 20_000), pattern(77, 20_000));
    pair.peer.write_all(&asked)?;
    makers.settle();
    pair.write_bytes(makers, &answered)?;
    let read = pair.peer_reads(answered.len())?;
    ensure!(read == answered, "the peer read other bytes");
    let bytes = pair.read_bytes(makers, asked.len())?;
    ensure!(bytes == asked, "other bytes came than were sent");
    Ok(())
}
