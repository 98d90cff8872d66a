//! One seed from start to verdict: makes the world, the broker and its clients, lets the scheduler choose who steps, breaks things,
//! then heals everything and asks whether every promise was kept.
//!
//! It must not know what a role or a client does in its step.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use klamm::types::Instant;

use crate::broker_machine::{BrokerMachine, unless_panicked};
use crate::checker::{History, Violation};
use crate::client::{Admin, Client, ClientContext, Consumer, Garbage, GroupMember, Producer, Seeker};
use crate::clock_faults::ClockFaults;
use crate::heritage;
use crate::keyed::{Fired, Site, SiteKind};
use crate::plan::{Ending, GARBAGE, LAST_SEEKER, Plan, last_admin, last_consumer, last_member};
use crate::reduction::Simple;
use crate::scenario::Scenario;
use crate::scheduler::{Party, Scheduler};
use crate::story::Cast;
use crate::trace::{TraceEvent, TraceKind};
use crate::world::{Crash, World, WorldOptions};

const TOPIC: &str = "events";
const SECOND: u64 = 1_000_000_000;
/// In the calm phase every request is answered within so much simulated time. What was slow on its way may still take its time.
const ANSWER_NS_MAX: u64 = 45 * SECOND;
/// The calm phase must end within so much simulated time.
const CALM_NS_MAX: u64 = 300 * SECOND;
/// What a step costs, at least and at most.
const STEP_NS: (u64, u64) = (200, 20_000);
/// A run that takes more steps than this is stuck in a loop.
const STEPS_MAX: u64 = 300_000;
/// The most starts that faults may spoil; then the faults end.
const FAILED_STARTS_MAX: u32 = 8;
/// An orderly stop has answered everything within so much simulated time.
const DRAIN_NS_MAX: u64 = 10 * SECOND;
/// The same in a run without any fault, in which only requests that wait for something could take longer.
const SOUND_DRAIN_NS_MAX: u64 = SECOND / 8;
/// A broker that goes down in the middle of something does so before one of so many effects on the disk.
const EFFECTS_MAX: u64 = 40;
/// Turns in which only upkeep by the clock was done before the run counts as asleep.
const UPKEEP_TURNS_MAX: u32 = 3;
/// Steps that such a turn takes at most.
const UPKEEP_STEPS_MAX: u64 = 6;

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
    /// Records that were there at the end.
    pub records: usize,
    /// Times that the broker went down.
    pub crashes: u32,
    /// Effects that the broker had on the disk.
    pub disk_effects: u64,
    /// The faults that fired, in order.
    pub fired: Vec<Fired>,
    /// What was planned for each client: batches, rounds or attempts; a reader counts as one.
    pub operations: BTreeMap<u32, u32>,
    /// How long faults were about.
    pub chaos_ns: u64,
    /// The hash after 1, 2, 4, 8 … events.
    pub checkpoints: Vec<u64>,
    /// Broken promises.
    pub violations: Vec<Violation>,
}

/// Runs a scenario.
pub fn run(scenario: impl Into<Scenario>) -> RunReport {
    Run::new(scenario.into()).judge()
}

/// Runs a scenario, and returns its events of these numbers too.
pub fn run_with_events(scenario: impl Into<Scenario>, wanted: Range<u64>) -> (RunReport, Vec<TraceEvent>) {
    let mut run = Run::new(scenario.into());
    run.world.keep_events(wanted);
    (run.judge(), run.world.kept_events())
}

/// Runs a scenario, and returns all its events, and who took part in them.
pub(crate) fn run_with_cast(scenario: Scenario) -> (RunReport, Vec<TraceEvent>, Cast) {
    let mut run = Run::new(scenario);
    run.world.keep_events(0..u64::MAX);
    let report = run.judge();
    let clients = run.clients.iter().map(|seat| (seat.kind, seat.number)).collect();
    let cast = Cast { roles: run.role_names, clients, files: run.world.file_names() };
    (report, run.world.kept_events(), cast)
}

/// Runs a plan in which the broker goes down just before chosen effects on the disk: the first is counted from the beginning on, each other one from
/// the start after the one before. Also says how many effects the first restart had.
pub(crate) fn run_to_points(options: WorldOptions, plan: Plan, points: &[(u64, Crash)]) -> (RunReport, u64) {
    let mut run = Run::with_plan(Scenario::from(options), plan);
    run.points = Some(points.to_vec());
    let report = run.judge();
    (report, run.restart_effects.unwrap_or(0))
}

struct Run {
    seed: u64,
    world: World,
    plan: Plan,
    broker: Option<BrokerMachine>,
    clients: Vec<Seat>,
    history: History,
    scheduler: Scheduler,
    is_calm: bool,
    /// No fault that ends a connection exists in this run.
    has_sound_network: bool,
    /// No fault of the disk exists in this run.
    has_sound_disk: bool,
    /// No fault of any kind exists in this run, but for what a power cut leaves.
    has_no_fault: bool,
    /// The broker has started since faults are over.
    is_fresh: bool,
    /// When the present phase began.
    phase_began: Instant,
    /// How the broker goes down in the middle of a step, if that is planned.
    armed: Option<Crash>,
    /// Times that the broker went down, as far as the run has noticed.
    deaths: u32,
    /// Faults that had fired when the broker began to start.
    faults_before: usize,
    /// Entries of the disk's ledger that the history knows.
    destroyed: usize,
    /// Before which effects the broker goes down, if that was chosen beforehand; then it does so nowhere else in a start.
    points: Option<Vec<(u64, Crash)>>,
    /// Effects of the first start that followed a death.
    restart_effects: Option<u64>,
    boot: u32,
    upkeep_turns: u32,
    upkeep_steps: u64,
    clocks: ClockFaults,
    /// The broker stops in order.
    is_draining: bool,
    /// What the broker's roles are called, by number.
    role_names: Vec<String>,
    /// Nothing more can be learnt: the broker panicked, does not start, or waits for ever.
    is_over: bool,
}

/// A client and its sleep.
struct Seat {
    client: Box<dyn Client>,
    kind: &'static str,
    number: u32,
    is_awake: bool,
    deadline: Option<Instant>,
}

impl Run {
    fn new(scenario: Scenario) -> Run {
        let plan = Plan::new(&scenario);
        Run::with_plan(scenario, plan)
    }

    fn with_plan(scenario: Scenario, plan: Plan) -> Run {
        let seed = scenario.seed();
        let is_in_turn = scenario.reduction.has(Simple::InTurn);
        let options = scenario.world;
        let is_absent = |site: &Site| !options.may_fire(*site);
        let has_sound_network = options.has_sound_network();
        let has_sound_disk = Site::ALL.iter().filter(|site| is_disk_fault(**site)).all(is_absent);
        let has_no_fault = Site::ALL.iter().filter(|site| matches!(site.kind(), SiteKind::Fault(_))).all(is_absent);
        let mut run = Run {
            seed,
            world: World::new(options),
            broker: None,
            clients: Vec::new(),
            history: History::default(),
            scheduler: if is_in_turn { Scheduler::in_turn(seed) } else { Scheduler::new(seed) },
            is_calm: false,
            has_sound_network,
            has_sound_disk,
            has_no_fault,
            is_fresh: false,
            phase_began: Instant(0),
            armed: None,
            deaths: 0,
            faults_before: 0,
            boot: 0,
            upkeep_turns: 0,
            upkeep_steps: 0,
            clocks: ClockFaults::default(),
            is_draining: false,
            is_over: false,
            role_names: Vec::new(),
            destroyed: 0,
            points: None,
            restart_effects: None,
            plan,
        };
        run.world.set_fragile(is_fragile);
        if let Some(descriptors) = run.plan.descriptors_max {
            run.world.set_descriptors_max(descriptors);
        }
        for profile in run.plan.producers.clone() {
            run.seat("producer", profile.client, Box::new(Producer::new(profile, TOPIC)));
        }
        for profile in run.plan.consumers.clone() {
            run.seat("consumer", profile.client, Box::new(Consumer::new(profile, TOPIC)));
        }
        for profile in run.plan.members.clone() {
            run.seat("member", profile.client, Box::new(GroupMember::new(profile, TOPIC)));
        }
        if let Some(profile) = run.plan.admin {
            run.seat("admin", profile.client, Box::new(Admin::new(profile)));
        }
        if run.plan.garbage > 0 {
            run.seat("garbage", GARBAGE, Box::new(Garbage::new(GARBAGE, run.plan.garbage, run.plan.has_little_memory)));
        }
        run
    }

    fn seat(&mut self, kind: &'static str, number: u32, client: Box<dyn Client>) {
        self.clients.push(Seat { client, kind, number, is_awake: true, deadline: None });
    }

    fn judge(&mut self) -> RunReport {
        let operations = self.plan.operations();
        if self.plan.has_heritage {
            heritage::leave(&self.world, TOPIC);
        }
        self.start();
        let chaos_ends = Instant(self.plan.chaos_ns);
        self.until(chaos_ends, |run| run.producers_are_done());
        let chaos_ns = self.world.now().instant.0;
        self.end_chaos();
        self.finish();
        self.go_through(self.plan.before_final_reading);
        self.history.begin_final_reading();
        if !self.plan.members.is_empty() {
            self.seat("member", last_member().client, Box::new(GroupMember::new(last_member(), TOPIC)));
        }
        if self.plan.admin.is_some() {
            self.seat("admin", last_admin().client, Box::new(Admin::new(last_admin())));
        }
        self.seat("consumer", last_consumer().client, Box::new(Consumer::new(last_consumer(), TOPIC)));
        self.finish();
        self.seat("seeker", LAST_SEEKER, Box::new(Seeker::new(LAST_SEEKER, TOPIC)));
        self.finish();
        if let Some(broker) = self.broker.take() {
            // How the broker is put away is no part of the story.
            self.world.keep_events(0..0);
            broker.crash(Crash::Process);
        }
        RunReport {
            seed: self.seed,
            events: self.world.events(),
            hash: self.world.trace_hash(),
            simulated_ns: self.world.now().instant.0,
            acknowledged: self.history.acknowledged(),
            records: self.history.final_records(),
            crashes: self.deaths,
            disk_effects: self.world.disk_effects(),
            fired: self.world.fired(),
            operations,
            chaos_ns,
            checkpoints: self.world.trace_checkpoints(),
            violations: self.violations(),
        }
    }

    fn violations(&mut self) -> Vec<Violation> {
        let history = std::mem::take(&mut self.history);
        if self.is_over { history.into_violations() } else { history.verdict() }
    }

    /// Faults end, and the machine is healed. A disk that has failed needs the broker to start again, as an operator would see to.
    fn end_chaos(&mut self) {
        let needs_restart = self.world.fired().iter().any(|fault| takes_partitions_offline(fault.site));
        self.go_through(self.plan.end_of_chaos);
        self.calm_down();
        // What struck the last start may have left a partition as it leaves one later.
        let has_struck_start =
            self.world.fired_since(self.faults_before).iter().any(|fault| takes_partitions_offline(fault.site));
        if has_struck_start || needs_restart && self.plan.end_of_chaos == Ending::Nothing {
            self.go_through(Ending::Crash(Crash::Process));
        }
        if self.broker.is_none() {
            self.start();
        }
        self.wake_all();
    }

    fn calm_down(&mut self) {
        if !self.is_calm {
            tracing::info!(at = self.world.now().instant.0, "faults are over");
            self.world.calm_down();
            self.armed = None;
            self.clocks.resume();
            self.is_calm = true;
            self.clients.iter_mut().for_each(|seat| seat.client.calm_begins());
            self.phase_began = self.world.now().instant;
            self.wake_all();
        }
    }

    /// Runs the calm phase until every client is done; one that does not end is a violation.
    fn finish(&mut self) {
        if self.is_over {
            return;
        }
        self.phase_began = self.world.now().instant;
        let limit = Instant(self.phase_began.0 + CALM_NS_MAX);
        let is_done = |run: &Run| run.clients.iter().all(|seat| seat.client.is_done());
        if !self.until(limit, is_done) && !self.is_over {
            let is_loop = self.scheduler.steps() >= STEPS_MAX;
            self.stuck(if is_loop { "the run goes round in circles" } else { "the calm phase does not end" });
        }
    }

    fn stuck(&mut self, reason: &'static str) {
        let open = self.clients.iter().filter(|seat| !seat.client.is_done()).map(|seat| seat.client.waits_for());
        let broker = self.broker.iter().map(BrokerMachine::waits_for);
        let waiting = open.chain(broker).collect::<Vec<_>>().join("; ");
        self.history.violate(Violation::Stuck { reason, waiting });
        self.is_over = true;
    }

    /// Steps whoever may be stepped until `is_done` or the time is up; says whether it was done.
    fn until(&mut self, limit: Instant, is_done: impl Fn(&Run) -> bool) -> bool {
        let mut parties = Vec::new();
        while !self.is_over {
            if self.history.has_violation() {
                // What follows a broken promise says nothing about another one.
                self.is_over = true;
                return false;
            }
            if is_done(self) {
                return true;
            }
            if self.world.now().instant >= limit || self.scheduler.steps() >= STEPS_MAX {
                return false;
            }
            self.crash_if_due();
            self.hear_news();
            self.runnable(&mut parties);
            if parties.is_empty() {
                self.sleep(limit);
                continue;
            }
            let party = self.scheduler.pick(&self.world, &parties);
            self.world.note(TraceKind::Step, party.number(), 0);
            match party {
                Party::Role(number) => self.step_role(number),
                Party::Client(index) => self.step_client(index),
            }
            // A step takes time, so that deadlines pass in the middle of work.
            self.world.spend(Site::StepCost, party.number(), STEP_NS);
        }
        false
    }

    /// Nobody can go on before something comes to its time: time jumps there, unless it is plain that somebody waits in vain.
    fn sleep(&mut self, limit: Instant) {
        let now = self.world.now().instant;
        let broker = self.broker.as_ref();
        let clients = self.clients.iter().filter_map(|seat| seat.deadline).min();
        let crash = self.plan.crashes.first().map(|crash| crash.at).filter(|_| !self.is_calm);
        let outside = [self.world.next_due(), clients, crash].into_iter().flatten().min();
        let work = [outside, broker.and_then(BrokerMachine::next_work_due)].into_iter().flatten().min();
        let next = [outside, broker.and_then(BrokerMachine::next_due)].into_iter().flatten().min();
        if self.is_calm && !self.is_draining {
            let soon = Instant(now.0.saturating_add(ANSWER_NS_MAX));
            if work.is_some_and(|work| work <= soon) {
                self.upkeep_turns = 0;
            } else {
                let only_upkeep = self.scheduler.steps().saturating_sub(self.upkeep_steps) <= UPKEEP_STEPS_MAX;
                self.upkeep_turns = if only_upkeep { self.upkeep_turns + 1 } else { 0 };
                self.upkeep_steps = self.scheduler.steps();
            }
            if next.is_none() || self.upkeep_turns > UPKEEP_TURNS_MAX {
                return self.stuck("all sleep, nothing is on its way, and a client is not served");
            }
            let oldest = self.clients.iter().filter_map(|seat| seat.client.waits_since()).min();
            let answered_by = oldest.map(|since| since.max(self.phase_began).0.saturating_add(ANSWER_NS_MAX));
            if answered_by.is_some_and(|by| now.0 > by) {
                return self.stuck("a request is not answered in time");
            }
        }
        self.clocks.strike(&self.world);
        let next = match self.clocks.paused_until(now) {
            Some(until) => outside.into_iter().chain([until]).min(),
            None => next.map(|next| self.clocks.fires_at(&self.world, next)),
        };
        self.world.advance_to(next.map_or(limit, |next| next.min(limit)));
    }

    fn runnable(&self, parties: &mut Vec<Party>) {
        parties.clear();
        let now = self.world.now().instant;
        if self.clocks.paused_until(now).is_none() {
            parties.extend(self.broker.iter().flat_map(|broker| broker.runnable().map(Party::Role)));
        }
        for (index, seat) in self.clients.iter().enumerate() {
            if seat.is_awake || seat.deadline.is_some_and(|deadline| deadline <= now) {
                parties.push(Party::Client(index));
            }
        }
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

    fn step_role(&mut self, number: usize) {
        let Some(broker) = &mut self.broker else { return };
        let stepped = broker.step(number);
        if self.has_died() {
            if stepped.is_err() {
                // A panic on the way down is nobody's concern, but its locks are poisoned.
                std::mem::forget(self.broker.take());
            }
            self.broker = None;
            return self.start();
        }
        if let Err(message) = stepped {
            return self.panicked(message);
        }
        if self.broker.as_ref().is_some_and(BrokerMachine::must_stop) {
            let power = self.world.value(Site::StopStyle, 0).happens(500_000);
            self.restart(if power { Crash::Power } else { Crash::Process });
        }
    }

    fn panicked(&mut self, message: String) {
        self.history.violate(Violation::Panicked { message });
        // Its locks are poisoned: dropping it would panic again.
        std::mem::forget(self.broker.take());
        self.is_over = true;
    }

    fn step_client(&mut self, index: usize) {
        // Without a broker nobody listens; clients learn it like anyone else, when the next one has started.
        let Some(broker) = self.broker.as_ref().map(BrokerMachine::address) else { return };
        let Some(seat) = self.clients.get_mut(index) else { return };
        let (is_calm, is_draining, boot) = (self.is_calm, self.is_draining, self.boot);
        let is_network_sound = (is_calm || self.has_sound_network) && !self.plan.layout.closes_idle;
        let history = &mut self.history;
        let is_disk_sound = self.has_sound_disk || self.is_fresh;
        let world = &self.world;
        let mut context =
            ClientContext { world, broker, history, is_calm, is_draining, boot, is_network_sound, is_disk_sound };
        seat.is_awake = false;
        seat.deadline = seat.client.step(&mut context);
    }

    fn crash_if_due(&mut self) {
        let now = self.world.now().instant;
        if !self.is_calm && self.plan.crashes.first().is_some_and(|crash| crash.at <= now) {
            let planned = self.plan.crashes.remove(0);
            if planned.is_before_effect {
                let effects = self.world.value(Site::CrashEffect, 0).between(1, EFFECTS_MAX);
                self.arm(planned.crash, effects);
            } else {
                self.restart(planned.crash);
            }
        }
    }

    /// Lets the broker go down just before one of its next effects on the disk, in the middle of whatever has it.
    fn arm(&mut self, crash: Crash, effects: u64) {
        self.world.crash_before_effect(self.world.disk_effects() + effects, crash);
        self.armed = Some(crash);
    }

    /// Whether the broker has gone down in the middle of what it did, which is noted.
    fn has_died(&mut self) -> bool {
        if self.world.crashes() == self.deaths {
            return false;
        }
        let crash = self.armed.take().unwrap_or(Crash::Process);
        tracing::info!(at = self.world.now().instant.0, ?crash, "the broker went down in the middle of a step");
        self.note_death(crash);
        true
    }

    fn note_death(&mut self, crash: Crash) {
        self.deaths = self.world.crashes();
        // What a failed sync should have written may be gone, even if only the process ends.
        let fired = self.world.fired_since(self.faults_before);
        if self.note_destroyed() || crash == Crash::Power || fired.iter().any(|fault| loses_unsynced(fault.site)) {
            self.history.unsynced_lost();
        }
    }

    /// Takes the disk's ledger into the history. Says whether synced bytes were ever destroyed: then records are lost like unsynced ones.
    fn note_destroyed(&mut self) -> bool {
        let destroyed = self.world.destroyed_since(self.destroyed);
        self.destroyed += destroyed.len();
        self.history.destroyed().take(TOPIC, &destroyed);
        self.destroyed > 0
    }

    fn go_through(&mut self, ending: Ending) {
        if self.is_over {
            return;
        }
        match ending {
            Ending::Nothing => {}
            Ending::Crash(crash) => self.restart(crash),
            Ending::Orderly => self.stop_in_order(),
        }
    }

    /// What is in work is answered, everything is synced, and then the power is cut.
    fn stop_in_order(&mut self) {
        let boot = self.boot;
        if let Some(Err(message)) = self.broker.as_mut().map(BrokerMachine::begin_drain) {
            return self.panicked(message);
        }
        let drain_ns_max = if self.has_no_fault { SOUND_DRAIN_NS_MAX } else { DRAIN_NS_MAX };
        let limit = Instant(self.world.now().instant.0 + drain_ns_max);
        let is_drained = |run: &Run| run.boot != boot || run.broker.as_ref().is_none_or(BrokerMachine::is_drained);
        self.is_draining = true;
        let is_drained = self.until(limit, is_drained);
        self.is_draining = false;
        if self.is_over || self.boot != boot {
            // It went down before it came to its end.
            return;
        }
        if !is_drained && self.has_sound_network && self.has_sound_disk {
            let waiting = self.broker.iter().map(BrokerMachine::waits_for).collect();
            self.history.violate(Violation::StopsInTheMiddle { waiting });
        }
        let stopped = self.broker.as_ref().map(|broker| unless_panicked(|| broker.shut_down()));
        if self.has_died() {
            self.broker = None;
            return self.start();
        }
        match stopped {
            Some(Err(message)) => return self.panicked(message),
            Some(Ok(Err(reason))) => {
                if self.is_calm {
                    self.history.violate(Violation::DoesNotStop { reason });
                }
                self.go_down(Crash::Power);
            }
            Some(Ok(Ok(()))) | None => {
                // What was synced in order survives the power cut that follows, also what no sync was asked for.
                self.world.crash(Crash::Power);
                self.broker = None;
                self.deaths = self.world.crashes();
                self.armed = None;
                if self.note_destroyed() {
                    self.history.unsynced_lost();
                }
            }
        }
        self.start();
    }

    fn restart(&mut self, crash: Crash) {
        self.go_down(crash);
        self.start();
    }

    fn go_down(&mut self, crash: Crash) {
        tracing::info!(at = self.world.now().instant.0, ?crash, "the broker goes down");
        match self.broker.take() {
            Some(broker) => broker.crash(crash),
            None => self.world.crash(crash),
        }
        self.armed = None;
        self.note_death(crash);
    }

    /// Starts the broker. A start that a fault has spoilt, or in the middle of which it went down, is tried again.
    fn start(&mut self) {
        for attempt in 0.. {
            if self.is_over {
                return;
            }
            self.boot += 1;
            self.faults_before = self.world.fired_count();
            self.arm_start(attempt);
            let effects_before = self.world.disk_effects();
            let started = unless_panicked(|| BrokerMachine::start(&self.world, &self.plan.layout));
            if self.has_died() {
                drop(started);
                self.wait_to_start();
                continue;
            }
            match started {
                Ok(Ok(broker)) => {
                    tracing::info!(at = self.world.now().instant.0, boot = self.boot, "the broker is up");
                    if self.deaths > 0 {
                        self.restart_effects.get_or_insert(self.world.disk_effects() - effects_before);
                    }
                    self.role_names = broker.names();
                    self.broker = Some(broker);
                    break;
                }
                Ok(Err(error)) if !self.is_start_excused() => {
                    self.history.violate(Violation::DoesNotStart { reason: error.to_string() });
                    self.is_over = true;
                }
                Ok(Err(error)) => {
                    tracing::info!(at = self.world.now().instant.0, %error, "a fault has spoilt the start");
                    self.fail_start(attempt);
                }
                Err(message) => self.panicked(message),
            }
        }
        self.is_fresh = self.is_calm;
        if self.is_calm {
            self.world.let_live();
            self.armed = None;
        }
        self.wake_all();
    }

    /// Whether a start may fail: a fault struck in it, or nothing can be written, or a sector is bad, which the operator replaces.
    fn is_start_excused(&self) -> bool {
        let has_fired = self.world.fired_count() > self.faults_before;
        self.world.replace_bad_sectors() || self.world.is_disk_closed() || has_fired
    }

    /// Some starts come to an early end, also those that mend what an earlier end has left.
    fn arm_start(&mut self, attempt: u32) {
        if let Some(points) = &mut self.points {
            if !points.is_empty() {
                let (effects, crash) = points.remove(0);
                self.arm(crash, effects);
            }
            return;
        }
        let draw = self.world.value(Site::StartCrash, 0);
        if self.armed.is_none() && attempt < FAILED_STARTS_MAX && draw.happens(150_000) {
            let crash = if draw.part(0).happens(600_000) { Crash::Power } else { Crash::Process };
            self.arm(crash, draw.part(1).between(1, EFFECTS_MAX));
        }
    }

    fn fail_start(&mut self, attempt: u32) {
        if attempt >= FAILED_STARTS_MAX {
            self.calm_down();
        }
        let power = self.world.value(Site::StopStyle, 1).happens(500_000);
        self.go_down(if power { Crash::Power } else { Crash::Process });
        self.wait_to_start();
    }

    fn wait_to_start(&mut self) {
        let delay = self.world.value(Site::RestartDelay, 0).between(1_000, 20_000_000);
        self.world.advance_to(Instant(self.world.now().instant.0 + delay));
    }

    fn wake_all(&mut self) {
        self.clients.iter_mut().for_each(|seat| seat.is_awake = true);
    }

    fn producers_are_done(&self) -> bool {
        self.clients.iter().filter(|seat| seat.number < 100).all(|seat| seat.client.is_done())
    }
}

/// Faults of the disk that the broker must tell somebody.
fn is_disk_fault(site: Site) -> bool {
    let is_of_disk = (Site::AppendFails.number()..Site::WallJump.number()).contains(&site.number());
    let is_shortage = matches!(site, Site::DescriptorsExhausted | Site::DescriptorLimit);
    let is_only_slow = matches!(site, Site::SyncStalls | Site::SyncThrottled | Site::DiskSlow | Site::FileShortRead);
    is_of_disk && matches!(site.kind(), SiteKind::Fault(_)) && !is_only_slow && site != Site::SpaceReturns
        || is_shortage
}

/// Failed syncs after which what was not synced may be gone, even if only the process ends.
fn loses_unsynced(site: Site) -> bool {
    use Site::{ReadOnlyRemount, SyncErrorElsewhere, SyncFails, SyncFull, SyncLosesPages};
    matches!(site, SyncFails | SyncLosesPages | SyncFull | SyncErrorElsewhere | ReadOnlyRemount)
}

/// Whether this fault may have left a partition that only a new start brings back.
fn takes_partitions_offline(site: Site) -> bool {
    is_disk_fault(site) && site != Site::AppendFull
}

/// Which files lie on the part of the disk that may lose what was synced: those of the topic that carry a checksum, or can be made again from
/// those that do. What Kafka writes without a checksum (checkpoints, identities) and the broker's own logs lie on a mirror.
fn is_fragile(path: &Path) -> bool {
    let mut names = path.strip_prefix("/data").into_iter().flatten().filter_map(|name| name.to_str());
    let is_of_topic = names.next().is_some_and(|folder| folder.starts_with(TOPIC));
    let is_checked = |name: &str| [".log", ".index", ".timeindex", ".snapshot"].iter().any(|end| name.ends_with(end));
    is_of_topic && names.next().is_none_or(is_checked)
}
