//! The contract of the doors on the real makers: mio, and files in a temporary directory.
//!
//! It runs in one test, since the limit of open files that a clause lowers belongs to the whole process.
#![cfg(feature = "os")]
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the peers of real sockets are real sockets")]

#[path = "conformance/crashes.rs"]
mod crashes;

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use klamm::env::{Clock, Disk, Event, Selector};
use klamm::os::{FileDisk, ListenOptions, MioListener, MioSelector, SystemClock};
use klamm_sim::conformance::{Makers, Patience, Peer, clauses, simulated_clauses};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

/// How long an expected event may take on a slow machine.
const LONG: Duration = Duration::from_secs(5);
/// How long an unexpected one is waited for.
const SHORT: Duration = Duration::from_millis(10);
/// What tells a poll that was woken from one that slept.
const SLEEP: Duration = Duration::from_millis(200);

struct RealMakers {
    root: TempDir,
    directories: Cell<u32>,
    limit: Rlimit,
}

impl Makers for RealMakers {
    type Selector = MioSelector;
    type Peer = RealPeer;

    fn selector(&mut self) -> io::Result<MioSelector> {
        MioSelector::new(128)
    }

    fn listen(&mut self) -> io::Result<MioListener> {
        MioListener::bind("127.0.0.1", 0, &ListenOptions { backlog: 16, receive_buffer_bytes: None })
    }

    fn connect(&mut self, to: SocketAddr) -> io::Result<RealPeer> {
        let stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(LONG))?;
        Ok(RealPeer { stream })
    }

    fn settle(&mut self) {
        std::thread::yield_now();
    }

    fn poll(&mut self, selector: &mut MioSelector, events: &mut Vec<Event>, patience: Patience) -> io::Result<()> {
        selector.poll(events, Some(if patience == Patience::Long { LONG } else { SHORT }))
    }

    fn poll_ends_early(&mut self, selector: &mut MioSelector, events: &mut Vec<Event>) -> io::Result<bool> {
        let start = Instant::now();
        selector.poll(events, Some(SLEEP))?;
        Ok(start.elapsed() < SLEEP)
    }

    fn wait(&mut self, selector: &mut MioSelector, timeout: Duration) -> io::Result<()> {
        selector.poll(&mut Vec::new(), Some(timeout))
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock::new())
    }

    fn forbid_descriptors(&mut self, forbidden: bool) {
        let current = if forbidden { Some(0) } else { self.limit.current };
        setrlimit(Resource::Nofile, Rlimit { current, maximum: self.limit.maximum })
            .expect("a soft limit can be changed");
    }

    fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(FileDisk::new())
    }

    fn directory(&self) -> PathBuf {
        let directory = self.root.path().join(self.directories.get().to_string());
        std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
        directory
    }
}

struct RealPeer {
    stream: TcpStream,
}

impl Peer for RealPeer {
    fn address(&self) -> SocketAddr {
        self.stream.local_addr().expect("a connected socket has an address")
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }

    fn shutdown_write(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    fn reset(self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).expect("linger can be set");
    }
}

#[test]
fn real_makers_keep_every_clause() {
    crashes::be_killed_if_asked();
    let root = tempfile::tempdir().unwrap();
    let mut makers = RealMakers { root, directories: Cell::new(0), limit: getrlimit(Resource::Nofile) };
    let mut broken = Vec::new();
    for clause in clauses() {
        makers.directories.set(makers.directories.get() + 1);
        if let Err(failure) = (clause.check)(&mut makers) {
            broken.push(format!("{}: {}", clause.name, failure.0));
        }
    }
    for (name, check) in crashes::CLAUSES {
        assert!(simulated_clauses().iter().any(|clause| clause.name == *name), "no simulated clause is called {name}");
        makers.directories.set(makers.directories.get() + 1);
        if let Err(failure) = check(&makers.directory()) {
            broken.push(format!("{name}: {}", failure.0));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
