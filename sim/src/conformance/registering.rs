//! Clauses about registrations, and about what a poll shows of many.
//!
//! It must not know who made the selectors.

use std::io::{self, ErrorKind};

use klamm::env::{Connection, Event, Interest, Selector, Token};

use crate::conformance::bench::{FIRST, Pair, SECOND, Stop, accept, await_event, expect_silence, poll};
use crate::conformance::{Clause, Makers, Outcome, Patience, Peer, ensure, table};
use crate::flaw::Flaw;

/// How many connections are ready at once.
const MANY: u32 = 12;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        reader_hears_of_no_room, WritableUnasked,
            "A connection that is registered for reading shows no writable edge.";
        reader_again_hears_of_no_room, ReregisterKeepsInterest,
            "A connection that is registered for reading again shows no writable edge any more.";
        registering_twice_is_refused, RegisterTwiceSucceeds,
            "Registering a registered connection is refused.";
        reregistering_a_stranger_is_refused, ReregisterStrangerSucceeds,
            "Re-registering a connection that is not registered is refused.";
        deregistering_a_stranger_is_refused, DeregisterStrangerSucceeds,
            "Deregistering a connection that is not registered is refused.";
        connection_moves_to_another_selector, DeregisterKeepsShowing,
            "A deregistered connection can be registered with another selector, which alone shows it.";
        wake_reaches_one_selector, WakeReachesAll,
            "A wake ends the poll of its own selector and of no other.";
        reading_needs_no_edge, ReadNeedsEdge,
            "Bytes that have come are read without a poll.";
        rest_of_a_read_stays, PartialReadDropsRest,
            "What a read leaves is there for the next one, with or without an edge.";
        poll_of_nothing_shows_nothing, PollInventsEvents,
            "A poll with nothing registered shows nothing.";
        everybody_ready_is_shown, PollForgetsMany,
            "Of many connections that are ready each is shown.";
    }
}

fn expect_no_room<M: Makers>(makers: &mut M, selector: &mut M::Selector) -> Outcome {
    for _ in 0..4 {
        let mut events = Vec::new();
        poll(makers, selector, &mut events, Patience::Short)?;
        let found = events.iter().find(|event| event.writable);
        ensure!(found.is_none(), "{found:?} was not asked for");
    }
    Ok(())
}

fn reader_hears_of_no_room<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    pair.selector.register(&mut pair.connection, FIRST, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    expect_no_room(makers, &mut pair.selector)
}

fn reader_again_hears_of_no_room<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::ReadableWritable)?;
    pair.selector.reregister(&mut pair.connection, FIRST, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    expect_no_room(makers, &mut pair.selector)
}

fn expect_refusal(outcome: io::Result<()>, kind: ErrorKind) -> Outcome {
    match outcome {
        Err(error) if error.kind() == kind => Ok(()),
        outcome => Err(format!("it says {outcome:?}").into()),
    }
}

fn registering_twice_is_refused<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    let again = pair.selector.register(&mut pair.connection, SECOND, Interest::Readable);
    expect_refusal(again, ErrorKind::AlreadyExists)
}

fn reregistering_a_stranger_is_refused<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    let outcome = pair.selector.reregister(&mut pair.connection, FIRST, Interest::Readable);
    expect_refusal(outcome, ErrorKind::NotFound)
}

fn deregistering_a_stranger_is_refused<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    let outcome = pair.selector.deregister(&mut pair.connection);
    expect_refusal(outcome, ErrorKind::NotFound)
}

fn connection_moves_to_another_selector<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    let mut other = makers.selector()?;
    pair.selector.deregister(&mut pair.connection)?;
    other.register(&mut pair.connection, SECOND, Interest::Readable)?;
    pair.peer.write_all(b"hello")?;
    await_event(makers, &mut other, |event| event.token == SECOND && event.readable)?;
    expect_silence(makers, &mut pair.selector, FIRST)
}

fn wake_reaches_one_selector<M: Makers>(makers: &mut M) -> Outcome {
    let (mut woken, mut other) = (makers.selector()?, makers.selector()?);
    woken.waker().wake();
    ensure!(!makers.poll_ends_early(&mut other, &mut Vec::new())?, "a wake ended the poll of another selector");
    ensure!(makers.poll_ends_early(&mut woken, &mut Vec::new())?, "a wake ended no poll");
    Ok(())
}

fn reading_needs_no_edge<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::registered(makers)?;
    pair.peer.write_all(b"hello")?;
    let mut bytes = Vec::new();
    for _ in 0..1_000 {
        makers.settle();
        let stop = pair.read_some(&mut bytes);
        ensure!(stop == Stop::Blocked, "{stop:?} after {} bytes", bytes.len());
        if bytes == b"hello" {
            return Ok(());
        }
    }
    Err("bytes that have come are not to be read".into())
}

fn rest_of_a_read_stays<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    pair.peer.write_all(&[7; 100])?;
    pair.await_readable(makers)?;
    let mut buffer = [0; 10];
    let first = loop {
        match pair.connection.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => pair.await_readable(makers)?,
            outcome => break outcome?,
        }
    };
    poll(makers, &mut pair.selector, &mut Vec::new(), Patience::Short)?;
    let rest = pair.read_bytes(makers, 100 - first)?;
    ensure!(rest.len() == 100 - first, "{first} bytes, then {}", rest.len());
    Ok(())
}

fn poll_of_nothing_shows_nothing<M: Makers>(makers: &mut M) -> Outcome {
    let mut selector = makers.selector()?;
    let mut events: Vec<Event> = Vec::new();
    poll(makers, &mut selector, &mut events, Patience::Short)?;
    ensure!(events.is_empty(), "{events:?} came out of nothing");
    Ok(())
}

fn everybody_ready_is_shown<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let mut selector = makers.selector()?;
    let mut pairs = Vec::new();
    for index in 0..MANY {
        let mut peer = makers.connect(klamm::env::Listener::local_address(&listener)?)?;
        let mut connection = accept(makers, &mut listener)?;
        selector.register(&mut connection, Token { index, generation: 1 }, Interest::Readable)?;
        peer.write_all(b"hello")?;
        pairs.push((peer, connection));
    }
    let mut missing: Vec<u32> = (0..MANY).collect();
    await_event(makers, &mut selector, |event| {
        missing.retain(|index| !(event.readable && event.token.index == *index));
        missing.is_empty()
    })
}
