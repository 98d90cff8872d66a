//! The broker in the simulated machine: started, stepped by the scheduler, crashed and started again.
//!
//! It must not know clients or what is checked.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use klamm::config::{Sources, StaticConfig};
use klamm::env::Wake;
use klamm::server::{Broker, BrokerEnvironment, Ending, Holdings, RoleWakers, StartError};

use crate::actor::Actor;
use crate::keyed::Site;
use crate::panics::{Panic, unless_panicked};
use crate::sim_disk::SimDisk;
use crate::sim_network::SimNetwork;
use crate::sim_parker::SimParker;
use crate::sim_selector::SimSelector;
use crate::world::{Crash, Moment, World};

use klamm::types::Instant;

/// How the broker of one run is laid out.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) config: StaticConfig,
    /// Where logs lie.
    pub(crate) directories: LogDirectories,
    /// Handlers in the pool.
    pub(crate) handlers: usize,
    /// Whether each Processor's driver steps a handler too; else all requests go through the pool.
    pub(crate) handlers_beside: bool,
    /// Units of work in one step of a Processor.
    pub(crate) quantum: usize,
    /// Whether connections that are idle for some hundred milliseconds are closed.
    pub(crate) closes_idle: bool,
}

/// Where the logs of a run lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogDirectories {
    pub(crate) paths: Vec<PathBuf>,
    /// Each is a disk of its own.
    pub(crate) are_disks: bool,
    /// The settings of the broker without them.
    pub(crate) settings: Vec<String>,
}

impl LogDirectories {
    /// The broker's settings.
    pub(crate) fn config(&self) -> StaticConfig {
        let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let log_dirs = format!("log.dirs={}", paths.join(","));
        let sources = Sources::new().with_overrides(self.settings.iter().chain([&log_dirs]).map(String::as_str));
        StaticConfig::from_sources(&sources).expect("the simulator's settings are valid")
    }
}

impl Layout {
    /// An operator names the log directories anew.
    pub(crate) fn name_directories(&mut self, paths: Vec<PathBuf>) {
        if self.directories.paths != paths {
            self.directories.paths = paths;
            self.config = self.directories.config();
        }
    }
}

/// A broker that is up.
pub(crate) struct BrokerMachine {
    world: World,
    disk: SimDisk,
    actors: Vec<Actor>,
    address: SocketAddr,
    ending: Ending,
}

impl BrokerMachine {
    /// Starts the broker; its data is whatever the disk holds.
    pub(crate) fn start(world: &World, layout: &Layout) -> Result<BrokerMachine, StartError> {
        let parkers = |count: usize| (0..count).map(|_| world.parker()).collect::<Vec<Arc<SimParker>>>();
        let handler_parkers = parkers(layout.handlers);
        let role_parkers = parkers(3);
        let wake = |parker: &Arc<SimParker>| Arc::clone(parker) as Arc<dyn Wake>;
        let disk = world.disk();
        let network = SimNetwork::new(world.clone());
        let broker: Broker<SimSelector> = Broker::start(
            layout.config.clone(),
            world.now(),
            BrokerEnvironment {
                network: &network,
                disk: Arc::new(disk.clone()),
                clock: Arc::new(world.clock()),
                seed: world.value(Site::BrokerSeed, 0).seed(),
                wakers: RoleWakers {
                    handlers: handler_parkers.iter().map(wake).collect(),
                    flusher: wake(&role_parkers[0]),
                    expiry: wake(&role_parkers[1]),
                },
                quantum: layout.quantum,
                backlog_tolerated: usize::from(layout.handlers_beside),
            },
        )?;
        let ending = broker.ending();
        let address = broker.acceptors.iter().find_map(|acceptor| acceptor.local_address().ok());
        let address = address.expect("a simulated listener has an address");
        let acceptors = broker.acceptors.into_iter().map(Actor::acceptor);
        let processors = broker
            .processors
            .into_iter()
            .map(|(processor, handler)| Actor::processor(processor, layout.handlers_beside.then_some(handler)));
        let handlers =
            broker.handlers.into_iter().zip(handler_parkers).map(|(handler, parker)| Actor::handler(handler, parker));
        let background =
            broker.roles.into_iter().zip(role_parkers).map(|(role, parker)| Actor::background(role, parker));
        let actors = acceptors.chain(processors).chain(handlers).chain(background).collect();
        Ok(BrokerMachine { world: world.clone(), disk, actors, address, ending })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The roles that may be stepped at this moment, by number.
    pub(crate) fn runnable(&self, moment: &Moment<'_>) -> impl Iterator<Item = usize> {
        let actors = self.actors.iter().enumerate();
        actors.filter(|(_, actor)| actor.is_runnable(moment)).map(|(number, _)| number)
    }

    /// What its roles are called, by number.
    pub(crate) fn names(&self) -> Vec<String> {
        self.actors.iter().map(|actor| actor.name().to_string()).collect()
    }

    /// When a role becomes runnable by time alone.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.actors.iter().filter_map(Actor::next_due).min()
    }

    /// The same, leaving out upkeep that nobody waits for.
    pub(crate) fn next_work_due(&self) -> Option<Instant> {
        self.actors.iter().filter(|actor| !actor.is_upkeep()).filter_map(Actor::next_due).min()
    }

    /// Steps one role. Says what it panicked with, if it did: the broker must then be forgotten, not dropped.
    pub(crate) fn step(&mut self, number: usize) -> Result<(), Panic> {
        let (disk, now) = (&self.disk, self.world.now());
        match self.actors.get_mut(number) {
            Some(actor) => unless_panicked(|| {
                actor.step(disk, now);
                actor.sleep_badly(&self.world, number as u64);
            }),
            None => Ok(()),
        }
    }

    /// Whether a role has said that the broker cannot go on.
    pub(crate) fn must_stop(&self) -> bool {
        self.actors.iter().any(Actor::has_stopped)
    }

    /// Why each role does nothing, for a report.
    pub(crate) fn waits_for(&self) -> String {
        let now = self.world.now().instant;
        self.actors.iter().map(|actor| actor.waits_for(now)).collect::<Vec<_>>().join(", ")
    }

    /// Begins to stop in order: nothing new is accepted or read, and what waits for data is answered.
    pub(crate) fn begin_drain(&mut self) -> Result<(), Panic> {
        self.actors.iter_mut().for_each(Actor::begin_drain);
        unless_panicked(|| self.ending.drain(self.world.now()))
    }

    /// Whether everything that was in work is answered.
    pub(crate) fn is_drained(&self) -> bool {
        self.actors.iter().all(Actor::is_drained)
    }

    /// Stops in order: everything synced, the clean-shutdown marker written. To be called when everything is answered.
    pub(crate) fn shut_down(&self) -> Result<(), String> {
        self.ending.shut_down().map_err(|error| error.to_string())
    }

    /// What it holds for its clients.
    pub(crate) fn holdings(&self) -> Holdings {
        self.ending.holdings()
    }

    /// Takes the broker down.
    pub(crate) fn crash(self, crash: Crash) {
        self.world.crash(crash);
    }
}
