//! A whole broker that takes bytes from a caller: no scheduler's choice, every role is stepped in turn until none can go on.
//!
//! For fuzzing: the input is the only thing that varies. It must not know what the bytes mean.

use std::net::SocketAddr;

use klamm::config::{Sources, StaticConfig};
use klamm::server::StartError;
use klamm::types::Instant;

use crate::broker_machine::{BrokerMachine, Layout};
use crate::client_socket::ClientSocket;
use crate::world::{World, WorldOptions};

/// The broker and the machine it runs on.
pub struct Pipeline {
    world: World,
    broker: BrokerMachine,
    connections: u16,
}

impl Pipeline {
    /// A broker with an empty disk in a world without faults, with these settings besides.
    pub fn start(overrides: &[&str]) -> Result<Pipeline, StartError> {
        let world = World::new(WorldOptions::calm(1));
        let fixed =
            ["listeners=PLAINTEXT://10.1.0.1:9092", "log.dirs=/data", "num.network.threads=1", "num.io.threads=1"];
        let sources = Sources::new().with_overrides(fixed.iter().chain(overrides).copied());
        let layout = Layout {
            closes_idle: false,
            config: StaticConfig::from_sources(&sources).expect("the caller's settings are valid"),
            handlers: 1,
            handlers_beside: true,
            quantum: usize::MAX,
        };
        let broker = BrokerMachine::start(&world, &layout)?;
        Ok(Pipeline { world, broker, connections: 0 })
    }

    /// A new connection to the broker.
    pub fn connect(&mut self) -> ClientSocket {
        self.connections += 1;
        let from = SocketAddr::from(([10, 2, 0, 1], 10_000 + self.connections));
        self.world.connect(u64::from(self.connections), from, self.broker.address())
    }

    /// Lets everything happen that can within so much simulated time. Says whether it came to rest within `steps_max` steps. Panics if a role
    /// does.
    pub fn settle(&mut self, nanoseconds: u64, steps_max: u32) -> bool {
        let limit = Instant(self.world.now().instant.0.saturating_add(nanoseconds));
        let mut steps = 0;
        loop {
            let runnable: Vec<usize> = self.broker.runnable().collect();
            for number in &runnable {
                if let Err(panic) = self.broker.step(*number) {
                    panic!("a role of the broker panicked at {}: {}", panic.place, panic.message);
                }
                steps += 1;
            }
            while self.world.next_touched_client().is_some() {}
            if steps > steps_max {
                return false;
            }
            if !runnable.is_empty() {
                continue;
            }
            match [self.world.next_due(), self.broker.next_due()].into_iter().flatten().min() {
                Some(due) if due <= limit => self.world.advance_to(due),
                _ => {
                    self.world.advance_to(limit);
                    return true;
                }
            }
        }
    }

    /// How many connections the broker holds.
    pub fn open_connections(&self) -> u64 {
        self.world.open_connections()
    }
}
