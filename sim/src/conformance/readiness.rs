//! Clauses about edges, tokens and wakes.
//!
//! It must not know who made them.

use klamm::env::{Connection, Event, Interest, Selector, Token};

use crate::conformance::bench::{FIRST, Pair, SECOND, Stop, await_event, expect_silence, poll};
use crate::conformance::{Clause, Makers, Outcome, Patience, Peer, ensure, table};
use crate::flaw::Flaw;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        register_shows_bytes, RegisterForgetsReadiness,
            "Registering a connection whose bytes wait shows an edge at once.";
        bytes_after_block_show_edge, EdgeAfterDrainLost,
            "Bytes that come after a block show an edge, each time.";
        reregister_shows_bytes, ReregisterForgetsReadiness,
            "Re-registering a connection that was not drained shows an edge.";
        register_shows_room, WatchForgetsWritable,
            "Registering for writing where there is room shows a writable edge.";
        reregister_shows_room, WatchForgetsWritable,
            "Asking for writing later shows the room that there is.";
        room_after_block_shows_edge, WritableEdgeLost,
            "Room after a blocked write shows a writable edge.";
        end_shows_edge, FinishShowsNoEdge,
            "The end of the stream shows a readable edge.";
        reset_shows_edge, ResetShowsNoEdge,
            "A reset shows an edge.";
        torn_connection_shows_edge, ClientResetLost,
            "A peer that tears its connection shows an edge and leaves an error or the end.";
        blocked_writer_hears_of_reset, BlockedWriterNotTold,
            "A writer that waits for room hears of a reset.";
        bytes_and_end_in_one_edge, EndHidesBytes,
            "Bytes and the end of the stream may share an edge; both are read.";
        deregistered_is_silent, DeregisterKeepsShowing,
            "A deregistered connection shows nothing more.";
        dropped_is_silent, DroppedStillShown,
            "A dropped connection shows nothing more.";
        event_carries_the_token, GenerationLost,
            "An event carries the whole token, index and generation.";
        new_token_is_shown, ReregisterKeepsToken,
            "After re-registering under another token events carry that one.";
        wake_before_poll_is_kept, WakeBeforePollLost,
            "A wake that comes before the poll ends it.";
        wakes_become_one, WakesAreCounted,
            "Many wakes before a poll end that one and not the next.";
        wake_after_poll_ends_the_next, WakeBeforePollLost,
            "A wake after a woken poll ends the next one again.";
        wake_shows_no_event, WakeShowsAnEvent,
            "A wake shows no event.";
        wake_hides_no_event, WakeSwallowsEvents,
            "A wake hides none of the events that were ready.";
        poll_keeps_earlier_events, PollClearsEvents,
            "A poll adds to the events that are there.";
    }
}

fn register_shows_bytes<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    pair.peer.write_all(b"hello")?;
    pair.selector.register(&mut pair.connection, FIRST, Interest::Readable)?;
    pair.await_readable(makers)
}

fn bytes_after_block_show_edge<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    for round in 0..3 {
        pair.peer.write_all(&[round; 100])?;
        pair.await_readable(makers)?;
        let bytes = pair.read_bytes(makers, 100)?;
        ensure!(bytes == [round; 100], "round {round} read {} bytes", bytes.len());
        while pair.read_some(&mut Vec::new()) != Stop::Blocked {}
    }
    Ok(())
}

fn reregister_shows_bytes<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    pair.await_readable(makers)?;
    pair.selector.reregister(&mut pair.connection, FIRST, Interest::Readable)?;
    pair.await_readable(makers)?;
    let bytes = pair.read_bytes(makers, 5)?;
    ensure!(bytes == b"hello", "{bytes:?} came");
    Ok(())
}

fn register_shows_room<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.await_writable(makers)
}

fn reregister_shows_room<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.selector.reregister(&mut pair.connection, FIRST, Interest::ReadableWritable)?;
    pair.await_writable(makers)
}

fn room_after_block_shows_edge<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::ReadableWritable)?;
    for _ in 0..2 {
        let mut taken = pair.write_to_block(makers)?;
        loop {
            let mut events = Vec::new();
            poll(makers, &mut pair.selector, &mut events, Patience::Short)?;
            if !events.iter().any(|event| event.token == FIRST && event.writable) {
                break;
            }
            // The kernel has made room before anybody read: that is filled too, so that the edge below is owed to the reading.
            taken.extend(pair.write_to_block(makers)?);
        }
        let read = pair.peer_reads(taken.len())?;
        ensure!(read == taken, "the peer read other bytes");
        pair.await_writable(makers)?;
    }
    Ok(())
}

fn end_shows_edge<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.peer.shutdown_write()?;
    pair.await_readable(makers)?;
    let (_, stop) = pair.read_to_stop(makers)?;
    ensure!(stop == Stop::End, "the end reads as {stop:?}");
    Ok(())
}

/// Tears the peer's side, and gives back the rest of the pair.
fn torn<M: Makers>(
    makers: &mut M,
    interest: Interest,
) -> Result<(M::Selector, crate::conformance::bench::ConnectionOf<M>), crate::conformance::Failure> {
    let Pair { selector, connection, peer, .. } = Pair::drained(makers, interest)?;
    peer.reset();
    makers.settle();
    Ok((selector, connection))
}

fn reset_shows_edge<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, _connection) = torn(makers, Interest::Readable)?;
    await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)
}

fn torn_connection_shows_edge<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, mut connection) = torn(makers, Interest::ReadableWritable)?;
    await_event(makers, &mut selector, |event| event.token == FIRST && (event.readable || event.writable))?;
    let mut buffer = [0; 16];
    let gone = match connection.read(&mut buffer) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    ensure!(gone, "a torn connection reads as if it lived");
    Ok(())
}

fn blocked_writer_hears_of_reset<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::ReadableWritable)?;
    pair.write_to_block(makers)?;
    poll(makers, &mut pair.selector, &mut Vec::new(), Patience::Short)?;
    let Pair { mut selector, connection: _connection, peer, .. } = pair;
    peer.reset();
    await_event(makers, &mut selector, |event| event.token == FIRST && (event.readable || event.writable))
}

fn bytes_and_end_in_one_edge<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.peer.write_all(b"last words")?;
    pair.peer.shutdown_write()?;
    pair.await_readable(makers)?;
    let (bytes, stop) = pair.read_to_stop(makers)?;
    ensure!(bytes == b"last words" && stop == Stop::End, "{} bytes, then {stop:?}", bytes.len());
    Ok(())
}

fn deregistered_is_silent<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.selector.deregister(&mut pair.connection)?;
    pair.peer.write_all(b"hello")?;
    expect_silence(makers, &mut pair.selector, FIRST)?;
    pair.selector.register(&mut pair.connection, SECOND, Interest::Readable)?;
    await_event(makers, &mut pair.selector, |event| event.token == SECOND && event.readable)
}

fn dropped_is_silent<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    let Pair { mut selector, connection, mut peer, .. } = pair;
    drop(connection);
    // The peer may learn of the drop by an error here; both are well.
    drop(peer.write_all(b"anyone?"));
    expect_silence(makers, &mut selector, FIRST)
}

fn event_carries_the_token<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    pair.peer.write_all(b"hello")?;
    let token = Token { index: 5, generation: 0xdead_beef };
    pair.selector.register(&mut pair.connection, token, Interest::Readable)?;
    await_event(makers, &mut pair.selector, |event| event.token == token)
}

fn new_token_is_shown<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.selector.reregister(&mut pair.connection, SECOND, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    await_event(makers, &mut pair.selector, |event| event.token == SECOND && event.readable)
}

fn wake_before_poll_is_kept<M: Makers>(makers: &mut M) -> Outcome {
    let mut selector = makers.selector()?;
    selector.waker().wake();
    ensure!(makers.poll_ends_early(&mut selector, &mut Vec::new())?, "a poll slept through an earlier wake");
    Ok(())
}

fn wakes_become_one<M: Makers>(makers: &mut M) -> Outcome {
    let mut selector = makers.selector()?;
    let waker = selector.waker();
    (0..50).for_each(|_| waker.wake());
    ensure!(makers.poll_ends_early(&mut selector, &mut Vec::new())?, "a poll slept through earlier wakes");
    ensure!(!makers.poll_ends_early(&mut selector, &mut Vec::new())?, "old wakes ended a second poll");
    Ok(())
}

fn wake_after_poll_ends_the_next<M: Makers>(makers: &mut M) -> Outcome {
    let mut selector = makers.selector()?;
    let waker = selector.waker();
    for round in 0..5 {
        waker.wake();
        ensure!(makers.poll_ends_early(&mut selector, &mut Vec::new())?, "wake {round} ended no poll");
    }
    Ok(())
}

fn wake_shows_no_event<M: Makers>(makers: &mut M) -> Outcome {
    let mut selector = makers.selector()?;
    selector.waker().wake();
    let mut events = Vec::new();
    poll(makers, &mut selector, &mut events, Patience::Short)?;
    ensure!(events.is_empty(), "a wake showed {events:?}");
    Ok(())
}

fn wake_hides_no_event<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    makers.settle();
    pair.selector.waker().wake();
    pair.await_readable(makers)
}

fn poll_keeps_earlier_events<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    let token = Token { index: 77, generation: 77 };
    let earlier =
        Event { token, readable: true, writable: false, read_closed: false, write_closed: false, error: false };
    let mut events = vec![earlier];
    pair.peer.write_all(b"hello")?;
    poll(makers, &mut pair.selector, &mut events, Patience::Long)?;
    ensure!(events.first() == Some(&earlier), "a poll took away an earlier event");
    Ok(())
}
