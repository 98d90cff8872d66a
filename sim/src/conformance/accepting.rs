//! Clauses about listeners.
//!
//! It must not know who made them.

use std::io::ErrorKind;

use klamm::env::{Connection, Interest, Listener, OpenMode, Selector, Token};

use crate::conformance::bench::{FIRST, LISTENER, ListenerOf, Pair, SECOND, Stop, accept, await_event};
use crate::conformance::{Clause, Failure, Makers, Outcome, Peer, ensure, table};
use crate::flaw::Flaw;

pub(super) fn clauses<M: Makers>() -> Vec<Clause<M>> {
    table! { Clause:
        connect_shows_edge, AcceptEdgeLost,
            "A connection that comes to a drained listener shows an edge.";
        empty_accept_blocks, EmptyBacklogIsAnError,
            "Accepting where nobody waits would block.";
        register_shows_waiting, RegisterForgetsWaiting,
            "Registering a listener at which somebody waits shows an edge.";
        rearm_shows_waiting, RearmForgetsWaiting,
            "Re-arming a listener that was not drained shows an edge.";
        addresses_are_those_of_the_peer, PeerAddressWrong,
            "An accepted connection names the peer's address and the one that the peer reached.";
        no_descriptor_is_emfile, DescriptorLimitIgnored,
            "Accepting without a free descriptor fails with EMFILE.";
        accept_error_loses_nobody, AcceptErrorLosesConnection,
            "A connection that could not be accepted still waits, and re-arming shows it.";
        port_is_real, PortZeroReported,
            "A listener on a port of the system's choice says which.";
        dropped_listener_refuses, DroppedListenerListens,
            "Connecting to a dropped listener is refused.";
        early_bytes_are_kept, AcceptForgetsBytes,
            "Bytes that came before the accept are read after it.";
        early_close_is_seen, RegisterForgetsReadiness,
            "A peer that left before the accept is seen to have left.";
        early_reset_is_seen, EarlyResetForgotten,
            "A connection that was torn before the accept is refused, or reads as an error or the end.";
        first_come_first_accepted, AcceptsNewestFirst,
            "Connections are accepted in the order of their coming.";
        listeners_are_apart, ListenersMixed,
            "A connection waits at the listener that it came to, and at no other.";
        listener_event_carries_the_token, ListenerTokenLost,
            "An event of a listener carries its whole token.";
        rearmed_listener_has_the_new_token, RearmKeepsToken,
            "After re-arming under another token a listener's events carry that one.";
        dropped_listener_tears_who_waits, DroppedListenerForgetsWaiting,
            "Dropping a listener tears the connections that were not accepted.";
        dropped_listener_leaves_the_accepted, DroppedListenerTakesAll,
            "Dropping a listener leaves the connections that were accepted.";
        files_share_the_descriptors, FilesNeedNoDescriptor,
            "Opening a file without a free descriptor fails, and goes well when there is one again.";
    }
}

/// A listener that is registered and drained.
fn drained_listener<M: Makers>(makers: &mut M) -> Result<(M::Selector, ListenerOf<M>), Failure> {
    let mut selector = makers.selector()?;
    let mut listener = makers.listen()?;
    selector.register_listener(&mut listener, LISTENER)?;
    expect_block(&mut listener)?;
    Ok((selector, listener))
}

fn expect_block(listener: &mut impl Listener) -> Outcome {
    match listener.accept() {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(format!("accepting where nobody waits says {error}").into()),
        Ok(_) => Err("somebody was accepted who never came".into()),
    }
}

fn await_listener<M: Makers>(makers: &mut M, selector: &mut M::Selector) -> Outcome {
    await_event(makers, selector, |event| event.token == LISTENER && event.readable)
}

fn connect_shows_edge<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, mut listener) = drained_listener(makers)?;
    let _peer = makers.connect(listener.local_address()?)?;
    await_listener(makers, &mut selector)?;
    accept(makers, &mut listener)?;
    let _other = makers.connect(listener.local_address()?)?;
    accept(makers, &mut listener)?;
    expect_block(&mut listener)
}

fn empty_accept_blocks<M: Makers>(makers: &mut M) -> Outcome {
    drained_listener(makers).map(|_| ())
}

fn register_shows_waiting<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let _peer = makers.connect(listener.local_address()?)?;
    let mut selector = makers.selector()?;
    selector.register_listener(&mut listener, LISTENER)?;
    await_listener(makers, &mut selector)?;
    accept(makers, &mut listener).map(|_| ())
}

fn rearm_shows_waiting<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, mut listener) = drained_listener(makers)?;
    let address = listener.local_address()?;
    let _peers = [makers.connect(address)?, makers.connect(address)?];
    await_listener(makers, &mut selector)?;
    let _first = accept(makers, &mut listener)?;
    selector.rearm_listener(&mut listener, LISTENER)?;
    await_listener(makers, &mut selector)?;
    let _second = accept(makers, &mut listener)?;
    expect_block(&mut listener)
}

fn addresses_are_those_of_the_peer<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let peer = makers.connect(listener.local_address()?)?;
    makers.settle();
    let (connection, address) = listener.accept()?;
    ensure!(address == peer.address(), "the peer is {}, accepted as {address}", peer.address());
    let local = connection.local_address()?;
    ensure!(local == listener.local_address()?, "reached at {local}");
    Ok(())
}

fn no_descriptor_is_emfile<M: Makers>(makers: &mut M) -> Outcome {
    const EMFILE: i32 = 24;
    let mut listener = makers.listen()?;
    let _peer = makers.connect(listener.local_address()?)?;
    makers.settle();
    makers.forbid_descriptors(true);
    let outcome = listener.accept().map(|_| ());
    makers.forbid_descriptors(false);
    let error = outcome.err().ok_or("accepting succeeds without a descriptor")?;
    ensure!(error.raw_os_error() == Some(EMFILE), "accepting without a descriptor says {error}");
    Ok(())
}

fn accept_error_loses_nobody<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, mut listener) = drained_listener(makers)?;
    let mut peer = makers.connect(listener.local_address()?)?;
    peer.write_all(b"still here")?;
    await_listener(makers, &mut selector)?;
    makers.forbid_descriptors(true);
    let refused = listener.accept().is_err();
    makers.forbid_descriptors(false);
    ensure!(refused, "accepting succeeds without a descriptor");
    selector.rearm_listener(&mut listener, LISTENER)?;
    await_listener(makers, &mut selector)?;
    let mut connection = accept(makers, &mut listener)?;
    selector.register(&mut connection, FIRST, Interest::Readable)?;
    await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)
}

fn port_is_real<M: Makers>(makers: &mut M) -> Outcome {
    let listener = makers.listen()?;
    let address = listener.local_address()?;
    ensure!(address.port() != 0, "the listener says {address}");
    let _peer = makers.connect(address)?;
    Ok(())
}

fn dropped_listener_refuses<M: Makers>(makers: &mut M) -> Outcome {
    let listener = makers.listen()?;
    let address = listener.local_address()?;
    drop(listener);
    match makers.connect(address) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        Err(error) => Err(format!("connecting to a dropped listener says {error}").into()),
        Ok(_) => Err("a dropped listener still listens".into()),
    }
}

fn early_bytes_are_kept<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let mut peer = makers.connect(listener.local_address()?)?;
    peer.write_all(b"early")?;
    let mut connection = accept(makers, &mut listener)?;
    let mut selector = makers.selector()?;
    selector.register(&mut connection, FIRST, Interest::Readable)?;
    let mut bytes = Vec::new();
    while bytes.len() < 5 {
        let mut buffer = [0; 16];
        match connection.read(&mut buffer) {
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    ensure!(bytes == b"early", "{bytes:?} came");
    Ok(())
}

fn early_close_is_seen<M: Makers>(makers: &mut M) -> Outcome {
    let mut pair = Pair::unregistered(makers)?;
    pair.peer.shutdown_write()?;
    pair.selector.register(&mut pair.connection, FIRST, Interest::Readable)?;
    pair.await_readable(makers)?;
    let (bytes, stop) = pair.read_to_stop(makers)?;
    ensure!(bytes.is_empty() && stop == Stop::End, "{} bytes, then {stop:?}", bytes.len());
    Ok(())
}

fn early_reset_is_seen<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    makers.connect(listener.local_address()?)?.reset();
    let mut selector = makers.selector()?;
    selector.register_listener(&mut listener, LISTENER)?;
    for _ in 0..60 {
        makers.settle();
        match listener.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => return Ok(()),
            Err(error) => return Err(error.into()),
            Ok((mut connection, _)) => {
                selector.register(&mut connection, FIRST, Interest::Readable)?;
                await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)?;
                let lives = matches!(connection.read(&mut [0; 8]), Err(error) if error.kind() == ErrorKind::WouldBlock);
                ensure!(!lives, "a torn connection reads as if it lived");
                return Ok(());
            }
        }
    }
    Err("the connection never came to be accepted".into())
}

fn first_come_first_accepted<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let address = listener.local_address()?;
    let peers = [makers.connect(address)?, makers.connect(address)?, makers.connect(address)?];
    makers.settle();
    for peer in &peers {
        let (_, from) = listener.accept()?;
        ensure!(from == peer.address(), "{from} was accepted before {}", peer.address());
    }
    Ok(())
}

fn listeners_are_apart<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, mut first) = drained_listener(makers)?;
    let mut second = makers.listen()?;
    selector.register_listener(&mut second, SECOND)?;
    let _peer = makers.connect(second.local_address()?)?;
    await_event(makers, &mut selector, |event| event.token == SECOND && event.readable)?;
    expect_block(&mut first)?;
    accept(makers, &mut second).map(|_| ())
}

fn listener_event_carries_the_token<M: Makers>(makers: &mut M) -> Outcome {
    let token = Token { index: 5, generation: 0xdead_beef };
    let mut listener = makers.listen()?;
    let mut selector = makers.selector()?;
    selector.register_listener(&mut listener, token)?;
    let _peer = makers.connect(listener.local_address()?)?;
    await_event(makers, &mut selector, |event| event.token == token && event.readable)
}

fn rearmed_listener_has_the_new_token<M: Makers>(makers: &mut M) -> Outcome {
    let (mut selector, mut listener) = drained_listener(makers)?;
    selector.rearm_listener(&mut listener, SECOND)?;
    let _peer = makers.connect(listener.local_address()?)?;
    await_event(makers, &mut selector, |event| event.token == SECOND && event.readable)
}

fn dropped_listener_tears_who_waits<M: Makers>(makers: &mut M) -> Outcome {
    let listener = makers.listen()?;
    let mut peer = makers.connect(listener.local_address()?)?;
    drop(listener);
    match peer.read(&mut [0; 8]) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
        outcome => Err(format!("who waited at a dropped listener reads {outcome:?}").into()),
    }
}

fn dropped_listener_leaves_the_accepted<M: Makers>(makers: &mut M) -> Outcome {
    let mut listener = makers.listen()?;
    let mut peer = makers.connect(listener.local_address()?)?;
    let mut connection = accept(makers, &mut listener)?;
    drop(listener);
    let mut selector = makers.selector()?;
    selector.register(&mut connection, FIRST, Interest::Readable)?;
    peer.write_all(b"hello")?;
    await_event(makers, &mut selector, |event| event.token == FIRST && event.readable)?;
    let read = connection.read(&mut [0; 8]);
    let is_alive = match &read {
        Ok(count) => *count > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    };
    ensure!(is_alive, "the accepted connection reads {read:?}");
    Ok(())
}

fn files_share_the_descriptors<M: Makers>(makers: &mut M) -> Outcome {
    let path = makers.directory().join("00000000000000000000.log");
    let disk = makers.disk();
    makers.forbid_descriptors(true);
    let refused = disk.open(&path, OpenMode::Create).is_err();
    makers.forbid_descriptors(false);
    ensure!(refused, "a file is opened without a descriptor");
    disk.open(&path, OpenMode::Create)?;
    Ok(())
}
