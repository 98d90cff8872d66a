//! One seed from start to verdict: makes the world, the broker and its clients, lets the scheduler choose who steps, breaks things,
//! then heals everything and asks whether every promise was kept.
//!
//! It must not know what a role or a client does in its step.

mod faults_so_far; // what has struck, as far as it excuses anything
mod lives; // the broker comes and goes
mod stepping; // who can go on

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use klamm::marks::Mark;
use klamm::protocol::ApiKey;
use klamm::types::Instant;

use self::faults_so_far::{FaultsSoFar, is_disk_fault, is_fragile, takes_partitions_offline};
use crate::broker_machine::BrokerMachine;
use crate::checker::{History, Violation};
use crate::client::{
    Act, Admin, Ager, Chronicler, Client, Consumer, Contrarian, Crowd, Deleter, EpochTeller, Examiner, Garbage,
    GroupMember, Hoarder, Operator, Player, Producer, Renewer, Scene, Seeker, SessionKeeper, SlowReader, Tuner,
    Vanisher, Watcher, from_word,
};
use crate::clock_faults::ClockFaults;
use crate::disk_volumes::Filled;
use crate::heritage;
use crate::keyed::{Fired, Site};
use crate::plan::{
    AGER, CHRONICLER, Ending, LAST_AGER, LAST_PLAYER, LAST_SEEKER, PLAYER, Plan, WATCHER, last_admin, last_consumer,
    last_member, last_silent,
};
use crate::reduction::Simple;
use crate::scenario::Scenario;
use crate::scheduler::{Party, Scheduler};
use crate::sightings::{Sighting, Sightings};
use crate::story::Cast;
use crate::trace::{TraceEvent, TraceKind};
use crate::world::{Crash, World, WorldOptions};

pub(crate) const TOPIC: &str = "events";
const SECOND: u64 = 1_000_000_000;
/// No topic has more partitions.
const PARTITIONS_MAX: i32 = 3;
/// How long somebody looks whether a directory that was removed is offline.
const WATCH_NS_MAX: u64 = 4 * SECOND;
/// In the calm phase every request is answered within so much simulated time. What was slow on its way may still take its time.
const ANSWER_NS_MAX: u64 = 45 * SECOND;
/// The calm phase must end within so much simulated time.
const CALM_NS_MAX: u64 = 300 * SECOND;
/// Of clients that have left the broker holds nothing after so much simulated time.
const LEAVING_NS_MAX: u64 = 60 * SECOND;
/// What a step costs, at least and at most.
const STEP_NS: (u64, u64) = (200, 20_000);
/// A run that takes more steps than this is stuck in a loop.
const STEPS_MAX: u64 = 300_000;

/// What a run came to.
#[derive(Debug)]
pub struct RunReport {
    /// Its seed.
    pub seed: u64,
    /// Steps taken.
    pub steps: u64,
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
    /// Effects that the broker had on the disk while faults were about.
    pub disk_effects: u64,
    /// The faults that fired, in order.
    pub fired: Vec<Fired>,
    /// The marks that were reached, in order: none in a build that notes none.
    pub marks: Vec<Sighting>,
    /// The APIs that clients have used, and the versions of each.
    pub spoken: Vec<(ApiKey, i16)>,
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

/// Runs a scenario, but gives up after so many steps: nothing is known then of what it would have come to.
pub fn run_within(scenario: impl Into<Scenario>, steps_max: u64) -> RunReport {
    let mut run = Run::new(scenario.into());
    run.patience = steps_max;
    run.judge()
}

/// Runs a scenario, and returns its events of these numbers too.
pub fn run_with_events(scenario: impl Into<Scenario>, wanted: Range<u64>) -> (RunReport, Vec<TraceEvent>) {
    let mut run = Run::new(scenario.into());
    run.world.keep_events(wanted);
    (run.judge(), run.world.kept_events())
}

/// Runs a scenario, and returns the marks of every step too, in order.
pub fn run_with_marks(scenario: impl Into<Scenario>) -> (RunReport, Vec<(Mark, Instant)>) {
    let mut run = Run::new(scenario.into());
    run.sightings.keep_all();
    (run.judge(), run.sightings.take_all())
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
    /// Where the plans of later turns come from.
    scenario: Scenario,
    /// How many turns are behind.
    turns: usize,
    /// What was planned for each client so far.
    operations: BTreeMap<u32, u32>,
    broker: Option<BrokerMachine>,
    clients: Vec<Seat>,
    history: History,
    scheduler: Scheduler,
    is_calm: bool,
    faults: FaultsSoFar,
    /// The broker has been up once.
    is_established: bool,
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
    /// The next start that succeeds may find logs that were shut down in order.
    was_stopped_in_order: bool,
    /// Before which effects the broker goes down, if that was chosen beforehand; then it does so nowhere else in a start.
    points: Option<Vec<(u64, Crash)>>,
    /// Effects of the first start that followed a death.
    restart_effects: Option<u64>,
    /// Effects until faults were over.
    chaos_effects: Option<u64>,
    boot: u32,
    upkeep_turns: u32,
    upkeep_steps: u64,
    /// After so many steps nobody wants to know what comes of it.
    patience: u64,
    clocks: ClockFaults,
    /// The broker stops in order.
    is_draining: bool,
    /// What the broker's roles are called, by number.
    role_names: Vec<String>,
    sightings: Sightings,
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
        let mut run = Run {
            seed,
            world: World::new(scenario.world.clone()),
            operations: plan.operations(),
            history: History::judged_by(scenario.oracle),
            faults: FaultsSoFar::judged_by(scenario.oracle),
            scenario,
            turns: 0,
            broker: None,
            clients: Vec::new(),
            scheduler: if is_in_turn { Scheduler::in_turn(seed) } else { Scheduler::new(seed) },
            is_calm: false,
            is_established: false,
            is_fresh: false,
            phase_began: Instant(0),
            armed: None,
            deaths: 0,
            faults_before: 0,
            boot: 0,
            upkeep_turns: 0,
            upkeep_steps: 0,
            patience: u64::MAX,
            clocks: ClockFaults::default(),
            is_draining: false,
            is_over: false,
            role_names: Vec::new(),
            sightings: Sightings::begin(),
            destroyed: 0,
            was_stopped_in_order: false,
            chaos_effects: None,
            points: None,
            restart_effects: None,
            plan,
        };
        run.world.set_fragile(is_fragile);
        let directories = &run.plan.layout.directories;
        run.world.set_log_directories(&directories.paths, directories.are_disks);
        if let Some(descriptors) = run.plan.descriptors_max {
            run.world.set_descriptors_max(descriptors);
        }
        run.seat_clients();
        run
    }

    fn seat_clients(&mut self) {
        let plan = self.plan.clone();
        self.seat_workers(&plan);
        if let Some(profile) = plan.examiner {
            self.seat("examiner", profile.client, Box::new(Examiner::new(profile)));
        }
        if let Some(profile) = plan.deleter {
            self.seat("deleter", profile.client, Box::new(Deleter::new(profile, TOPIC)));
        }
        if let Some(profile) = plan.tuner {
            self.seat("tuner", profile.client, Box::new(Tuner::new(profile, TOPIC)));
        }
        if let Some(profile) = plan.renewer {
            self.seat("renewer", profile.client, Box::new(Renewer::new(profile)));
        }
        if let Some(profile) = plan.operator {
            self.seat("operator", profile.client, Box::new(Operator::new(profile, TOPIC)));
        }
        if let Some(profile) = plan.crowd {
            self.seat("crowd", profile.client, Box::new(Crowd::new(profile)));
        }
        if let Some(profile) = plan.session_keeper {
            self.seat("session keeper", profile.client, Box::new(SessionKeeper::new(profile, TOPIC)));
        }
        if let Some(profile) = plan.epoch_teller {
            self.seat("epoch teller", profile.client, Box::new(EpochTeller::new(profile, TOPIC)));
        }
        if let Some(profile) = plan.contrarian {
            self.seat("contrarian", profile.client, Box::new(Contrarian::new(profile)));
        }
        if let Some(profile) = plan.hoarder {
            self.seat("hoarder", profile.client, Box::new(Hoarder::new(profile)));
        }
        self.seat_rude(&plan);
    }

    /// Those who are a nuisance to the broker.
    fn seat_rude(&mut self, plan: &Plan) {
        if let Some(profile) = plan.slow_reader {
            self.seat("slow reader", profile.client, Box::new(SlowReader::new(profile, TOPIC)));
        }
        if let Some(profile) = plan.vanisher {
            self.seat("vanisher", profile.client, Box::new(Vanisher::new(profile)));
        }
        if let Some(profile) = plan.garbage {
            let garbage = Garbage::new(profile.client, profile.attempts, plan.has_little_memory);
            self.seat("garbage", profile.client, Box::new(garbage));
        }
    }

    /// Those who work, in whatever number.
    fn seat_workers(&mut self, plan: &Plan) {
        for profile in &plan.producers {
            self.seat("producer", profile.client, Box::new(Producer::new(*profile, TOPIC)));
        }
        for profile in &plan.consumers {
            self.seat("consumer", profile.client, Box::new(Consumer::new(*profile, TOPIC)));
        }
        for profile in &plan.members {
            self.seat("member", profile.client, Box::new(GroupMember::new(*profile, TOPIC)));
        }
        if let Some(profile) = plan.admin {
            self.seat("admin", profile.client, Box::new(Admin::new(profile)));
        }
    }

    fn seat(&mut self, kind: &'static str, number: u32, client: Box<dyn Client>) {
        self.clients.push(Seat { client, kind, number, is_awake: true, deadline: None });
    }

    fn judge(&mut self) -> RunReport {
        if let Some(heritage) = self.plan.heritage {
            let left = heritage::leave(&self.world, TOPIC, heritage);
            // Also where the disk has refused a part of it: the rest may be there.
            self.history.left_hollow(heritage.hollow());
            left.into_iter().for_each(|(offset, value)| self.history.left(value, offset));
        }
        self.start();
        self.go_through_chaos();
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
        self.seat("chronicler", CHRONICLER, Box::new(Chronicler::new(CHRONICLER, TOPIC)));
        self.finish();
        self.play_scene();
        self.let_offsets_age();
        self.seat_silent();
        self.finish();
        self.see_all_off();
        self.see_deleted_off();
        if let Some(broker) = self.broker.take() {
            // How the broker is put away is no part of the story.
            self.world.keep_events(0..0);
            broker.crash(Crash::Process);
        }
        self.sightings.step_ends(|| self.world.now().instant);
        RunReport {
            seed: self.seed,
            steps: self.scheduler.steps(),
            events: self.world.events(),
            hash: self.world.trace_hash(),
            simulated_ns: self.world.now().instant.0,
            acknowledged: self.history.acknowledged(),
            records: self.history.final_records(),
            crashes: self.deaths,
            disk_effects: self.chaos_effects.unwrap_or(0),
            fired: self.world.fired(),
            marks: self.sightings.take(),
            spoken: self.world.words().into_iter().filter_map(from_word).collect(),
            operations: std::mem::take(&mut self.operations),
            chaos_ns,
            checkpoints: self.world.trace_checkpoints(),
            violations: self.violations(),
        }
    }

    /// Faults are about until all is written, or their time is up. Each turn brings more of both.
    fn go_through_chaos(&mut self) {
        loop {
            let turn = self.scenario.world.overrides.turns.get(self.turns).map(|turn| turn.after_ns.saturating_add(1));
            let ends = Instant(turn.unwrap_or(self.plan.chaos_ns));
            self.until(ends, |run| turn.is_none() && run.producers_are_done());
            if turn.is_none() || self.is_over || self.is_calm {
                return;
            }
            self.turn();
        }
    }

    /// Takes up what the seed of a turn has planned.
    fn turn(&mut self) {
        let Some(turn) = self.scenario.world.overrides.turns.get(self.turns).copied() else { return };
        self.turns += 1;
        let number = u32::try_from(self.turns).unwrap_or(u32::MAX);
        let mut added = self.plan.of_turn(&self.scenario, number, turn.seed, self.world.now().instant);
        let may_have_groups = !self.plan.ages_offsets && !self.plan.scene.is_some_and(Scene::wants_no_groups);
        added.members.retain(|_| may_have_groups);
        tracing::info!(at = self.world.now().instant.0, seed = turn.seed, "another seed goes on");
        self.operations.extend(added.operations());
        self.seat_workers(&added);
        self.seat_rude(&added);
        self.plan.take_up(added);
    }

    fn violations(&mut self) -> Vec<Violation> {
        let history = std::mem::take(&mut self.history);
        if self.is_over { history.into_violations() } else { history.verdict() }
    }

    /// Faults end, and the machine is healed. A disk that has failed needs the broker to start again, as an operator would see to.
    fn end_chaos(&mut self) {
        self.look_for_removed();
        self.go_through(self.plan.end_of_chaos);
        let may_lack_directory = self.may_lack_directory();
        self.calm_down();
        if self.has_several_directories() {
            self.world.replace_bad_sectors();
        }
        // What struck the last start may have left a partition as it leaves one later.
        let is_felt = |fault: &Fired| takes_partitions_offline(fault.site);
        if may_lack_directory || self.world.fired_since(self.faults_before).iter().any(is_felt) {
            self.go_through(Ending::Crash(Crash::Process));
        }
        if self.broker.is_none() {
            self.start();
        }
        self.wake_all();
    }

    fn has_several_directories(&self) -> bool {
        self.plan.layout.directories.paths.len() > 1
    }

    /// Whether the broker may do without a directory. A start goes on without one of several, be it for what struck long before: a bad sector, or a disk that
    /// was full.
    fn may_lack_directory(&self) -> bool {
        self.has_several_directories() && self.world.fired().iter().any(|fault| is_disk_fault(fault.site))
    }

    /// A log directory that somebody has removed under the broker is offline within a second or so.
    fn look_for_removed(&mut self) {
        let began = self.world.now().instant;
        if self.is_over || self.is_calm || !self.has_removed_directory() {
            return;
        }
        self.seat("watcher", WATCHER, Box::new(Watcher::new(WATCHER, TOPIC)));
        let is_done = |run: &Run| {
            let watches = |seat: &Seat| seat.number == WATCHER && !seat.client.is_done();
            run.is_calm || !run.has_removed_directory() || !run.clients.iter().any(watches)
        };
        self.until(Instant(began.0.saturating_add(WATCH_NS_MAX)), is_done);
        self.clients.retain(|seat| seat.number != WATCHER);
    }

    fn has_removed_directory(&self) -> bool {
        let is_unseen = |partition| {
            let name = format!("{TOPIC}-{partition}");
            self.world.unseen_since(Filled { name: &name, kind: ".log" }).is_some()
        };
        (0..PARTITIONS_MAX).any(is_unseen)
    }

    fn calm_down(&mut self) {
        if !self.is_calm {
            tracing::info!(at = self.world.now().instant.0, "faults are over");
            self.world.calm_down();
            self.chaos_effects.get_or_insert(self.world.disk_effects());
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

    /// What a workload of chance would not bring about is played.
    fn play_scene(&mut self) {
        let Some(scene) = self.plan.scene.filter(|_| !self.is_over) else { return };
        let played = Rc::default();
        self.seat("player", PLAYER, Box::new(Player::new(PLAYER, scene, Act::First, Rc::clone(&played))));
        self.finish();
        if scene.leaves_deleted() && played.get().is_some() {
            self.look_for_deleted();
        }
        if let Some(crash) = scene.interval().filter(|_| played.get().is_some() && !self.is_over) {
            self.go_through(Ending::Crash(crash));
            self.seat("player", LAST_PLAYER, Box::new(Player::new(LAST_PLAYER, scene, Act::Second, played)));
            self.finish();
        }
    }

    /// A topic was deleted a moment ago: where it is not said otherwise, its files wait for a minute before they go.
    fn look_for_deleted(&mut self) {
        let is_delayed = self.plan.layout.config.get("log.segment.delete.delay.ms").is_none();
        if is_delayed && !self.is_over && self.is_disk_sound() && self.world.marked_as_deleted().is_none() {
            self.history.violate(Violation::DeletedGone);
        }
    }

    /// Offsets are committed, the broker may go down, and they grow old all the same.
    fn let_offsets_age(&mut self) {
        if self.plan.ages_offsets && !self.is_over {
            self.seat("ager", AGER, Box::new(Ager::committing(AGER, TOPIC)));
            self.finish();
            self.go_through(self.plan.before_final_reading);
            self.seat("ager", LAST_AGER, Box::new(Ager::looking(LAST_AGER, TOPIC)));
            self.finish();
        }
    }

    /// Where idle connections are closed, some clients leave without a word: in runs that had such clients before.
    fn seat_silent(&mut self) {
        let (vanisher, slow_reader) = last_silent();
        if self.plan.layout.closes_idle && self.plan.vanisher.is_some() {
            self.seat("vanisher", vanisher.client, Box::new(Vanisher::new(vanisher)));
        }
        if self.plan.layout.closes_idle && self.plan.slow_reader.is_some() {
            self.seat("slow reader", slow_reader.client, Box::new(SlowReader::new(slow_reader, TOPIC)));
        }
    }

    /// All clients have left: the broker soon holds nothing of theirs any more. Of one that fell silent it learns only where idle ones are closed.
    fn see_all_off(&mut self) {
        let limit = Instant(self.world.now().instant.0 + LEAVING_NS_MAX);
        let with_silent = self.plan.layout.closes_idle;
        let are_gone = |run: &Run| run.world.connection_kept(with_silent).is_none();
        if !self.until(limit, are_gone) && !self.is_over {
            let connection = self.world.connection_kept(with_silent).unwrap_or_default();
            self.history.violate(Violation::ConnectionKept { connection });
        }
        if !self.until(limit, Run::holds_nothing_for_nobody) && !self.is_over {
            let held = self.broker.as_ref().map(|broker| format!("{:?}", broker.holdings())).unwrap_or_default();
            self.history.violate(Violation::HeldForNobody { held, open: self.world.open_connections() });
        }
    }

    /// Where the log keeper works early, what was deleted is gone by now or soon.
    fn see_deleted_off(&mut self) {
        let is_due = self.plan.layout.config.get("log.segment.delete.delay.ms").is_some();
        let limit = Instant(self.world.now().instant.0 + LEAVING_NS_MAX);
        let is_gone = |run: &Run| run.world.marked_as_deleted().is_none();
        if is_due && (self.is_fresh || self.is_disk_sound()) && !self.until(limit, is_gone) && !self.is_over {
            let name = self.world.marked_as_deleted().unwrap_or_default();
            self.history.violate(Violation::DeletedKept { name });
        }
    }

    /// The broker counts the connections that there are. If there is none, it holds no memory for requests, and none of them waits.
    fn holds_nothing_for_nobody(run: &Run) -> bool {
        let open = run.world.open_connections();
        run.broker.as_ref().map(BrokerMachine::holdings).is_none_or(|held| {
            u64::from(held.connections) == open && (open > 0 || held.request_bytes == 0 && !held.has_parked)
        })
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
            if self.scheduler.steps() >= self.patience {
                self.is_over = true;
                return false;
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
                Party::Client { seat, .. } => self.step_client(seat),
            }
            self.sightings.step_ends(|| self.world.now().instant);
            // A step takes time, so that deadlines pass in the middle of work.
            self.world.spend(Site::StepCost, party.number(), STEP_NS);
        }
        false
    }

    fn producers_are_done(&self) -> bool {
        self.clients.iter().filter(|seat| seat.kind == "producer").all(|seat| seat.client.is_done())
    }
}
