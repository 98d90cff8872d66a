//! The door that makes simulated selectors and listeners for one start of the broker.
//!
//! It must not know Kafka. Host names are not resolved: a simulated listener's host is an address.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use klamm::env::Network;

use crate::errno;
use crate::keyed::Site;
use crate::sim_listener::SimListener;
use crate::sim_selector::SimSelector;
use crate::world::World;

/// Makes selectors and listeners in a world. Selectors are named by their running number, which is the same at every start.
pub(crate) struct SimNetwork {
    world: World,
    next_entity: AtomicU64,
}

impl SimNetwork {
    pub(crate) fn new(world: World) -> SimNetwork {
        SimNetwork { world, next_entity: AtomicU64::new(0) }
    }
}

impl Network for SimNetwork {
    type Selector = SimSelector;

    fn selector(&self) -> io::Result<SimSelector> {
        let entity = self.next_entity.fetch_add(1, Ordering::Relaxed);
        match self.world.fault(Site::SelectorFails, entity) {
            Some(_) => Err(io::Error::from_raw_os_error(errno::EMFILE)),
            None => Ok(self.world.selector(entity)),
        }
    }

    fn listen(&self, host: &str, port: u16, backlog: u32, _receive: Option<u32>) -> io::Result<SimListener> {
        let address: IpAddr = host.parse().map_err(|_| io::ErrorKind::AddrNotAvailable)?;
        self.world.listen(SocketAddr::new(address, port), backlog as usize)
    }

    fn resolve(&self, host: &str) -> Vec<IpAddr> {
        host.parse().into_iter().collect()
    }
}
