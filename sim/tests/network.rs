//! What the faults of the simulated network do, one at a time: each is made to strike whenever it can.
//!
//! It must not know the broker.
#![expect(clippy::unwrap_used, reason = "a test may panic where it cannot go on")]

use std::io::ErrorKind;
use std::net::SocketAddr;

use klamm::env::{Connection, Interest, Listener, Selector, Token};
use klamm::types::Instant;
use klamm_sim::keyed::{Overrides, Select, Site, Swarm};
use klamm_sim::{ClientSocket, SimConnection, SimListener, World, WorldOptions};

const MILLISECOND: u64 = 1_000_000;

fn world(seed: u64, site: Site) -> World {
    let values = [(Select::Site(site), 1)].into();
    let overrides = Overrides { values, ..Overrides::default() };
    World::new(WorldOptions { seed, swarm: Swarm::calm(), overrides, flaw: None })
}

fn broker() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 9092))
}

fn connect(world: &World, client: u64, attempt: u64) -> ClientSocket {
    let port = 5_000 + u16::try_from(attempt).unwrap();
    let host = u8::try_from(client).unwrap();
    world.connect(client << 32 | attempt, SocketAddr::from(([10, 0, 1, host], port)), broker())
}

fn pass(world: &World, milliseconds: u64) {
    world.advance_to(Instant(world.now().instant.0 + milliseconds * MILLISECOND));
}

/// A client and its accepted connection.
fn pair(world: &World, listener: &mut SimListener, client: u64, attempt: u64) -> (ClientSocket, SimConnection) {
    let socket = connect(world, client, attempt);
    for _ in 0..1_000 {
        pass(world, 1);
        if let Ok((connection, _)) = listener.accept() {
            return (socket, connection);
        }
    }
    panic!("nobody came");
}

/// How long `count` bytes of the client take to the broker, in milliseconds; none within a minute.
fn milliseconds_of(world: &World, socket: &mut ClientSocket, connection: &mut SimConnection, count: usize) -> u64 {
    assert_eq!(socket.write(&vec![7; count]).unwrap(), count);
    let (began, mut read) = (world.now().instant.0, 0);
    while read < count {
        assert!(world.now().instant.0 < began + 60_000 * MILLISECOND, "{read} of {count} bytes within a minute");
        match connection.read(&mut [0; 4_096]) {
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => pass(world, 1),
            Err(error) => panic!("{error}"),
        }
    }
    (world.now().instant.0 - began) / MILLISECOND
}

#[test]
fn a_far_peer_is_far_on_all_of_its_connections_until_faults_are_over() {
    let world = world(1, Site::SlowPeer);
    let mut listener = world.listen(broker(), 16).unwrap();
    let times: Vec<u64> = (1..4)
        .map(|attempt| {
            let (mut socket, mut connection) = pair(&world, &mut listener, 1, attempt);
            milliseconds_of(&world, &mut socket, &mut connection, 1)
        })
        .collect();
    assert!(times.iter().all(|time| *time > 10 && time.abs_diff(times[0]) < 20), "{times:?}");
    world.calm_down();
    let (mut socket, mut connection) = pair(&world, &mut listener, 1, 9);
    assert!(milliseconds_of(&world, &mut socket, &mut connection, 1) < 20);
}

#[test]
fn little_bandwidth_and_a_slow_sender_take_time_for_each_byte() {
    for (site, least) in [(Site::LittleBandwidth, 20), (Site::SlowSender, 5)] {
        let slowest = (0..8).map(|seed| {
            let world = world(seed, site);
            let mut listener = world.listen(broker(), 16).unwrap();
            let (mut socket, mut connection) = pair(&world, &mut listener, 1, 1);
            milliseconds_of(&world, &mut socket, &mut connection, 3_000)
        });
        assert!(slowest.max().unwrap() > least, "{site:?}");
    }
}

#[test]
fn bits_flip_only_where_nothing_protects_them() {
    for is_protected in [true, false] {
        let world = world(1, Site::BitFlipped);
        let mut listener = world.listen(broker(), 16).unwrap();
        let (socket, mut connection) = pair(&world, &mut listener, 1, 1);
        let mut socket = if is_protected { socket } else { socket.unprotected() };
        socket.write(&[0; 100]).unwrap();
        pass(&world, 100);
        let mut buffer = [0; 100];
        assert_eq!(connection.read(&mut buffer).unwrap(), 100);
        let flipped: u32 = buffer.iter().map(|byte| byte.count_ones()).sum();
        assert_eq!(flipped, u32::from(!is_protected));
    }
}

#[test]
fn a_storm_brings_strangers_at_the_same_instant_and_a_small_backlog_lets_few_of_them_wait() {
    let storm = world(1, Site::ConnectStorm);
    let mut listener = storm.listen(broker(), 50).unwrap();
    let _socket = connect(&storm, 1, 1);
    pass(&storm, 30);
    let accepted = std::iter::from_fn(|| listener.accept().ok()).count();
    assert!(accepted > 2, "{accepted} came");

    let world = world(1, Site::SmallBacklog);
    let mut listener = world.listen(broker(), 50).unwrap();
    let sockets: Vec<ClientSocket> = (1..9).map(|client| connect(&world, client, 1)).collect();
    pass(&world, 500);
    assert!(sockets.iter().filter(|socket| socket.readiness().connected).count() <= 3);
    assert!(std::iter::from_fn(|| listener.accept().ok()).count() <= 3);
}

#[test]
fn a_swizzle_frees_connections_in_another_order_than_it_clogs_them() {
    let orders: Vec<Vec<usize>> = (0..20)
        .map(|seed| {
            let world = world(seed, Site::Swizzled);
            let mut listener = world.listen(broker(), 50).unwrap();
            let mut pairs: Vec<_> = (1..9).map(|client| pair(&world, &mut listener, client, 1)).collect();
            for _ in 0..20 {
                pairs[0].0.write(&[1]).unwrap();
                pass(&world, 3);
            }
            for (socket, _) in &mut pairs {
                socket.write(&[2]).unwrap();
            }
            let mut order = Vec::new();
            for _ in 0..4_000 {
                pass(&world, 1);
                for (index, (_, connection)) in pairs.iter_mut().enumerate() {
                    if matches!(connection.read(&mut [0; 64]), Ok(count) if count > 0) && !order.contains(&index) {
                        order.push(index);
                    }
                }
            }
            order
        })
        .collect();
    assert!(orders.iter().any(|order| !order.is_sorted()), "{orders:?}");
    assert!(orders.iter().all(|order| order.len() == 8), "all come in the end: {orders:?}");
}

#[test]
fn a_peer_out_of_reach_ends_in_an_error_of_the_kernel() {
    let world = world(3, Site::PeerUnreachable);
    let mut listener = world.listen(broker(), 16).unwrap();
    let (mut socket, mut connection) = pair(&world, &mut listener, 1, 1);
    for _ in 0..20 {
        socket.write(&[1]).unwrap();
        pass(&world, 1);
    }
    let error = (0..5_000).find_map(|_| {
        pass(&world, 1);
        connection.read(&mut [0; 64]).err().filter(|error| error.kind() != ErrorKind::WouldBlock)
    });
    assert!(matches!(error.unwrap().raw_os_error(), Some(110 | 113)));
    // Its client hears of it when faults are over.
    world.calm_down();
    pass(&world, 100);
    assert!(socket.readiness().failed);
}

#[test]
fn a_shut_window_stops_the_writer_and_opens_again() {
    let world = world(1, Site::WindowShut);
    let mut listener = world.listen(broker(), 16).unwrap();
    let (mut socket, mut connection) = pair(&world, &mut listener, 1, 1);
    for _ in 0..20 {
        socket.write(&[1]).unwrap();
        pass(&world, 1);
    }
    let answer = vec![7; 1 << 20];
    while connection.write_vectored(&[std::io::IoSlice::new(&answer)]).is_ok() {}
    pass(&world, 500);
    assert_eq!(socket.read(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
    pass(&world, 25_000);
    assert!(socket.read(&mut [0; 64]).unwrap() > 0);
}

#[test]
fn exhausted_watches_refuse_a_registration_for_a_while() {
    let mut options = WorldOptions::calm(1);
    let first = klamm_sim::keyed::Key { site: Site::WatchesExhausted, entity: 1 << 32 | 1, ordinal: 0 };
    options.overrides.values.insert(Select::One(first), 1);
    let world = World::new(options);
    let mut listener = world.listen(broker(), 16).unwrap();
    let mut selector = world.selector(0);
    let token = Token { index: 1, generation: 1 };
    let (_socket, mut connection) = pair(&world, &mut listener, 1, 1);
    let (_other_socket, mut other) = pair(&world, &mut listener, 2, 1);
    for refused in [&mut connection, &mut other] {
        let error = selector.register(refused, token, Interest::Readable).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(28));
    }
    pass(&world, 1_000);
    selector.register(&mut other, token, Interest::Readable).unwrap();
}

#[test]
fn a_vanished_peer_answers_by_a_reset_when_its_machine_is_back() {
    for is_back in [false, true] {
        let world = if is_back { world(1, Site::VanishedPeerResets) } else { World::new(WorldOptions::calm(1)) };
        let mut listener = world.listen(broker(), 16).unwrap();
        let (socket, mut connection) = pair(&world, &mut listener, 1, 1);
        socket.vanish();
        let write = |connection: &mut SimConnection| connection.write_vectored(&[std::io::IoSlice::new(b"there?")]);
        write(&mut connection).unwrap();
        pass(&world, 100);
        assert_eq!(write(&mut connection).is_err(), is_back);
    }
}

#[test]
fn a_cut_near_an_edge_leaves_the_rest_for_later() {
    let cuts = (0..30).map(|seed| {
        let world = world(seed, Site::SegmentCutNearEdge);
        let mut listener = world.listen(broker(), 16).unwrap();
        let (mut socket, mut connection) = pair(&world, &mut listener, 1, 1);
        socket.write(&[7; 100]).unwrap();
        let first = (0..100_000).find_map(|_| {
            world.advance_to(Instant(world.now().instant.0 + 1_000));
            connection.read(&mut [0; 200]).ok()
        });
        first.unwrap()
    });
    let cuts: Vec<usize> = cuts.collect();
    assert!(cuts.iter().any(|cut| *cut < 4) && cuts.contains(&99), "{cuts:?}");
}
