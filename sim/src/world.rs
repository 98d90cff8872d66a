//! The simulated machine as its owner sees it: makers for the broker, sockets for clients, time for the scheduler.
//!
//! It must not know Kafka, nor who is stepped when. One thread; a world with the same options and the same calls is the same.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use klamm::types::{Instant, Now};

use crate::client_socket::ClientSocket;
use crate::disk_space::WIDE_BYTES;
use crate::disk_state::entity_of;
use crate::disk_volumes::{Filled, Volume};
use crate::flaw::Flaw;
use crate::kernel::{Kernel, Shared};
use crate::keyed::{Chance, Draw, Fired, Key, Overrides, Select, Site, SiteKind, Swarm};
use crate::ledger::Destroyed;
use crate::network_state::SelectorState;
use crate::plan::INNER_PORT;
use crate::sim_clock::SimClock;
use crate::sim_disk::SimDisk;
use crate::sim_listener::SimListener;
use crate::sim_parker::SimParker;
use crate::sim_selector::{SelectorId, SimSelector};
use crate::stream::{Phase, Stream};
use crate::trace::{TraceEvent, TraceKind};

/// What a world is made from.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// The root of every decision.
    pub seed: u64,
    /// Which faults exist, and how often they fire.
    pub swarm: Swarm,
    /// Layers over the decisions.
    pub overrides: Overrides,
    /// A planted defect of the makers, to prove that a check can fail.
    pub flaw: Option<Flaw>,
}

impl WorldOptions {
    /// What `seed` alone decides.
    pub fn from_seed(seed: u64) -> WorldOptions {
        WorldOptions { seed, swarm: Swarm::from_seed(seed), overrides: Overrides::default(), flaw: None }
    }

    /// Has exactly these faults fire, whatever the seed would draw.
    pub fn fire_only(&mut self, faults: &[Fired]) {
        self.swarm = Swarm::calm();
        let values = std::mem::take(&mut self.overrides.values);
        let others = values.into_iter().filter(|(select, _)| !select.site().is_fault());
        // A fate strikes in every run, unless it is told not to.
        let fates = Site::ALL.iter().filter(|site| matches!(site.kind(), SiteKind::Fate(_)));
        let no_fates = fates.map(|site| (Select::Site(*site), 0));
        self.overrides.values =
            others.chain(no_fates).chain(faults.iter().map(|fault| (Select::One(*fault), 1))).collect();
    }

    /// A world without faults.
    pub fn calm(seed: u64) -> WorldOptions {
        WorldOptions { seed, swarm: Swarm::calm(), overrides: Overrides::default(), flaw: None }
    }
}

/// The machine between two steps. Nobody else can ask it anything meanwhile.
pub(crate) struct Moment<'a>(MutexGuard<'a, Kernel>);

impl Moment<'_> {
    pub(crate) fn now(&self) -> Instant {
        self.0.now
    }

    /// Whether a poll of the selector would show an event, or was asked for by a wake.
    pub(crate) fn is_selector_ready(&self, selector: SelectorId) -> bool {
        let state = &self.0.network.selectors[selector.0 as usize];
        state.wakes > 0 || (!state.ready.is_empty() && state.late_until <= self.0.now.0)
    }
}

/// How the broker goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process is killed: sockets are closed by the kernel, the page cache survives.
    Process,
    /// The machine loses its power: sockets fall silent, and of what was not synced only chance says what is left.
    Power,
}

/// A connection that the broker has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Whose it is.
    pub(crate) address: IpAddr,
    /// Where it came in.
    pub(crate) port: u16,
    pub(crate) at: Instant,
    /// The broker holds it.
    pub(crate) is_open: bool,
}

impl Accepted {
    /// Whether it came in where everybody does.
    pub(crate) fn is_public(&self) -> bool {
        self.port != INNER_PORT
    }
}

/// The machine.
#[derive(Clone, Debug)]
pub struct World {
    shared: Shared,
}

impl World {
    /// Whether the broker has begun a sync that is not done.
    pub(crate) fn is_sync_under_way(&self) -> bool {
        !self.shared.lock().disk.deferred.is_empty()
    }

    /// A machine at time 0, with an empty disk.
    pub fn new(options: WorldOptions) -> World {
        let chance = Chance::new(options.seed, options.swarm, options.overrides);
        World { shared: Shared::new(Kernel::new(chance, options.flaw)) }
    }

    // ---- makers for the broker

    /// Its clock.
    pub fn clock(&self) -> SimClock {
        SimClock::new(self.shared.clone())
    }

    /// Its disk.
    pub fn disk(&self) -> SimDisk {
        SimDisk::new(self.shared.clone())
    }

    /// A selector. `entity` is a stable name for chance, such as the Processor's number.
    pub fn selector(&self, entity: u64) -> SimSelector {
        let mut kernel = self.shared.lock();
        let id = u32::try_from(kernel.network.selectors.len()).expect("selectors are few");
        kernel.network.selectors.push(SelectorState { entity, ..SelectorState::default() });
        drop(kernel);
        SimSelector::new(self.shared.clone(), id)
    }

    /// A listening socket; port 0 lets the network choose, a port in use is refused.
    pub fn listen(&self, address: SocketAddr, backlog: usize) -> io::Result<SimListener> {
        let mut kernel = self.shared.lock();
        let index = kernel.listen(address, backlog).map_err(io::Error::from_raw_os_error)?;
        let boot = kernel.boot;
        drop(kernel);
        Ok(SimListener::new(self.shared.clone(), index, boot))
    }

    /// The sleep of a role that waits on a queue.
    pub fn parker(&self) -> Arc<SimParker> {
        Arc::new(SimParker::default())
    }

    // ---- clients

    /// Starts to connect. `identity` names the connection for chance: client and attempt, never a running number of the world.
    pub fn connect(&self, identity: u64, from: SocketAddr, to: SocketAddr) -> ClientSocket {
        let stream = self.shared.lock().connect(identity, from, to);
        ClientSocket::new(self.shared.clone(), stream)
    }

    /// The identity of a connection whose client has news (connected, refused, bytes, room, end, reset) since it was last named.
    pub fn next_touched_client(&self) -> Option<u64> {
        let mut kernel = self.shared.lock();
        let stream = kernel.network.touched.pop_front()?;
        let state = kernel.network.stream(stream);
        state.client_touched = false;
        Some(state.identity)
    }

    // ---- time and readiness, for the scheduler

    /// Both clocks.
    pub fn now(&self) -> Now {
        self.shared.lock().clocks()
    }

    /// When the next thing in flight comes to its place.
    pub fn next_due(&self) -> Option<Instant> {
        self.shared.lock().network.next_due().map(Instant)
    }

    /// Moves time forward (never back) and does what is due by then.
    pub fn advance_to(&self, instant: Instant) {
        self.shared.lock().advance_to(instant);
    }

    /// Nobody has anything to do now.
    pub(crate) fn rest(&self) {
        let mut kernel = self.shared.lock();
        kernel.rested_at = kernel.now;
    }

    /// Moves time forward by a drawn number of nanoseconds from `low` to `high`.
    pub fn spend(&self, site: Site, entity: u64, (low, high): (u64, u64)) {
        let mut kernel = self.shared.lock();
        let cost = kernel.value(site, entity).between(low, high);
        let until = Instant(kernel.now.0 + cost);
        kernel.advance_to(until);
    }

    /// Moves the wall clock by some milliseconds, forward or back.
    pub fn jump_wall(&self, milliseconds: i64) {
        let mut kernel = self.shared.lock();
        if kernel.flawed(Flaw::WallNeverJumps) {
            return;
        }
        kernel.wall_offset_ms = kernel.wall_offset_ms.saturating_add(milliseconds);
        kernel.note(TraceKind::WallJump, 0, milliseconds.cast_unsigned());
    }

    /// Lets the wall clock run wrong by so many parts of a million from now on.
    pub fn bend_wall(&self, parts: i64) {
        self.shared.lock().bend_wall(parts);
    }

    /// Whether a poll of the selector would show an event, or was asked for by a wake.
    pub fn is_selector_ready(&self, selector: SelectorId) -> bool {
        self.moment().is_selector_ready(selector)
    }

    /// The machine, held still for several questions about readiness.
    pub(crate) fn moment(&self) -> Moment<'_> {
        Moment(self.shared.lock())
    }

    // ---- chance and trace

    /// Whether a fault of the scheduler's or of a client's fires now.
    pub fn fault(&self, site: Site, entity: u64) -> Option<Draw> {
        self.shared.lock().fault(site, entity)
    }

    /// A number for a decision of the scheduler's or of a client's.
    pub fn value(&self, site: Site, entity: u64) -> Draw {
        self.shared.lock().value(site, entity)
    }

    /// The number of a decision whose ordinal the caller counts.
    pub fn value_at(&self, key: Key) -> Draw {
        self.shared.lock().chance.value_at(key)
    }

    /// The same of a decision that no turn changes.
    pub(crate) fn value_for_good(&self, key: Key) -> Draw {
        self.shared.lock().chance.value_for_good(key)
    }

    /// Makes a fault fire this often from now on, in parts per million: all of them, it always fires; 0, it is over.
    pub fn set_fault_rate(&self, site: Site, parts: u32) {
        self.shared.lock().chance.set_rate(site, parts);
    }

    /// The faults that fired so far, in order.
    pub fn fired(&self) -> Vec<Fired> {
        self.fired_since(0)
    }

    /// How many faults have fired so far.
    pub fn fired_count(&self) -> usize {
        self.shared.lock().chance.fired().len()
    }

    /// The faults that fired after the first `count`, in order.
    pub fn fired_since(&self, count: usize) -> Vec<Fired> {
        self.shared.lock().chance.fired().get(count..).unwrap_or_default().to_vec()
    }

    /// Notes an event of the scheduler's in the trace.
    pub fn note(&self, kind: TraceKind, entity: u64, value: u64) {
        self.shared.lock().note(kind, entity, value);
    }

    /// A client uses a word.
    pub(crate) fn say(&self, word: u32) {
        self.shared.lock().words.insert(word);
    }

    /// The words that clients have used so far, in order.
    pub(crate) fn words(&self) -> Vec<u32> {
        self.shared.lock().words.iter().copied().collect()
    }

    /// The hash of everything that happened so far.
    pub fn trace_hash(&self) -> u64 {
        self.shared.lock().trace.hash()
    }

    /// The hash after 1, 2, 4, 8 … events.
    pub fn trace_checkpoints(&self) -> Vec<u64> {
        self.shared.lock().trace.checkpoints().to_vec()
    }

    /// Keeps the events of these numbers, to be looked at.
    pub fn keep_events(&self, wanted: Range<u64>) {
        self.shared.lock().trace.keep(wanted);
    }

    /// The names of the files that are there, by what the trace calls them.
    pub(crate) fn file_names(&self) -> BTreeMap<u64, String> {
        let kernel = self.shared.lock();
        kernel.disk.paths.values().map(|path| (entity_of(path), path.display().to_string())).collect()
    }

    /// The events that were kept.
    pub fn kept_events(&self) -> Vec<TraceEvent> {
        self.shared.lock().trace.kept().to_vec()
    }

    /// How many events were noted so far.
    pub fn events(&self) -> u64 {
        self.shared.lock().trace.events()
    }

    // ---- the machine's fate

    /// Heals everything: no fault fires from now on, space and descriptors are back.
    pub fn calm_down(&self) {
        let mut kernel = self.shared.lock();
        kernel.chance.calm_down();
        kernel.crash_before = None;
        kernel.descriptors.heal();
        kernel.mend_disks();
        for volume in &mut kernel.disk.volumes {
            (volume.capacity, volume.read_only_until) = (WIDE_BYTES, None);
        }
        kernel.heal_network();
    }

    /// Says which paths, of those made from now on, lie on a part of the disk that may lose what was synced; the rest is mirrored.
    pub fn set_fragile(&self, is_fragile: fn(&Path) -> bool) {
        self.shared.lock().disk.is_fragile = is_fragile;
    }

    /// What the disk has destroyed of synced bytes after the first `count` times.
    pub fn destroyed_since(&self, count: usize) -> Vec<Destroyed> {
        self.shared.lock().disk.ledger.entries().get(count..).unwrap_or_default().to_vec()
    }

    /// An operator has bad sectors replaced, empty as they are. Says whether there were any.
    pub fn replace_bad_sectors(&self) -> bool {
        self.shared.lock().remap_sectors()
    }

    /// Whether nobody can work on the disk of this directory: it is nearly full, or mounted read-only.
    pub fn is_disk_closed(&self, directory: &Path) -> bool {
        let kernel = self.shared.lock();
        let volume = kernel.disk.at_home(directory);
        volume.capacity < WIDE_BYTES || volume.read_only_until.is_some_and(|until| kernel.now < until)
    }

    /// Names the log directories; if they are disks of their own, each of them may fail as a whole.
    pub fn set_log_directories(&self, directories: &[PathBuf], are_disks: bool) {
        let mut kernel = self.shared.lock();
        kernel.disk.log_directories = directories.to_vec();
        if are_disks {
            kernel.disk.volumes.extend(directories.iter().map(|directory| Volume::at(directory)));
        }
    }

    /// The log directories as an operator names them now: a disk that came back while another directory was in its place has a new name.
    pub fn log_directories(&self) -> Vec<PathBuf> {
        self.shared.lock().disk.log_directories.clone()
    }

    /// All log directories are in use: from now on a whole one may be gone.
    pub fn let_disks_go_missing(&self) {
        self.shared.lock().disk.may_go_missing = true;
    }

    /// From now on each sync takes so much longer than usual.
    pub(crate) fn slow_syncs(&self, nanoseconds: u64) {
        self.shared.lock().disk.sync_ns = nanoseconds;
    }

    /// How many bytes the broker has read from the disk so far, but for those that went straight to a connection.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.shared.lock().disk.bytes_read
    }

    /// Whether something is wrong with a whole disk.
    pub fn has_disk_trouble(&self) -> bool {
        self.shared.lock().disk.has_trouble()
    }

    /// Whether something is wrong with the whole disk that was mounted here first.
    pub fn is_disk_in_trouble(&self, directory: &Path) -> bool {
        self.shared.lock().disk.is_in_trouble(directory)
    }

    /// An operator mends all whole disks, and brings back those that are away.
    pub fn mend_disks(&self) {
        self.shared.lock().mend_disks();
    }

    /// Since when the log directory with this folder is nowhere to be seen, if that is so.
    pub(crate) fn unseen_since(&self, folder: Filled<'_>) -> Option<Instant> {
        self.shared.lock().disk.unseen_since(folder)
    }

    /// Whether this folder lies on a disk with which nothing was ever wrong as a whole.
    pub(crate) fn is_on_sound_disk(&self, folder: Filled<'_>) -> bool {
        self.shared.lock().disk.is_sound(folder)
    }

    /// How many sockets the broker may hold; beyond that, accepting fails with `EMFILE`.
    pub fn set_descriptors_max(&self, descriptors: u64) {
        self.shared.lock().descriptors.sockets_max = descriptors;
    }

    /// From now on the broker gets no descriptor, be it for a socket or a file; or it gets them again.
    pub fn forbid_descriptors(&self, forbidden: bool) {
        self.shared.lock().descriptors.limit = forbidden.then_some(0);
    }

    /// What the broker has named as deleted in a log directory and not removed so far.
    pub(crate) fn marked_as_deleted(&self) -> Option<String> {
        self.shared.lock().disk.marked_as_deleted()
    }

    /// How many accepted connections the broker holds.
    pub fn open_connections(&self) -> u64 {
        self.shared.lock().descriptors.sockets
    }

    /// The connections that the broker has accepted since it started.
    pub(crate) fn accepted(&self) -> Vec<Accepted> {
        let kernel = self.shared.lock();
        let of_now = kernel.network.streams.iter().filter_map(|stream| {
            let (_, at) = stream.accepted.filter(|(boot, _)| *boot == kernel.boot)?;
            Some(Accepted { address: stream.peer.ip(), port: stream.local.port(), at, is_open: stream.broker.open })
        });
        of_now.collect()
    }

    /// A connection that the broker holds. Those whose peers are silent do not count unless they have to be found out.
    pub(crate) fn connection_kept(&self, with_silent: bool) -> Option<u64> {
        let kernel = self.shared.lock();
        let is_held = |stream: &&Stream| stream.phase == Phase::Accepted && stream.broker.open;
        let mut held = kernel.network.streams.iter().filter(is_held);
        held.find(|stream| with_silent || !stream.client.silent).map(|stream| stream.identity)
    }

    /// The broker goes down. Everything that its process held (selectors, listeners, connections, files, locks) is dead and may be
    /// dropped at leisure; a new broker makes its own.
    pub fn crash(&self, crash: Crash) {
        self.shared.lock().crash(crash);
    }

    /// Lets the broker go down just before its disk effect of this number (the first is 1), in the middle of whatever step makes
    /// it. That step's later calls fail; [`World::crashes`] tells the scheduler to let the dead broker go.
    pub fn crash_before_effect(&self, effect: u64, crash: Crash) {
        self.shared.lock().crash_before = Some((effect, crash));
    }

    /// Takes back what `crash_before_effect` has planned.
    pub fn let_live(&self) {
        self.shared.lock().crash_before = None;
    }

    /// How many effects the broker had on the disk so far: appends, cuts, syncs and changes of entries.
    pub fn disk_effects(&self) -> u64 {
        self.shared.lock().disk_effects
    }

    /// How the broker went down last.
    pub(crate) fn last_crash(&self) -> Option<Crash> {
        self.shared.lock().last_crash
    }

    /// How often the broker has gone down.
    pub fn crashes(&self) -> u32 {
        self.shared.lock().boot - 1
    }
}
