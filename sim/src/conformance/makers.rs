//! What the suite needs of a maker of doors, and the simulated makers.
//!
//! It must not know the clauses.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use klamm::env::{Clock, Disk, Event, Selector};
use klamm::types::Instant;

use crate::client_socket::ClientSocket;
use crate::conformance::Failure;
use crate::flaw::Flaw;
use crate::keyed::{Overrides, Select, Site, Swarm};
use crate::sim_listener::SimListener;
use crate::sim_selector::SimSelector;
use crate::world::{World, WorldOptions};

/// How long a poll may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// An event is expected: wait for it as long as a slow machine may need.
    Long,
    /// Nothing is expected: wait just long enough that a wrong event would show.
    Short,
}

/// Makes doors for one clause, and the other side of them.
pub trait Makers {
    /// The selector under test.
    type Selector: Selector;
    /// A peer of its connections.
    type Peer: Peer;

    /// A new selector.
    fn selector(&mut self) -> io::Result<Self::Selector>;
    /// A new listener on a port of the system's choice, on an address that peers reach.
    fn listen(&mut self) -> io::Result<<Self::Selector as Selector>::Listener>;
    /// Connects to a listener; an error if it refuses.
    fn connect(&mut self, to: SocketAddr) -> io::Result<Self::Peer>;
    /// Lets what is on its way arrive.
    fn settle(&mut self);
    /// Polls once.
    fn poll(&mut self, selector: &mut Self::Selector, events: &mut Vec<Event>, patience: Patience) -> io::Result<()>;
    /// Polls once and says whether the poll ended before its time.
    fn poll_ends_early(&mut self, selector: &mut Self::Selector, events: &mut Vec<Event>) -> io::Result<bool>;
    /// Polls once, and waits for as long as the timeout says.
    fn wait(&mut self, selector: &mut Self::Selector, timeout: Duration) -> io::Result<()>;
    /// The clock under test.
    fn clock(&self) -> Arc<dyn Clock>;
    /// From now on no socket and no file can be opened, or again.
    fn forbid_descriptors(&mut self, forbidden: bool);
    /// The disk under test.
    fn disk(&self) -> Arc<dyn Disk>;
    /// An empty directory on it.
    fn directory(&self) -> PathBuf;
}

/// A peer that may wait. Dropping it closes its connection.
pub trait Peer {
    /// Its own address.
    fn address(&self) -> SocketAddr;
    /// Writes all bytes; waits for room.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Reads what comes next; waits for it. 0 is the end.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Says that no more bytes come.
    fn shutdown_write(&mut self) -> io::Result<()>;
    /// Tears the connection.
    fn reset(self);
}

/// The simulated makers of one world.
#[derive(Debug)]
pub struct SimMakers {
    world: World,
    connects: u64,
}

impl SimMakers {
    /// Makers of this world.
    pub fn new(world: World) -> SimMakers {
        SimMakers { world, connects: 0 }
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }
}

fn settle(world: &World) {
    while let Some(due) = world.next_due() {
        world.advance_to(due.max(world.now().instant));
    }
}

impl Makers for SimMakers {
    type Selector = SimSelector;
    type Peer = SimPeer;

    fn selector(&mut self) -> io::Result<SimSelector> {
        Ok(self.world.selector(0))
    }

    fn listen(&mut self) -> io::Result<SimListener> {
        self.world.listen(SocketAddr::from(([10, 0, 0, 1], 0)), 16)
    }

    fn connect(&mut self, to: SocketAddr) -> io::Result<SimPeer> {
        self.connects += 1;
        let port = u16::try_from(50_000 + self.connects).unwrap_or(u16::MAX);
        let from = SocketAddr::from(([10, 0, 0, 2], port));
        let mut peer = SimPeer { world: self.world.clone(), socket: self.world.connect(self.connects, from, to) };
        settle(&self.world);
        if peer.socket.readiness().connected {
            Ok(peer)
        } else {
            peer.read(&mut [0]).and(Err(io::ErrorKind::TimedOut.into()))
        }
    }

    fn settle(&mut self) {
        settle(&self.world);
    }

    fn poll(&mut self, selector: &mut SimSelector, events: &mut Vec<Event>, _: Patience) -> io::Result<()> {
        settle(&self.world);
        selector.poll(events, None)
    }

    fn poll_ends_early(&mut self, selector: &mut SimSelector, events: &mut Vec<Event>) -> io::Result<bool> {
        settle(&self.world);
        let early = self.world.is_selector_ready(selector.id());
        selector.poll(events, None)?;
        Ok(early)
    }

    fn wait(&mut self, selector: &mut SimSelector, timeout: Duration) -> io::Result<()> {
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        self.world.advance_to(Instant(self.world.now().instant.0.saturating_add(timeout_ns)));
        selector.poll(&mut Vec::new(), Some(timeout))
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(self.world.clock())
    }

    fn forbid_descriptors(&mut self, forbidden: bool) {
        self.world.forbid_descriptors(forbidden);
    }

    fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.world.disk())
    }

    fn directory(&self) -> PathBuf {
        let directory = PathBuf::from("/data");
        if self.world.disk().create_directory(&directory).is_err() {
            // A clause that needs the directory fails at its first use, with a sentence.
            return PathBuf::from("/missing");
        }
        directory
    }
}

/// A simulated peer.
#[derive(Debug)]
pub struct SimPeer {
    world: World,
    socket: ClientSocket,
}

impl Peer for SimPeer {
    fn address(&self) -> SocketAddr {
        self.socket.local_address()
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() {
            match self.socket.write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.world.next_due().is_some() => {
                    settle(&self.world)
                }
                Err(error) => return Err(error),
            }
        }
        settle(&self.world);
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.world.next_due().is_some() => {
                    settle(&self.world)
                }
                outcome => return outcome,
            }
        }
    }

    fn shutdown_write(&mut self) -> io::Result<()> {
        self.socket.shutdown_write();
        settle(&self.world);
        Ok(())
    }

    fn reset(self) {
        self.socket.reset();
        settle(&self.world);
    }
}

/// Makes worlds for the clauses that choose their own, all with the same planted flaw or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worlds {
    /// The flaw of every world.
    pub flaw: Option<Flaw>,
}

impl Worlds {
    /// A world without faults.
    pub fn calm(&self, seed: u64) -> World {
        World::new(WorldOptions { flaw: self.flaw, ..WorldOptions::calm(seed) })
    }

    /// A world in which one fault fires whenever it can.
    pub fn always(&self, seed: u64, site: Site) -> World {
        let values = [(Select::Site(site), 1)].into();
        let overrides = Overrides { values, ..Overrides::default() };
        World::new(WorldOptions { seed, swarm: Swarm::calm(), overrides, flaw: self.flaw })
    }
}

/// Makes a directory that is already durable.
pub(crate) fn durable_directory(world: &World, path: &str) -> Result<PathBuf, Failure> {
    let disk = world.disk();
    let path = PathBuf::from(path);
    disk.create_directory(&path)?;
    disk.sync_all(Path::new("/"))?;
    Ok(path)
}
