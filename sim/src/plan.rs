//! What a seed decides about a run before it begins: how the broker is laid out, who its clients are, and when it goes down.
//!
//! It must not know how any of that is carried out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use klamm::record::CompressionType;
use klamm::types::Instant;

use crate::broker_machine::{Layout, LogDirectories};
use crate::checker::Acks;
use crate::client::{
    AdminProfile, ConsumerProfile, ContrarianProfile, CrowdProfile, DeleterProfile, EpochTellerProfile,
    ExaminerProfile, GroupMemberProfile, Habits, HoarderProfile, OperatorProfile, ProducerProfile, RenewerProfile,
    Scene, SessionKeeperProfile, SlowReaderProfile, TunerProfile, VanisherProfile,
};
use crate::heritage::Heritage;
use crate::keyed::{Draw, Site, draw_config};
use crate::reduction::{Reduction, Simple};
use crate::scenario::{Profile, Scenario};
use crate::world::Crash;

/// The first log directory, in which the metadata lie.
pub(crate) const METADATA_DIRECTORY: &str = "/data";
/// The client that sends garbage.
const GARBAGE: u32 = 150;
/// The client that knows what it must be told.
const EXAMINER: u32 = 180;
/// The client that takes its time to read.
const SLOW_READER: u32 = 185;
/// The client that falls silent.
const VANISHER: u32 = 186;
/// The client that has records deleted.
const DELETER: u32 = 187;
/// The client that changes the topic that others use.
const TUNER: u32 = 188;
/// The client that makes topics anew.
const RENEWER: u32 = 189;
/// The client that changes the configuration of the broker.
const OPERATOR: u32 = 210;
/// The client that keeps fetch sessions.
const SESSION_KEEPER: u32 = 212;
/// The client that tells which epoch it has read last.
const EPOCH_TELLER: u32 = 213;
/// The client that comes with many connections.
const CROWD: u32 = 211;
/// Where operators come in.
pub(crate) const INNER_PORT: u16 = 9_093;
/// The client that is wrong on purpose.
const CONTRARIAN: u32 = 190;
/// The client that writes more than may be kept.
const HOARDER: u32 = 191;
/// The clients that commit offsets, and see them grow old, at the end.
pub(crate) const AGER: u32 = 206;
pub(crate) const LAST_AGER: u32 = 207;
/// The client that plays a scene, at the end.
pub(crate) const PLAYER: u32 = 208;
/// The one that plays its second act.
pub(crate) const LAST_PLAYER: u32 = 214;
/// The client that looks records up by their time, at the end.
pub(crate) const LAST_SEEKER: u32 = 203;
/// The client that asks where all epochs end, at the end.
pub(crate) const CHRONICLER: u32 = 209;
/// The client that looks whether a directory that was removed is offline.
pub(crate) const WATCHER: u32 = 204;
/// What is added to the number of a client for each turn of the run before it came.
const TURN_CLIENTS: u32 = 1_000;
/// Operations of a client in a short run, at most.
const SHORT_OPERATIONS_MAX: u32 = 1;
/// In how many runs of a million every answer to one client is compared with a reference broker's, until something is wrong with the disk.
const EXAMINED_PARTS: u32 = 400_000;
/// Settings with which the log keeper has something to do within the time of faults, and a coordinator gives up waiting for its disk.
const EARLY_UPKEEP: [&str; 6] = [
    "log.initial.task.delay.ms=20",
    "log.retention.check.interval.ms=100",
    "log.flush.offset.checkpoint.interval.ms=100",
    "log.segment.delete.delay.ms=50",
    // No checker knows what a wall clock that jumps makes old.
    "log.retention.ms=-1",
    "offsets.commit.timeout.ms=20",
];
/// In how many runs of a million a client has records deleted.
const DELETED_PARTS: u32 = 200_000;
/// In how many runs of a million an operator changes the configuration of the broker.
const OPERATED_PARTS: u32 = 250_000;
/// In how many runs of a million a scene is played at the end.
const SCENE_PARTS: u32 = 800_000;
/// A second listener, for operators, which is protected against limits of all connections.
const INNER_LISTENER: [&str; 3] = [
    "listeners=PLAINTEXT://10.1.0.1:9092,INNER://10.1.0.1:9093",
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INNER:PLAINTEXT",
    "inter.broker.listener.name=INNER",
];
/// Settings with which an offset grows old within a run.
const EARLY_AGE: [&str; 2] = ["offsets.retention.minutes=1", "offsets.retention.check.interval.ms=1000"];
/// How much more a client does in a run that is a soak.
const SOAK_FACTOR: u32 = 8;

/// How the broker goes down between two phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It goes on.
    Nothing,
    /// It is killed, or the power is cut.
    Crash(Crash),
    /// It is told to stop, does so in order, and then the power is cut.
    Orderly,
}

/// A time at which the broker goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedCrash {
    pub(crate) at: Instant,
    pub(crate) ending: Ending,
    /// Not between two steps, but in the middle of a later one, just before one of its effects on the disk.
    pub(crate) is_before_effect: bool,
}

/// A client that sends garbage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GarbageProfile {
    pub(crate) client: u32,
    pub(crate) attempts: u32,
}

/// The plan.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) layout: Layout,
    pub(crate) producers: Vec<ProducerProfile>,
    pub(crate) consumers: Vec<ConsumerProfile>,
    pub(crate) members: Vec<GroupMemberProfile>,
    pub(crate) admin: Option<AdminProfile>,
    pub(crate) examiner: Option<ExaminerProfile>,
    pub(crate) deleter: Option<DeleterProfile>,
    pub(crate) tuner: Option<TunerProfile>,
    pub(crate) renewer: Option<RenewerProfile>,
    pub(crate) operator: Option<OperatorProfile>,
    pub(crate) crowd: Option<CrowdProfile>,
    pub(crate) session_keeper: Option<SessionKeeperProfile>,
    pub(crate) epoch_teller: Option<EpochTellerProfile>,
    pub(crate) contrarian: Option<ContrarianProfile>,
    pub(crate) hoarder: Option<HoarderProfile>,
    pub(crate) slow_reader: Option<SlowReaderProfile>,
    pub(crate) vanisher: Option<VanisherProfile>,
    pub(crate) garbage: Option<GarbageProfile>,
    /// The broker may hold so few bytes of requests that one large frame takes them all, and garbage is often just that.
    pub(crate) has_little_memory: bool,
    /// When the broker goes down, and how.
    pub(crate) crashes: Vec<PlannedCrash>,
    /// How long faults are about, at most.
    pub(crate) chaos_ns: u64,
    /// How the time of faults ends.
    pub(crate) end_of_chaos: Ending,
    /// What happens before everything is read once more.
    pub(crate) before_final_reading: Ending,
    /// Sockets that the broker may hold while faults are about.
    pub(crate) descriptors_max: Option<u64>,
    /// Another broker has left a partition with an open transaction.
    pub(crate) heritage: Option<Heritage>,
    /// Committed offsets grow old within the run. No group is about that would lose some before its time: the wall clock may jump.
    pub(crate) ages_offsets: bool,
    /// What is played at the end.
    pub(crate) scene: Option<Scene>,
}

impl Plan {
    /// What the seed of a scenario draws, and what its reduction leaves of it.
    pub(crate) fn new(scenario: &Scenario) -> Plan {
        let has_sound_network = scenario.has_sound_network();
        let mut plan = Plan::from_seed(scenario.seed(), scenario.profile, &scenario.reduction, has_sound_network);
        if scenario.is_sound() && scenario.profile != Profile::Short {
            // Where nothing goes wrong a stop in order must take no time.
            let stops = draw_config(scenario.seed(), Site::RunShape, 0).part(21).happens(500_000);
            plan.end_of_chaos = if stops { Ending::Orderly } else { plan.end_of_chaos };
        }
        plan.reduce(&scenario.reduction);
        plan
    }

    /// What a turn to `seed` at `now` adds to a run of this plan: clients with names of their own, crashes, and time.
    pub(crate) fn of_turn(&self, scenario: &Scenario, number: u32, seed: u64, now: Instant) -> Plan {
        let mut plan = Plan::from_seed(seed, scenario.profile, &scenario.reduction, false);
        let first = number * TURN_CLIENTS;
        for producer in &mut plan.producers {
            producer.client += first;
            if producer.compression == CompressionType::Zstd {
                // Those who read already may speak versions that have no word for it.
                producer.compression = CompressionType::None;
            }
        }
        plan.consumers.iter_mut().for_each(|consumer| consumer.client += first);
        plan.members.iter_mut().for_each(|member| member.client += first);
        self.tell(&mut plan.members);
        // What an admin is told is right only as long as no other one changes it.
        plan.admin = plan.admin.filter(|_| self.admin.is_none());
        plan.admin.iter_mut().for_each(|admin| admin.client += first);
        // How long idle connections live, and how much memory there is, stays as it was set up.
        let closes_idle = self.layout.closes_idle;
        if let Some(reader) = &mut plan.slow_reader {
            (reader.client, reader.stops_reading) = (reader.client + first, closes_idle);
        }
        if let Some(vanisher) = &mut plan.vanisher {
            (vanisher.client, vanisher.is_expired) = (vanisher.client + first, closes_idle);
        }
        plan.garbage.iter_mut().for_each(|garbage| garbage.client += first);
        plan.has_little_memory = self.has_little_memory;
        (plan.examiner, plan.deleter, plan.tuner, plan.renewer) = (None, None, None, None);
        (plan.operator, plan.crowd, plan.session_keeper, plan.epoch_teller) = (None, None, None, None);
        (plan.contrarian, plan.hoarder, plan.ages_offsets, plan.scene) = (None, None, false, None);
        plan.crashes.iter_mut().for_each(|crash| crash.at = Instant(crash.at.0.saturating_add(now.0)));
        plan.chaos_ns = plan.chaos_ns.saturating_add(now.0);
        plan.reduce(&scenario.reduction);
        plan
    }

    /// Takes up what a turn adds.
    pub(crate) fn take_up(&mut self, added: Plan) {
        self.members.extend(added.members);
        self.admin = self.admin.or(added.admin);
        self.slow_reader = self.slow_reader.or(added.slow_reader);
        self.vanisher = self.vanisher.or(added.vanisher);
        self.crashes.extend(added.crashes);
        self.crashes.sort_by_key(|crash| crash.at);
        self.chaos_ns = self.chaos_ns.max(added.chaos_ns);
    }

    pub(crate) fn from_seed(seed: u64, profile: Profile, reduction: &Reduction, has_sound_network: bool) -> Plan {
        let draw = draw_config(seed, Site::RunShape, 0);
        // From 1 on, so that the names of a client and of a connection, which begins with its client's, never meet.
        let producers = u32::try_from(draw.part(0).between(1, 3)).unwrap_or(1);
        let consumers = draw.part(1).between(1, 2);
        let directories = if profile == Profile::Short { Vec::new() } else { more_directories(seed, reduction) };
        // Who knows what it must be told is not to be kept out, and knows no configuration but its own.
        let is_operated = !matches!(profile, Profile::Short | Profile::Calm) && draw.part(26).happens(OPERATED_PARTS);
        let has_operator = is_operated && !reduction.has(Simple::NoLimits);
        let layout = layout(seed, reduction, has_sound_network, directories, has_operator);
        let has_little_memory = layout.config.get("queued.max.request.bytes").is_some();
        let has_early_upkeep = layout.config.get("log.initial.task.delay.ms").is_some();
        let scene = scene(draw, &layout, has_operator);
        let has_garbage = has_little_memory || draw.part(2).happens(500_000);
        let garbage = if has_garbage { draw.part(3).between(1, 20) } else { 0 };
        let closes_idle = layout.closes_idle;
        let silent_parts = if closes_idle { 300_000 } else { 120_000 };
        let members = if draw.part(9).happens(400_000) { draw.part(10).between(1, 3) } else { 0 };
        let producers: Vec<ProducerProfile> = (1..=producers).map(|client| producer(seed, client)).collect();
        let has_zstd = producers.iter().any(|producer| producer.compression == CompressionType::Zstd);
        // Early upkeep forgets producers by the timestamps of their records, as Kafka does; a reference broker forgets nobody.
        let may_be_examined = !has_early_upkeep && !is_operated;
        let is_examined = may_be_examined && (draw.part(12).happens(EXAMINED_PARTS) || profile == Profile::Calm);
        let has_groups = members > 0 || is_examined || matches!(profile, Profile::Short | Profile::Soak);
        let number = |number: u64| u32::try_from(number).unwrap_or(0);
        let mut plan = Plan {
            layout,
            producers,
            consumers: (0..consumers).map(|client| consumer(seed, 100 + number(client), has_zstd)).collect(),
            members: (0..members).map(|client| member(seed, 160 + number(client))).collect(),
            admin: draw.part(11).happens(300_000).then(|| admin(seed, 170)),
            examiner: is_examined.then(|| examiner(draw.part(13))),
            deleter: draw.part(19).happens(DELETED_PARTS).then(|| deleter(draw.part(20))),
            tuner: draw.part(22).happens(150_000).then(|| tuner(draw.part(23))),
            renewer: draw.part(24).happens(150_000).then(|| renewer(draw.part(25))),
            operator: has_operator.then(|| operator(draw.part(27))),
            session_keeper: draw.part(30).happens(200_000).then(|| session_keeper(draw.part(31))),
            // Where records are deleted, past epochs do not keep their ends.
            epoch_teller: (draw.part(32).happens(200_000) && !draw.part(19).happens(DELETED_PARTS))
                .then(|| epoch_teller(draw.part(33))),
            crowd: (has_operator || draw.part(28).happens(50_000)).then(|| crowd(draw.part(29))),
            contrarian: draw.part(60).happens(150_000).then(|| contrarian(draw.part(61))),
            hoarder: (has_early_upkeep && draw.part(63).happens(600_000)).then(|| hoarder(draw.part(64))),
            slow_reader: draw.part(15).happens(silent_parts).then(|| slow_reader(draw.part(16), closes_idle)),
            vanisher: draw.part(17).happens(silent_parts).then(|| vanisher(draw.part(18), closes_idle)),
            garbage: (garbage > 0).then(|| GarbageProfile { client: GARBAGE, attempts: number(garbage) }),
            has_little_memory,
            crashes: crashes(seed),
            chaos_ns: draw.part(4).between(50_000_000, 2_000_000_000),
            end_of_chaos: ending(draw.part(5)),
            before_final_reading: ending(draw.part(6)),
            descriptors_max: draw.part(7).happens(100_000).then(|| draw.part(8).between(1, 3)),
            heritage: draw.part(14).happens(100_000).then(|| heritage(draw.part(65))),
            ages_offsets: !has_groups && draw.part(62).happens(150_000),
            scene,
        };
        plan.scale(seed, profile);
        plan.fit_together();
        plan
    }

    /// What one part of a plan means for another.
    fn fit_together(&mut self) {
        if self.scene == Some(Scene::Elders) {
            // Those offsets are to be there, however long the run is.
            self.ages_offsets = false;
        }
        let has_others = !self.members.is_empty() || self.examiner.is_some();
        self.scene = self.scene.filter(|scene| !has_others || !scene.wants_no_groups());
        self.heritage = self.scene.and_then(Scene::heritage).or(self.heritage);
        let age: &[&str] = if self.ages_offsets { &EARLY_AGE } else { &[] };
        let settings = age.iter().chain(self.scene.map_or(&[][..], Scene::settings));
        self.layout.directories.settings.extend(settings.map(ToString::to_string));
        self.layout.config = self.layout.directories.config();
        self.has_little_memory = self.layout.config.get("queued.max.request.bytes").is_some();
        if let Some(examiner) = &mut self.examiner {
            let mut settings = self.layout.directories.settings.iter();
            examiner.is_told_another_address = settings.any(|setting| setting.starts_with("advertised.listeners="));
        }
        let mut members = std::mem::take(&mut self.members);
        self.tell(&mut members);
        self.members = members;
        if self.producers.iter().all(|producer| producer.acks == Acks::None) {
            // Else nobody hears that a record is there, and the run proves little.
            self.producers.iter_mut().take(1).for_each(|producer| producer.acks = Acks::Leader);
        }
    }

    /// Members know how many of them there may be.
    fn tell(&self, members: &mut [GroupMemberProfile]) {
        let size_max = self.layout.config.get("group.max.size").and_then(|size| size.parse().ok());
        members.iter_mut().for_each(|member| member.group_size_max = size_max.unwrap_or(usize::MAX));
    }

    /// More or less work, as the profile wants it.
    fn scale(&mut self, seed: u64, profile: Profile) {
        match profile {
            Profile::Short => {
                self.producers.truncate(2);
                self.consumers.truncate(1);
                self.producers
                    .iter_mut()
                    .for_each(|producer| producer.batches = producer.batches.min(SHORT_OPERATIONS_MAX));
                self.members.truncate(1);
                self.members.iter_mut().for_each(|member| member.rounds = member.rounds.min(SHORT_OPERATIONS_MAX));
                self.admin.iter_mut().for_each(|admin| admin.rounds = admin.rounds.min(SHORT_OPERATIONS_MAX));
                (self.deleter, self.tuner, self.renewer) = (None, None, None);
                (self.crowd, self.session_keeper, self.epoch_teller) = (None, None, None);
                (self.slow_reader, self.vanisher) = (None, None);
                (self.contrarian, self.hoarder, self.scene) = (None, None, None);
                self.garbage
                    .iter_mut()
                    .for_each(|garbage| garbage.attempts = garbage.attempts.min(SHORT_OPERATIONS_MAX));
                self.examiner
                    .iter_mut()
                    .for_each(|examiner| examiner.questions = examiner.questions.min(SHORT_OPERATIONS_MAX));
            }
            Profile::Soak => {
                self.producers.iter_mut().for_each(|producer| producer.batches *= SOAK_FACTOR);
                self.members = (0..3).map(|index| member(seed, 160 + index)).collect();
                self.members.iter_mut().for_each(|member| member.rounds *= SOAK_FACTOR);
                let admin = self.admin.get_or_insert_with(|| admin(seed, 170));
                admin.rounds *= SOAK_FACTOR;
                self.chaos_ns *= u64::from(SOAK_FACTOR);
            }
            Profile::Swarm | Profile::AllOn | Profile::Single | Profile::Calm => {}
        }
    }

    /// Leaves out what the reduction says, save what the layout left out already.
    fn reduce(&mut self, reduction: &Reduction) {
        let has = |simple| reduction.has(simple);
        let left = |client, planned| reduction.operations(client, planned);
        self.producers.iter_mut().for_each(|producer| producer.batches = left(producer.client, producer.batches));
        self.producers.retain(|producer| producer.batches > 0);
        self.consumers.retain(|consumer| left(consumer.client, 1) > 0);
        self.members.iter_mut().for_each(|member| member.rounds = left(member.client, member.rounds));
        self.members.retain(|member| member.rounds > 0);
        self.admin.iter_mut().for_each(|admin| admin.rounds = left(admin.client, admin.rounds));
        self.admin = self.admin.filter(|admin| admin.rounds > 0);
        self.examiner.iter_mut().for_each(|examiner| examiner.questions = left(examiner.client, examiner.questions));
        self.examiner = self.examiner.filter(|examiner| examiner.questions > 0);
        self.deleter.iter_mut().for_each(|deleter| deleter.rounds = left(deleter.client, deleter.rounds));
        self.deleter = self.deleter.filter(|deleter| deleter.rounds > 0);
        self.tuner.iter_mut().for_each(|tuner| tuner.rounds = left(tuner.client, tuner.rounds));
        self.tuner = self.tuner.filter(|tuner| tuner.rounds > 0);
        self.renewer.iter_mut().for_each(|renewer| renewer.rounds = left(renewer.client, renewer.rounds));
        self.renewer = self.renewer.filter(|renewer| renewer.rounds > 0);
        self.operator.iter_mut().for_each(|operator| operator.rounds = left(operator.client, operator.rounds));
        self.operator = self.operator.filter(|operator| operator.rounds > 0);
        self.crowd.iter_mut().for_each(|crowd| crowd.connections = left(crowd.client, crowd.connections));
        self.crowd = self.crowd.filter(|crowd| crowd.connections > 0);
        self.session_keeper.iter_mut().for_each(|keeper| keeper.rounds = left(keeper.client, keeper.rounds));
        self.session_keeper = self.session_keeper.filter(|keeper| keeper.rounds > 0);
        self.epoch_teller.iter_mut().for_each(|teller| teller.rounds = left(teller.client, teller.rounds));
        self.epoch_teller = self.epoch_teller.filter(|teller| teller.rounds > 0);
        self.contrarian
            .iter_mut()
            .for_each(|contrarian| contrarian.rounds = left(contrarian.client, contrarian.rounds));
        self.contrarian = self.contrarian.filter(|contrarian| contrarian.rounds > 0);
        self.hoarder.iter_mut().for_each(|hoarder| hoarder.rounds = left(hoarder.client, hoarder.rounds));
        self.hoarder = self.hoarder.filter(|hoarder| hoarder.rounds > 0);
        self.slow_reader.iter_mut().for_each(|reader| reader.rounds = left(reader.client, reader.rounds));
        self.slow_reader = self.slow_reader.filter(|reader| reader.rounds > 0);
        self.vanisher.iter_mut().for_each(|vanisher| vanisher.attempts = left(vanisher.client, vanisher.attempts));
        self.vanisher = self.vanisher.filter(|vanisher| vanisher.attempts > 0);
        self.garbage.iter_mut().for_each(|garbage| garbage.attempts = left(garbage.client, garbage.attempts));
        self.garbage = self.garbage.filter(|garbage| garbage.attempts > 0);
        for producer in &mut self.producers {
            producer.records_per_batch_max = if has(Simple::OneRecord) { 1 } else { producer.records_per_batch_max };
            producer.compression =
                if has(Simple::NoCompression) { CompressionType::None } else { producer.compression };
            producer.pipeline_max = if has(Simple::NoPipeline) { 1 } else { producer.pipeline_max };
        }
        if has(Simple::GoodHabits) {
            self.habits().for_each(|habits| *habits = Habits::none());
        }
        let mut index = 0;
        self.crashes.retain(|_| {
            index += 1;
            !(index == 1 && has(Simple::NoFirstCrash) || index == 2 && has(Simple::NoSecondCrash))
        });
        self.end_of_chaos = if has(Simple::QuietEndOfChaos) { Ending::Nothing } else { self.end_of_chaos };
        self.before_final_reading = if has(Simple::QuietEnd) { Ending::Nothing } else { self.before_final_reading };
        self.descriptors_max = self.descriptors_max.filter(|_| !has(Simple::NoLimits));
        self.heritage = self.heritage.filter(|_| !has(Simple::NoLimits));
        self.chaos_ns = reduction.chaos_ns_max.map_or(self.chaos_ns, |most| self.chaos_ns.min(most));
        self.reduce_end(reduction);
    }

    /// The same for what comes when faults are over. A scene for which another broker must have left something is none without that.
    fn reduce_end(&mut self, reduction: &Reduction) {
        self.ages_offsets &= reduction.operations(AGER, 1) > 0;
        let heritage = self.heritage;
        let has_its = |scene: &Scene| scene.heritage().is_none_or(|its| heritage == Some(its));
        self.scene = self.scene.filter(|scene| reduction.operations(PLAYER, 1) > 0 && has_its(scene));
    }

    fn habits(&mut self) -> impl Iterator<Item = &mut Habits> {
        let producers = self.producers.iter_mut().map(|profile| &mut profile.habits);
        let consumers = self.consumers.iter_mut().map(|profile| &mut profile.habits);
        let members = self.members.iter_mut().map(|profile| &mut profile.habits);
        let others = self.admin.iter_mut().map(|profile| &mut profile.habits);
        let others = others.chain(self.deleter.iter_mut().map(|profile| &mut profile.habits));
        let others = others.chain(self.tuner.iter_mut().map(|profile| &mut profile.habits));
        let others = others.chain(self.renewer.iter_mut().map(|profile| &mut profile.habits));
        let others = others.chain(self.session_keeper.iter_mut().map(|profile| &mut profile.habits));
        let others = others.chain(self.epoch_teller.iter_mut().map(|profile| &mut profile.habits));
        let others = others.chain(self.contrarian.iter_mut().map(|profile| &mut profile.habits));
        let others = others.chain(self.hoarder.iter_mut().map(|profile| &mut profile.habits));
        producers.chain(consumers).chain(members).chain(others)
    }

    /// How many operations each client has: batches, rounds or attempts; a reader counts as one.
    pub(crate) fn operations(&self) -> BTreeMap<u32, u32> {
        let producers = self.producers.iter().map(|profile| (profile.client, profile.batches));
        let consumers = self.consumers.iter().map(|profile| (profile.client, 1));
        let members = self.members.iter().map(|profile| (profile.client, profile.rounds));
        let admin = self.admin.iter().map(|profile| (profile.client, profile.rounds));
        let garbage = self.garbage.iter().map(|profile| (profile.client, profile.attempts));
        let examiner = self.examiner.iter().map(|profile| (profile.client, profile.questions));
        let deleter = self.deleter.iter().map(|profile| (profile.client, profile.rounds));
        let tuner = self.tuner.iter().map(|profile| (profile.client, profile.rounds));
        let renewer = self.renewer.iter().map(|profile| (profile.client, profile.rounds));
        let operator = self.operator.iter().map(|profile| (profile.client, profile.rounds));
        let crowd = self.crowd.iter().map(|profile| (profile.client, profile.connections));
        let keeper = self.session_keeper.iter().map(|profile| (profile.client, profile.rounds));
        let teller = self.epoch_teller.iter().map(|profile| (profile.client, profile.rounds));
        let contrarian = self.contrarian.iter().map(|profile| (profile.client, profile.rounds));
        let hoarder = self.hoarder.iter().map(|profile| (profile.client, profile.rounds));
        let slow_reader = self.slow_reader.iter().map(|profile| (profile.client, profile.rounds));
        let vanisher = self.vanisher.iter().map(|profile| (profile.client, profile.attempts));
        let at_work = producers
            .chain(consumers)
            .chain(members)
            .chain(admin)
            .chain(examiner)
            .chain(deleter)
            .chain(tuner)
            .chain(renewer)
            .chain(operator)
            .chain(crowd)
            .chain(keeper)
            .chain(teller)
            .chain(contrarian)
            .chain(hoarder);
        let ager = self.ages_offsets.then_some((AGER, 1));
        let player = self.scene.map(|_| (PLAYER, 1));
        at_work.chain(ager).chain(player).chain(garbage).chain(slow_reader).chain(vanisher).collect()
    }
}

/// What is played at the end, if anything is. Where a connection may end for what others do, no scene comes to its own end.
fn scene(draw: Draw, layout: &Layout, has_operator: bool) -> Option<Scene> {
    let is_quiet = !layout.closes_idle && !has_operator;
    (is_quiet && draw.part(66).happens(SCENE_PARTS)).then(|| one_of(draw.part(67), Scene::ALL))
}

fn ending(draw: Draw) -> Ending {
    match draw.below(10) {
        0..3 => Ending::Nothing,
        3 => Ending::Crash(Crash::Process),
        4..8 => Ending::Crash(Crash::Power),
        _ => Ending::Orderly,
    }
}

fn one_of<T: Copy>(draw: Draw, choices: &[T]) -> T {
    choices[usize::try_from(draw.below(choices.len() as u64)).unwrap_or(0)]
}

/// The log directories beside the first.
fn more_directories(seed: u64, reduction: &Reduction) -> Vec<PathBuf> {
    let draw = draw_config(seed, Site::BrokerLayout, 1);
    let count = if reduction.has(Simple::OneDirectory) { 0 } else { one_of(draw, &[0, 0, 1, 1, 2]) };
    ["/data2", "/data3"].into_iter().take(count).map(PathBuf::from).collect()
}

/// How the broker of this seed is laid out. Limits are small, so that they are reached.
fn layout(
    seed: u64,
    reduction: &Reduction,
    has_sound_network: bool,
    more_directories: Vec<PathBuf>,
    has_operator: bool,
) -> Layout {
    let draw = draw_config(seed, Site::BrokerLayout, 0);
    let has = |simple| reduction.has(simple);
    let handlers = if has(Simple::OneHandler) { 1 } else { draw.part(1).between(1, 3) };
    let processors = if has(Simple::OneProcessor) { 1 } else { draw.part(0).between(1, 3) };
    let partitions = if has(Simple::OnePartition) { 1 } else { draw.part(3).between(1, 3) };
    let queue = if has(Simple::UsualQueue) { 500 } else { one_of(draw.part(2), &[1, 2, 500]) };
    let index = if has(Simple::UsualSegments) { 4_096 } else { one_of(draw.part(6), &[0, 100, 4_096]) };
    let mut overrides = vec![
        "listeners=PLAINTEXT://10.1.0.1:9092".to_string(),
        "socket.request.max.bytes=20000".to_string(),
        format!("num.network.threads={processors}"),
        format!("num.io.threads={handlers}"),
        format!("queued.max.requests={queue}"),
        "offsets.topic.num.partitions=2".to_string(),
        "group.initial.rebalance.delay.ms=20".to_string(),
        "group.min.session.timeout.ms=100".to_string(),
        // What goes by wall time is not what a jump of the wall clock is to find.
        "log.message.timestamp.after.max.ms=9223372036854775807".to_string(),
        "producer.id.expiration.ms=2147483647".to_string(),
        format!("num.partitions={partitions}"),
        format!("log.index.interval.bytes={index}"),
    ];
    if draw.part(10).happens(250_000) && !has(Simple::LateUpkeep) {
        overrides.extend(EARLY_UPKEEP.map(str::to_string));
    }
    let some = some_settings(draw);
    if has_operator {
        overrides.extend(INNER_LISTENER.map(str::to_string));
    }
    if has_sound_network && !has(Simple::NoLimits) {
        // No client but a crowd has so many at once, unless connections are lost on the way; one that is not counted out at its end has them soon.
        overrides.push("max.connections.per.ip=6".to_string());
    }
    let wanted = some.iter().filter(|(_, _, simple)| !has(*simple));
    overrides.extend(wanted.filter_map(|(key, value, _)| value.map(|value| format!("{key}={value}"))));
    let paths: Vec<PathBuf> = [PathBuf::from(METADATA_DIRECTORY)].into_iter().chain(more_directories).collect();
    let are_disks = paths.len() > 1 && draw.part(11).happens(750_000);
    let directories = LogDirectories { paths, are_disks, settings: overrides };
    Layout {
        config: directories.config(),
        directories,
        handlers: usize::try_from(handlers).unwrap_or(1),
        handlers_beside: draw.part(4).happens(500_000) && !has(Simple::OnlyThePool),
        quantum: if has(Simple::WholeSteps) { usize::MAX } else { one_of(draw.part(5), &[1, 2, usize::MAX]) },
        closes_idle: draw.part(8).below(4) == 3 && !has(Simple::NoLimits),
    }
}

/// Settings that some runs have, and what leaves each of them out. Limits are small, so that they are reached.
fn some_settings(draw: Draw) -> [(&'static str, Option<u64>, Simple); 5] {
    [
        ("log.roll.ms", one_of(draw.part(7), &[None, Some(2), Some(20), Some(200)]), Simple::UsualSegments),
        ("connections.max.idle.ms", one_of(draw.part(8), &[None, None, None, Some(400)]), Simple::NoLimits),
        ("queued.max.request.bytes", one_of(draw.part(9), &[None, None, None, Some(20_000)]), Simple::NoLimits),
        (
            "max.incremental.fetch.session.cache.slots",
            one_of(draw.part(13), &[None, None, None, Some(2)]),
            Simple::NoLimits,
        ),
        ("group.max.size", one_of(draw.part(12), &[None, None, None, None, Some(2)]), Simple::NoLimits),
    ]
}

/// When the broker of this seed goes down, and how.
fn crashes(seed: u64) -> Vec<PlannedCrash> {
    let draw = draw_config(seed, Site::BrokerCrash, 1);
    let count = one_of(draw, &[0, 0, 1, 1, 2]);
    let times: BTreeMap<u64, PlannedCrash> = (0..count)
        .map(|index| {
            let ending = match draw.part(10 + index).below(20) {
                0..12 => Ending::Crash(Crash::Power),
                12..15 => Ending::Crash(Crash::Process),
                _ => Ending::Orderly,
            };
            let at = draw.part(20 + index).between(2_000_000, 300_000_000);
            let is_before_effect = draw.part(30 + index).happens(500_000);
            (at, PlannedCrash { at: Instant(at), ending, is_before_effect })
        })
        .collect();
    times.into_values().collect()
}

fn producer(seed: u64, client: u32) -> ProducerProfile {
    let draw = draw_config(seed, Site::ClientProfile, 1 + u64::from(client));
    let is_idempotent = draw.part(4).happens(500_000);
    let acks = one_of(draw.part(0), &[Acks::All, Acks::All, Acks::Leader, Acks::None]);
    ProducerProfile {
        client,
        acks: if is_idempotent { Acks::All } else { acks },
        is_idempotent,
        pipeline_max: usize::try_from(draw.part(1).between(1, 5)).unwrap_or(1),
        batches: u32::try_from(draw.part(2).between(1, 30)).unwrap_or(1),
        records_per_batch_max: u32::try_from(draw.part(3).between(1, 5)).unwrap_or(1),
        compression: compression(draw.part(6)),
        habits: Habits::draw(draw),
    }
}

/// Most producers do not compress.
fn compression(draw: Draw) -> CompressionType {
    if draw.happens(300_000) { one_of(draw.part(0), &CompressionType::ALL) } else { CompressionType::None }
}

fn admin(seed: u64, client: u32) -> AdminProfile {
    let draw = draw_config(seed, Site::ClientProfile, 1 + u64::from(client));
    let rounds = u32::try_from(draw.part(0).between(1, 20)).unwrap_or(1);
    AdminProfile { client, rounds, habits: Habits::draw(draw) }
}

fn heritage(draw: Draw) -> Heritage {
    one_of(draw, &Heritage::ALL)
}

fn deleter(draw: Draw) -> DeleterProfile {
    let rounds = u32::try_from(draw.between(1, 8)).unwrap_or(1);
    DeleterProfile { client: DELETER, rounds, habits: Habits::draw(draw) }
}

fn tuner(draw: Draw) -> TunerProfile {
    let rounds = u32::try_from(draw.between(1, 12)).unwrap_or(1);
    TunerProfile { client: TUNER, rounds, habits: Habits::draw(draw) }
}

fn renewer(draw: Draw) -> RenewerProfile {
    let rounds = u32::try_from(draw.between(1, 8)).unwrap_or(1);
    RenewerProfile { client: RENEWER, rounds, habits: Habits::draw(draw) }
}

fn operator(draw: Draw) -> OperatorProfile {
    OperatorProfile { client: OPERATOR, rounds: u32::try_from(draw.between(1, 20)).unwrap_or(1) }
}

fn crowd(draw: Draw) -> CrowdProfile {
    let connections = u32::try_from(draw.between(20, 150)).unwrap_or(20);
    CrowdProfile { client: CROWD, connections, size_max: draw.part(0).between(4, 16) }
}

fn session_keeper(draw: Draw) -> SessionKeeperProfile {
    let rounds = u32::try_from(draw.between(5, 60)).unwrap_or(5);
    SessionKeeperProfile { client: SESSION_KEEPER, rounds, habits: Habits::draw(draw) }
}

fn epoch_teller(draw: Draw) -> EpochTellerProfile {
    let rounds = u32::try_from(draw.between(5, 30)).unwrap_or(5);
    EpochTellerProfile { client: EPOCH_TELLER, rounds, habits: Habits::draw(draw) }
}

fn contrarian(draw: Draw) -> ContrarianProfile {
    let rounds = u32::try_from(draw.between(1, 30)).unwrap_or(1);
    ContrarianProfile { client: CONTRARIAN, rounds, habits: Habits::draw(draw) }
}

fn hoarder(draw: Draw) -> HoarderProfile {
    let rounds = u32::try_from(draw.between(20, 50)).unwrap_or(20);
    let by_age = draw.part(0).happens(500_000);
    HoarderProfile { client: HOARDER, rounds, by_age, habits: Habits::draw(draw) }
}

fn slow_reader(draw: Draw, stops_reading: bool) -> SlowReaderProfile {
    let rounds = u32::try_from(draw.between(1, 4)).unwrap_or(1);
    SlowReaderProfile { client: SLOW_READER, rounds, pipeline_max: draw.part(0).between(1, 24), stops_reading }
}

fn vanisher(draw: Draw, is_expired: bool) -> VanisherProfile {
    VanisherProfile { client: VANISHER, attempts: u32::try_from(draw.between(1, 12)).unwrap_or(1), is_expired }
}

fn examiner(draw: Draw) -> ExaminerProfile {
    let questions = u32::try_from(draw.between(20, 100)).unwrap_or(20);
    ExaminerProfile { client: EXAMINER, questions, is_told_another_address: false }
}

fn consumer(seed: u64, client: u32, reads_zstd: bool) -> ConsumerProfile {
    let draw = draw_config(seed, Site::ClientProfile, 1 + u64::from(client));
    ConsumerProfile {
        client,
        reads_zstd,
        has_session: draw.part(8).happens(500_000),
        takes_little: draw.part(10).happens(150_000),
        reads_committed: draw.part(11).happens(300_000),
        asks_epoch_ends: draw.part(9).happens(500_000),
        wait_ms_max: one_of(draw.part(6), &[20, 100, 300]),
        bytes_min: one_of(draw.part(7), &[1, 1, 1_000]),
        habits: Habits::draw(draw),
    }
}

fn member(seed: u64, client: u32) -> GroupMemberProfile {
    let draw = draw_config(seed, Site::ClientProfile, 1 + u64::from(client));
    GroupMemberProfile {
        client,
        rounds: u32::try_from(draw.part(0).between(1, 20)).unwrap_or(1),
        is_static: draw.part(1).happens(300_000),
        group_size_max: usize::MAX,
        habits: Habits::draw(draw),
    }
}

/// The member that fetches at the end what was committed.
pub(crate) fn last_member() -> GroupMemberProfile {
    GroupMemberProfile { client: 201, rounds: 1, is_static: false, group_size_max: usize::MAX, habits: Habits::none() }
}

/// The admin that looks at the end whether what was told is true.
pub(crate) fn last_admin() -> AdminProfile {
    AdminProfile { client: 202, rounds: 0, habits: Habits::none() }
}

/// Those that leave the broker at the end without a word, where idle connections are closed.
pub(crate) fn last_silent() -> (VanisherProfile, SlowReaderProfile) {
    let vanisher = VanisherProfile { client: 204, attempts: 4, is_expired: true };
    (vanisher, SlowReaderProfile { client: 205, rounds: 1, pipeline_max: 24, stops_reading: true })
}

/// The consumer that reads everything at the end.
pub(crate) fn last_consumer() -> ConsumerProfile {
    ConsumerProfile {
        client: 200,
        reads_zstd: true,
        wait_ms_max: 100,
        bytes_min: 1,
        has_session: true,
        takes_little: false,
        reads_committed: false,
        asks_epoch_ends: false,
        habits: Habits::none(),
    }
}
