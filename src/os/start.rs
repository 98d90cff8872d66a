//! Starts a broker on this machine, waits for the operator's wish to end, and ends it in order.
//!
//! It must not know what the roles do.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::kernel_version::check_kernel;
use super::threads::{Countdown, Phase, exit_at_once, run_acceptor, run_handler, run_processor, run_role, wake_all};
use super::{
    FileDisk, MioNetwork, MioSelector, Parker, Signals, SystemClock, Wish, raise_descriptor_limit, seed_from_system,
};
use crate::config::{Layers, Settings, StaticConfig};
use crate::env::{Clock, Disk, Wake};
use crate::server::{Broker, BrokerEnvironment, Ending, RoleWakers, StartError};

/// How long the end waits for requests in work. Members of groups that wait for others are not worth more.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// Runs a broker until SIGTERM, SIGINT or SIGHUP. SIGUSR1 has it say where requests spend their time.
pub fn run(fixed: StaticConfig) -> Result<(), StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let disk: Arc<dyn Disk> = Arc::new(FileDisk::new());
    let system = |source| StartError::System { source };
    check_kernel().map_err(system)?;
    let mut signals = Signals::install().map_err(system)?;
    raise_descriptor_limit().map_err(system)?;
    let settings = Settings::resolve(Layers { fixed: &fixed, dynamic: &Default::default() });
    let log_dirs = settings.log.dirs.join(", ");
    let parkers = Parkers::new(settings.request.io_threads);
    let begun = clock.now();
    let broker: Broker<MioSelector> = Broker::start(
        fixed,
        begun,
        BrokerEnvironment {
            network: &MioNetwork,
            disk: Arc::clone(&disk),
            clock: Arc::clone(&clock),
            seed: seed_from_system().map_err(system)?,
            wakers: parkers.wakers(),
            quantum: usize::MAX,
            backlog_tolerated: 1,
        },
    )?;
    let addresses: Vec<String> = broker
        .acceptors
        .iter()
        .filter_map(|acceptor| acceptor.local_address().ok())
        .map(|address| address.to_string())
        .collect();
    let start_ms = clock.now().instant.since(begun.instant).as_millis();
    let running = Running::spawn(broker, &parkers, disk, clock);
    tracing::info!(
        listeners = addresses.join(", "),
        log_dirs,
        start_ms,
        version = env!("CARGO_PKG_VERSION"),
        "Klamm is ready"
    );
    while signals.wait().map_err(system)? != Wish::End {
        running.ending.log_request_times();
    }
    tracing::info!("stopping: requests in work are answered first");
    running.end()?;
    tracing::info!("stopped");
    Ok(())
}

/// Where the roles without a selector sleep.
struct Parkers {
    handlers: Vec<Arc<Parker>>,
    roles: Vec<Arc<Parker>>,
}

impl Parkers {
    fn new(handlers: usize) -> Parkers {
        let parkers = |count: usize| (0..count).map(|_| Arc::new(Parker::new())).collect();
        Parkers { handlers: parkers(handlers), roles: parkers(3) }
    }

    fn wakers(&self) -> RoleWakers {
        let role = |number: usize| Arc::clone(&self.roles[number]) as Arc<dyn Wake>;
        RoleWakers {
            handlers: self.handlers.iter().map(|parker| Arc::clone(parker) as Arc<dyn Wake>).collect(),
            flusher: role(0),
            expiry: role(1),
        }
    }
}

/// A broker whose roles have their threads.
struct Running {
    phase: Arc<Phase>,
    network: Vec<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
    wakers: Vec<Arc<dyn Wake>>,
    ending: Ending,
    processors: Arc<Countdown>,
    clock: Arc<dyn Clock>,
}

impl Running {
    fn spawn(broker: Broker<MioSelector>, parkers: &Parkers, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Running {
        let phase = Arc::new(Phase::default());
        let processors = Arc::new(Countdown::default());
        let ending = broker.ending();
        let both = || (Arc::clone(&clock), Arc::clone(&phase));
        let mut network = Vec::new();
        for (number, acceptor) in broker.acceptors.into_iter().enumerate() {
            let (clock, phase) = both();
            network.push(run_acceptor(&format!("acceptor-{number}"), acceptor, clock, phase));
        }
        for (number, (processor, handler)) in broker.processors.into_iter().enumerate() {
            let (clock, phase) = both();
            network.push(run_processor(
                &format!("processor-{number}"),
                processor,
                handler,
                clock,
                phase,
                processors.begin(),
            ));
        }
        let mut others = Vec::new();
        for (number, (handler, parker)) in broker.handlers.into_iter().zip(&parkers.handlers).enumerate() {
            let (clock, phase) = both();
            others.push(run_handler(&format!("handler-{number}"), handler, Arc::clone(parker), clock, phase));
        }
        for (role, parker) in broker.roles.into_iter().zip(&parkers.roles) {
            let (clock, phase) = both();
            others.push(run_role(role, Arc::clone(parker), Arc::clone(&disk), clock, phase));
        }
        let sleepers = parkers.handlers.iter().chain(&parkers.roles).map(|parker| Arc::clone(parker) as Arc<dyn Wake>);
        let wakers = broker.selector_wakers.into_iter().chain(sleepers).collect();
        Running { phase, network, others, wakers, ending, processors, clock }
    }

    /// Accepts and reads nothing more, answers what is in work, ends every thread, and marks the logs as cleanly shut down.
    fn end(self) -> Result<(), StartError> {
        self.phase.drain();
        self.ending.drain(self.clock.now());
        wake_all(&self.wakers);
        if !self.processors.wait(DRAIN_MAX, || self.clock.now().instant) {
            tracing::warn!("some requests are not answered: their clients see the connection close");
        }
        self.phase.stop();
        wake_all(&self.wakers);
        join(self.network);
        join(self.others);
        if self.ending.must_stop() {
            exit_at_once();
        }
        Ok(self.ending.shut_down()?)
    }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A thread that panicked has ended the process.
        let _ = thread.join();
    }
}
