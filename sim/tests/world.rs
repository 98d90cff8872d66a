//! A world at work: an echo server that keeps the contract of the doors, and clients that check it, under every seed's faults.
//!
//! If the simulated network owed an edge and forgot it, the run would end with somebody still waiting.
#![expect(clippy::unwrap_used, reason = "a test may panic where it cannot go on")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, IoSlice};
use std::net::SocketAddr;

use klamm::env::{Connection, Interest, Listener, Selector, Token};
use klamm::types::Instant;
use klamm_sim::keyed::{Select, Site};
use klamm_sim::{ClientSocket, SimConnection, SimListener, SimSelector, World, WorldOptions};

const CLIENTS: u64 = 6;
const BYTES: usize = 3_000;
const STEPS_MAX: u64 = 2_000_000;

struct Echo {
    selector: SimSelector,
    listener: SimListener,
    open: BTreeMap<u32, (u32, SimConnection, Vec<u8>)>,
    next: u32,
    /// An accept went wrong: nobody is accepted before the listener is armed again.
    is_held_back: bool,
}

const LISTENER: Token = Token { index: 0, generation: 0 };

impl Echo {
    fn new(world: &World) -> Echo {
        let mut selector = world.selector(0);
        let address = SocketAddr::from(([10, 0, 0, 1], 9092));
        // The port may still be held by another process.
        let mut listener = (0..100).find_map(|_| world.listen(address, 4).ok()).unwrap();
        selector.register_listener(&mut listener, LISTENER).unwrap();
        Echo { selector, listener, open: BTreeMap::new(), next: 1, is_held_back: false }
    }

    fn step(&mut self) {
        let mut events = Vec::new();
        if self.selector.poll(&mut events, None).is_err() {
            return;
        }
        for event in events {
            if event.token == LISTENER {
                self.accept();
            } else if self
                .open
                .get(&event.token.index)
                .is_some_and(|(generation, ..)| *generation == event.token.generation)
            {
                self.serve(event.token.index);
            }
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((mut connection, _)) => {
                    // A slot is used again at once, so that a stale event would reach a stranger if it could.
                    let index = (1..).find(|index| !self.open.contains_key(index)).unwrap();
                    let token = Token { index, generation: self.next };
                    self.next += 1;
                    if self.selector.register(&mut connection, token, Interest::ReadableWritable).is_ok() {
                        self.open.insert(index, (token.generation, connection, Vec::new()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.is_held_back = true;
                    return;
                }
            }
        }
    }

    fn rearm(&mut self) {
        self.is_held_back = self.selector.rearm_listener(&mut self.listener, LISTENER).is_err();
    }

    fn serve(&mut self, index: u32) {
        let (_, connection, pending) = self.open.get_mut(&index).unwrap();
        loop {
            let outcome = if pending.is_empty() {
                let mut buffer = [0; 700];
                connection.read(&mut buffer).inspect(|count| pending.extend_from_slice(&buffer[..*count]))
            } else {
                connection.write_vectored(&[IoSlice::new(pending)]).inspect(|count| drop(pending.drain(..*count)))
            };
            match outcome {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.open.remove(&index);
    }
}

struct Client {
    /// `None` once it was torn.
    socket: Option<ClientSocket>,
    /// After how many bytes read it tears its connection, if it does.
    tears_at: Option<usize>,
    written: usize,
    read: usize,
    ended: bool,
}

impl Client {
    fn step(&mut self, world: &World, identity: u64) {
        let Some(socket) = &mut self.socket else { return };
        let readiness = socket.readiness();
        if self.ended || !readiness.connected && !readiness.failed {
            return;
        }
        while self.written < BYTES {
            let left = (BYTES - self.written) as u64;
            let chunk = usize::try_from(world.value(Site::ClientAction, identity).between(1, left)).unwrap();
            let bytes: Vec<u8> = (self.written..self.written + chunk).map(|at| byte(identity, at)).collect();
            match socket.write(&bytes) {
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.written = BYTES,
            }
            if self.written == BYTES {
                socket.shutdown_write();
            }
        }
        let mut buffer = [0; 500];
        loop {
            if self.tears_at.is_some_and(|at| self.read >= at) {
                self.socket.take().unwrap().reset();
                return self.ended = true;
            }
            match socket.read(&mut buffer) {
                Ok(0) => return self.ended = true,
                Ok(count) => {
                    for value in &buffer[..count] {
                        assert_eq!(*value, byte(identity, self.read), "client {identity} at {}", self.read);
                        self.read += 1;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return self.ended = true,
            }
        }
    }
}

fn byte(identity: u64, at: usize) -> u8 {
    u8::try_from((identity as usize * 31 + at * 7 + at / 256) & 0xff).unwrap()
}

/// Runs a seed until nothing moves any more. Says how many clients got everything, or as much as they wanted.
fn run(world: &World) -> usize {
    let mut echo = Echo::new(world);
    let mut clients: BTreeMap<u64, Client> = (0..CLIENTS)
        .map(|identity| {
            let profile = world.value(Site::ClientProfile, identity);
            let tears_at = (profile.below(5) == 0).then(|| usize::try_from(profile.part(0).below(2_000)).unwrap());
            let from = SocketAddr::from(([10, 0, 1, 1], 5_000 + u16::try_from(identity).unwrap()));
            let socket = world.connect(identity, from, SocketAddr::from(([10, 0, 0, 1], 9092)));
            (identity, Client { socket: Some(socket), tears_at, written: 0, read: 0, ended: false })
        })
        .collect();
    let mut is_calm = false;
    for _ in 0..STEPS_MAX {
        if let Some(identity) = world.next_touched_client() {
            clients.get_mut(&identity).unwrap().step(world, identity);
        } else if world.is_selector_ready(echo.selector.id()) {
            echo.step();
        } else if let Some(due) = world.next_due() {
            world.advance_to(due.max(world.now().instant));
        } else if echo.is_held_back || !is_calm {
            // What a fault keeps back for ever comes when faults are over.
            world.calm_down();
            is_calm = true;
            echo.rearm();
        } else {
            for (identity, client) in &clients {
                assert!(client.ended, "client {identity} waits for ever at {} of {BYTES}", client.read);
            }
            assert!(echo.open.is_empty(), "the server still holds {:?}", echo.open.keys());
            assert_eq!(world.open_connections(), 0);
            return clients.values().filter(|client| client.read >= client.tears_at.unwrap_or(BYTES)).count();
        }
    }
    panic!("the run never comes to rest");
}

#[test]
fn a_world_without_faults_serves_everybody() {
    for seed in 0..50 {
        assert_eq!(run(&World::new(WorldOptions::calm(seed))), usize::try_from(CLIENTS).unwrap(), "seed {seed}");
    }
}

#[test]
fn nobody_waits_for_ever_under_any_seed() {
    let whole: usize = (0..400).map(|seed| run(&World::new(WorldOptions::from_seed(seed)))).sum();
    assert!(whole > 1_200, "only {whole} clients of 2400 were served, so the runs say little");
}

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in 0..60 {
        let worlds = [World::new(WorldOptions::from_seed(seed)), World::new(WorldOptions::from_seed(seed))];
        worlds.iter().for_each(|world| {
            run(world);
        });
        let [first, second] =
            worlds.each_ref().map(|world| (world.trace_hash(), world.events(), world.now(), world.fired()));
        assert_eq!(first, second, "seed {seed}");
    }
    let hashes: BTreeSet<u64> = (0..60)
        .map(|seed| {
            let world = World::new(WorldOptions::from_seed(seed));
            run(&world);
            world.trace_hash()
        })
        .collect();
    assert!(hashes.len() > 55, "different seeds run alike");
}

#[test]
fn a_forbidden_fault_does_not_fire_and_the_run_still_ends() {
    let plain = World::new(WorldOptions::from_seed(3));
    run(&plain);
    let victim = *plain.fired().first().expect("seed 3 has faults");
    let mut options = WorldOptions::from_seed(3);
    options.overrides.forbidden.insert(Select::One(victim));
    let without = World::new(options);
    run(&without);
    assert!(!without.fired().contains(&victim));
}

#[test]
fn what_a_clog_holds_back_comes_when_faults_are_over() {
    let mut options = WorldOptions::calm(1);
    options.swarm.set_rate(Site::Clogged, 1_000_000);
    let world = World::new(options);
    let address = SocketAddr::from(([10, 0, 0, 1], 9092));
    let mut listener = world.listen(address, 4).unwrap();
    let mut client = world.connect(1, SocketAddr::from(([10, 0, 1, 1], 5_000)), address);
    let wait_ms = |milliseconds: u64| world.advance_to(Instant(world.now().instant.0 + milliseconds * 1_000_000));
    wait_ms(500);
    let (mut connection, _) = listener.accept().unwrap();
    client.write(b"held").unwrap();
    wait_ms(500);
    let mut buffer = [0; 8];
    assert_eq!(connection.read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    world.calm_down();
    wait_ms(1);
    assert_eq!(connection.read(&mut buffer).unwrap(), 4);
}
