//! Clauses about the network that only a simulated machine can be asked: what a kind kernel adds, and what comes back after a fault.
//!
//! It must not know how the machine decides.

use klamm::env::{Disk, Interest, Listener, OpenMode, Selector};

use crate::conformance::bench::{FIRST, LISTENER, Pair, Stop, await_event, expect_silence};
use crate::conformance::{Makers, Outcome, Peer, SimMakers, SimulatedClause, Worlds, ensure, table};
use crate::flaw::Flaw;
use crate::keyed::Site;

pub(super) fn simulated_clauses() -> Vec<SimulatedClause> {
    table! { SimulatedClause:
        epoll_shows_each_arrival, KindnessForgotten,
            "A selector that is as kind as epoll shows bytes that come to a connection that was not drained.";
        hole_gives_back_what_it_took, HoleSwallows,
            "What a black hole took comes, whole and in order, when faults are over.";
        exhausted_descriptors_leave_the_backlog, AcceptErrorLosesConnection,
            "While descriptors are out a connection waits without a new edge, and re-arming shows it afterwards.";
        files_reach_the_limit_too, FilesNeedNoDescriptor,
            "Open files use up what connections may have.";
    }
}

fn epoll_shows_each_arrival(worlds: &Worlds) -> Outcome {
    let makers = &mut SimMakers::new(worlds.always(0, Site::LinuxLike));
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    for _ in 0..3 {
        pair.peer.write_all(b"more")?;
        pair.await_readable(makers)?;
    }
    Ok(())
}

fn hole_gives_back_what_it_took(worlds: &Worlds) -> Outcome {
    let makers = &mut SimMakers::new(worlds.always(0, Site::BlackHole));
    let mut pair = Pair::drained(makers, Interest::Readable)?;
    let words: Vec<u8> = (0..40).collect();
    for word in &words {
        pair.peer.write_all(&[*word])?;
    }
    pair.peer.shutdown_write()?;
    let mut bytes = Vec::new();
    let stop = pair.read_some(&mut bytes);
    ensure!(stop == Stop::Blocked && bytes.len() < words.len(), "{} bytes came through a black hole", bytes.len());
    makers.world().calm_down();
    makers.settle();
    let stop = pair.read_some(&mut bytes);
    ensure!(stop == Stop::End && bytes == words, "{} bytes in the end, then {stop:?}", bytes.len());
    Ok(())
}

fn exhausted_descriptors_leave_the_backlog(worlds: &Worlds) -> Outcome {
    let makers = &mut SimMakers::new(worlds.always(0, Site::DescriptorsExhausted));
    let mut selector = makers.selector()?;
    let mut listener = makers.listen()?;
    selector.register_listener(&mut listener, LISTENER)?;
    ensure!(listener.accept().is_err(), "somebody was accepted who never came");
    let _peer = makers.connect(listener.local_address()?)?;
    await_event(makers, &mut selector, |event| event.token == LISTENER)?;
    for _ in 0..3 {
        ensure!(listener.accept().is_err(), "accepting succeeds without a descriptor");
    }
    expect_silence(makers, &mut selector, LISTENER)?;
    makers.world().calm_down();
    selector.rearm_listener(&mut listener, LISTENER)?;
    await_event(makers, &mut selector, |event| event.token == LISTENER)?;
    let (mut connection, _) = listener.accept()?;
    selector.register(&mut connection, FIRST, Interest::Readable)?;
    Ok(())
}

fn files_reach_the_limit_too(worlds: &Worlds) -> Outcome {
    let world = worlds.always(0, Site::DescriptorLimit);
    let disk = world.disk();
    let makers = &mut SimMakers::new(world);
    let directory = makers.directory();
    let mut listener = makers.listen()?;
    let _peers = [makers.connect(listener.local_address()?)?, makers.connect(listener.local_address()?)?];
    // The limit is drawn with the first try to accept.
    let _first = listener.accept();
    let mut files = Vec::new();
    for number in 0..20 {
        match disk.open(&directory.join(number.to_string()), OpenMode::Create) {
            Ok(file) => files.push(file),
            Err(_) => {
                let refused = listener.accept().is_err();
                ensure!(refused, "a connection is accepted where no file can be opened");
                return Ok(());
            }
        }
    }
    Err("files never reach the limit".into())
}
