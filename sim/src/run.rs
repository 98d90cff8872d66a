//! One seed from start to verdict: makes the world, the broker and its clients, lets the scheduler choose who steps, breaks things,
//! then heals everything and asks whether every promise was kept.
//!
//! It must not know what a role or a client does in its step.

use std::collections::BTreeMap;

use klamm::config::{Sources, StaticConfig};
use klamm::types::Instant;

use crate::broker_machine::{BrokerMachine, Layout};
use crate::checker::{Acks, History, Violation};
use crate::client::{Client, ClientContext, Consumer, Producer, ProducerProfile};
use crate::keyed::{Site, draw_config};
use crate::world::{Crash, World, WorldOptions};

const TOPIC: &str = "events";
/// The calm phase must end within so much simulated time.
const CALM_NS_MAX: u64 = 120_000_000_000;
/// A run that takes more steps than this is stuck in a loop.
const STEPS_MAX: u64 = 2_000_000;

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// Its seed.
    pub seed: u64,
    /// Events noted.
    pub events: u64,
    /// The hash of all of them.
    pub hash: u64,
    /// Simulated nanoseconds.
    pub simulated_ns: u64,
    /// Records acknowledged.
    pub acknowledged: usize,
    /// Times that the broker went down.
    pub crashes: u32,
    /// Broken promises.
    pub violations: Vec<Violation>,
}

/// Runs one seed.
pub fn run(options: WorldOptions) -> RunReport {
    Run::new(options).to_verdict()
}

struct Run {
    seed: u64,
    world: World,
    broker: Option<BrokerMachine>,
    clients: Vec<Seat>,
    history: History,
    is_calm: bool,
    /// When the broker goes down, and how.
    crashes: Vec<(Instant, Crash)>,
    crashed: u32,
    steps: u64,
}

/// A client and its sleep.
struct Seat {
    client: Box<dyn Client>,
    number: u32,
    is_awake: bool,
    deadline: Option<Instant>,
}

/// Who may be stepped.
enum Party {
    Role(usize),
    Client(usize),
}

impl Run {
    fn new(options: WorldOptions) -> Run {
        let seed = options.seed;
        let world = World::new(options);
        let mut history = History::default();
        let broker = match BrokerMachine::start(&world, &layout(seed)) {
            Ok(broker) => Some(broker),
            Err(error) => {
                history.violate(Violation::DoesNotStart { reason: error.to_string() });
                None
            }
        };
        let mut run = Run {
            seed,
            world,
            broker,
            clients: Vec::new(),
            history,
            is_calm: false,
            crashes: crashes(seed),
            crashed: 0,
            steps: 0,
        };
        let producers = draw_config(seed, Site::ClientProfile, 0).between(1, 3);
        for number in 0..u32::try_from(producers).unwrap_or(1) {
            let profile = producer_profile(seed, number);
            run.seat(number, Box::new(Producer::new(profile, TOPIC)));
        }
        run.seat(100, Box::new(Consumer::new(100, TOPIC, false)));
        run
    }

    fn seat(&mut self, number: u32, client: Box<dyn Client>) {
        self.clients.push(Seat { client, number, is_awake: true, deadline: None });
    }

    fn to_verdict(mut self) -> RunReport {
        let chaos_ns = draw_config(self.seed, Site::BrokerCrash, 0).between(50_000_000, 2_000_000_000);
        self.until(Instant(chaos_ns), |run| run.producers_are_done());
        self.world.calm_down();
        self.is_calm = true;
        self.wake_all();
        self.finish(|run| run.clients.iter().all(|seat| seat.client.is_done()));
        self.history.begin_final_reading();
        self.seat(200, Box::new(Consumer::new(200, TOPIC, true)));
        self.finish(|run| run.clients.iter().all(|seat| seat.client.is_done()));
        let acknowledged = self.history.acknowledged();
        RunReport {
            seed: self.seed,
            events: self.world.events(),
            hash: self.world.trace_hash(),
            simulated_ns: self.world.now().instant.0,
            acknowledged,
            crashes: self.crashed,
            violations: self.history.verdict(),
        }
    }

    /// Runs the calm phase until `is_over`; one that does not end is a violation.
    fn finish(&mut self, is_over: impl Fn(&Run) -> bool) {
        let limit = Instant(self.world.now().instant.0 + CALM_NS_MAX);
        if self.broker.is_some() && !self.until(limit, &is_over) {
            let waiting = self.clients.iter().filter(|seat| !seat.client.is_done()).map(|seat| seat.client.waits_for());
            let waiting = waiting.collect::<Vec<_>>().join("; ");
            self.history.violate(Violation::Stuck { waiting });
        }
    }

    /// Steps whoever may be stepped until `is_over` or the time is up; says whether it was over.
    fn until(&mut self, limit: Instant, is_over: impl Fn(&Run) -> bool) -> bool {
        loop {
            if is_over(self) {
                return true;
            }
            if self.world.now().instant >= limit || self.steps >= STEPS_MAX || self.broker.is_none() {
                return false;
            }
            self.crash_if_due();
            self.hear_news();
            let parties = self.runnable();
            if parties.is_empty() {
                // Nobody can go on before something comes to its time. If nothing is on its way, nobody ever can.
                let Some(next) = self.next_due() else { return false };
                self.world.advance_to(next.min(limit));
                continue;
            }
            let draw = self.world.value(Site::SchedulerPick, 0);
            let chosen = usize::try_from(draw.below(parties.len() as u64)).unwrap_or(0);
            self.steps += 1;
            match parties[chosen] {
                Party::Role(number) => self.broker.iter_mut().for_each(|broker| broker.step(number)),
                Party::Client(index) => self.step_client(index),
            }
            // A step takes time, so that deadlines pass in the middle of work.
            let cost = self.world.value(Site::StepCost, 0).between(200, 20_000);
            self.world.advance_to(Instant(self.world.now().instant.0 + cost));
        }
    }

    fn runnable(&self) -> Vec<Party> {
        let now = self.world.now().instant;
        let roles = self.broker.iter().flat_map(|broker| broker.runnable().map(Party::Role));
        let clients = self.clients.iter().enumerate();
        let clients =
            clients.filter(|(_, seat)| seat.is_awake || seat.deadline.is_some_and(|deadline| deadline <= now));
        roles.chain(clients.map(|(index, _)| Party::Client(index))).collect()
    }

    fn next_due(&self) -> Option<Instant> {
        let clients = self.clients.iter().filter_map(|seat| seat.deadline).min();
        let broker = self.broker.as_ref().and_then(BrokerMachine::next_due);
        let crash = self.crashes.first().map(|(at, _)| *at).filter(|_| !self.is_calm);
        [self.world.next_due(), broker, clients, crash].into_iter().flatten().min()
    }

    /// Wakes the clients whose sockets have news.
    fn hear_news(&mut self) {
        while let Some(identity) = self.world.next_touched_client() {
            let number = u32::try_from(identity >> 32).unwrap_or(0);
            for seat in self.clients.iter_mut().filter(|seat| seat.number == number) {
                seat.is_awake = true;
            }
        }
    }

    fn step_client(&mut self, index: usize) {
        let Some(broker) = self.broker.as_ref().map(BrokerMachine::address) else { return };
        let Some(seat) = self.clients.get_mut(index) else { return };
        let mut context =
            ClientContext { world: &self.world, broker, history: &mut self.history, is_calm: self.is_calm };
        seat.is_awake = false;
        seat.deadline = seat.client.step(&mut context);
    }

    fn crash_if_due(&mut self) {
        let now = self.world.now().instant;
        if self.is_calm || !self.crashes.first().is_some_and(|(at, _)| *at <= now) {
            return;
        }
        let (_, crash) = self.crashes.remove(0);
        self.crashed += 1;
        if crash == Crash::Power {
            self.history.power_cut();
        }
        let restarted = self.broker.take().map(|broker| broker.crash_and_restart(crash));
        match restarted {
            Some(Ok(broker)) => self.broker = Some(broker),
            Some(Err(error)) => self.history.violate(Violation::DoesNotStart { reason: error.to_string() }),
            None => {}
        }
        self.wake_all();
    }

    fn wake_all(&mut self) {
        self.clients.iter_mut().for_each(|seat| seat.is_awake = true);
    }

    fn producers_are_done(&self) -> bool {
        self.clients.iter().filter(|seat| seat.number < 100).all(|seat| seat.client.is_done())
    }
}

/// How the broker of this seed is laid out.
fn layout(seed: u64) -> Layout {
    let draw = draw_config(seed, Site::BrokerLayout, 0);
    let handlers = draw.part(1).between(1, 3);
    let overrides = [
        "listeners=PLAINTEXT://10.1.0.1:9092".to_string(),
        "log.dirs=/data".to_string(),
        format!("num.network.threads={}", draw.part(0).between(1, 3)),
        format!("num.io.threads={handlers}"),
        format!("queued.max.requests={}", [1, 2, 500][draw.part(2).below(3) as usize]),
        format!("num.partitions={}", draw.part(3).between(1, 3)),
    ];
    let sources = Sources::new().with_overrides(overrides.iter().map(String::as_str));
    Layout {
        config: StaticConfig::from_sources(&sources).expect("the simulator's settings are valid"),
        handlers: usize::try_from(handlers).unwrap_or(1),
        handlers_beside: draw.part(4).happens(500_000),
        quantum: [1, 2, usize::MAX][draw.part(5).below(3) as usize],
    }
}

/// When the broker of this seed goes down, and how.
fn crashes(seed: u64) -> Vec<(Instant, Crash)> {
    let draw = draw_config(seed, Site::BrokerCrash, 1);
    let count = [0, 0, 1, 1, 2][draw.below(5) as usize];
    let times: BTreeMap<u64, Crash> = (0..count)
        .map(|index| {
            let crash = if draw.part(10 + index).happens(500_000) { Crash::Power } else { Crash::Process };
            (draw.part(20 + index).between(5_000_000, 500_000_000), crash)
        })
        .collect();
    times.into_iter().map(|(at, crash)| (Instant(at), crash)).collect()
}

fn producer_profile(seed: u64, number: u32) -> ProducerProfile {
    let draw = draw_config(seed, Site::ClientProfile, 1 + u64::from(number));
    ProducerProfile {
        client: number,
        acks: [Acks::All, Acks::All, Acks::Leader, Acks::None][draw.part(0).below(4) as usize],
        pipeline_max: draw.part(1).between(1, 5) as usize,
        batches: u32::try_from(draw.part(2).between(1, 40)).unwrap_or(1),
        records_per_batch_max: u32::try_from(draw.part(3).between(1, 5)).unwrap_or(1),
    }
}
