//! The simulated machine as one value behind one lock: time, chance, trace, network, disk.
//!
//! Every simulated maker holds a handle to it. Nothing here calls back into a maker, so the lock is never taken twice. It must not
//! know Kafka.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use klamm::types::{Instant, Now, WallTime};

use crate::descriptors::Descriptors;
use crate::disk_state::DiskState;
use crate::flaw::Flaw;
use crate::keyed::{Chance, Draw, Site};
use crate::network_state::NetworkState;
use crate::trace::{Trace, TraceKind};
use crate::world::Crash;

/// The wall clock at the start of every run.
const WALL_START_MS: i64 = 1_700_000_000_000;
const NANOS_PER_MS: i64 = 1_000_000;

/// A handle to the machine.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<Kernel>>);

impl Shared {
    pub(crate) fn new(kernel: Kernel) -> Shared {
        Shared(Arc::new(Mutex::new(kernel)))
    }

    /// A panic of the broker in the middle of a call is a finding, not a reason to stop looking at the machine.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Kernel> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The machine.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) now: Instant,
    pub(crate) wall_offset_ms: i64,
    /// How fast the wall clock is wrong, in parts of a million, since when, and how far it was before.
    wall_bend_ppm: i64,
    bent_since: Instant,
    bent_ns: i64,
    pub(crate) chance: Chance,
    pub(crate) trace: Trace,
    pub(crate) network: NetworkState,
    pub(crate) disk: DiskState,
    pub(crate) descriptors: Descriptors,
    /// Counts the starts of the broker's process; what an earlier process held is dead.
    pub(crate) boot: u32,
    pub(crate) flaw: Option<Flaw>,
    pub(crate) disk_effects: u64,
    pub(crate) crash_before: Option<(u64, Crash)>,
    /// The last time that nobody had anything to do, and nothing had struck shortly before.
    pub(crate) rested_at: Instant,
    /// How the broker went down last, if it has.
    pub(crate) last_crash: Option<Crash>,
    /// Words that clients have used; what one means only they know.
    pub(crate) words: BTreeSet<u32>,
}

impl Kernel {
    pub(crate) fn new(mut chance: Chance, flaw: Option<Flaw>) -> Kernel {
        let mut kernel = Kernel {
            now: Instant(0),
            wall_offset_ms: WALL_START_MS,
            wall_bend_ppm: 0,
            bent_since: Instant(0),
            bent_ns: 0,
            network: NetworkState::new(chance.value(Site::NetworkSpeed, 0)),
            chance,
            trace: Trace::default(),
            disk: DiskState::default(),
            descriptors: Descriptors::new(),
            boot: 1,
            flaw,
            disk_effects: 0,
            crash_before: None,
            rested_at: Instant(0),
            last_crash: None,
            words: BTreeSet::new(),
        };
        kernel.network.is_linux_like =
            kernel.fault(Site::LinuxLike, 0).is_some() && !kernel.flawed(Flaw::KindnessForgotten);
        kernel
    }

    pub(crate) fn clocks(&self) -> Now {
        let elapsed_ns = i64::try_from(self.now.0).unwrap_or(i64::MAX).saturating_add(self.bent_now_ns());
        let wall = self.wall_offset_ms.saturating_add(elapsed_ns / NANOS_PER_MS);
        Now { instant: self.now, wall: WallTime(wall) }
    }

    fn bent_now_ns(&self) -> i64 {
        if self.wall_bend_ppm == 0 {
            return self.bent_ns;
        }
        let since_us = i64::try_from((self.now.0 - self.bent_since.0) / 1_000).unwrap_or(i64::MAX);
        self.bent_ns.saturating_add(since_us.saturating_mul(self.wall_bend_ppm) / 1_000)
    }

    /// From now on the wall clock runs wrong by so many parts of a million.
    pub(crate) fn bend_wall(&mut self, parts: i64) {
        (self.bent_ns, self.bent_since, self.wall_bend_ppm) = (self.bent_now_ns(), self.now, parts);
        self.note(TraceKind::WallJump, 1, parts.cast_unsigned());
    }

    /// Moves time forward (never back) and does what is due by then.
    pub(crate) fn advance_to(&mut self, instant: Instant) {
        loop {
            // Each thing happens at its own time, since what it causes counts from there.
            let next = self.network.next_due().map_or(instant, |due| Instant(due.min(instant.0)));
            if next > self.now {
                self.now = next;
                self.chance.time_is(next.0);
                self.note(TraceKind::Time, 0, next.0);
            }
            self.run_due();
            if self.now >= instant {
                return;
            }
        }
    }

    /// Whether the machine is planted with this defect.
    pub(crate) fn flawed(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// The broker goes down.
    pub(crate) fn crash(&mut self, crash: Crash) {
        self.note(TraceKind::Crash, 1, u64::from(crash == Crash::Power));
        self.drop_broker_sockets(crash == Crash::Power);
        match crash {
            Crash::Process => self.disk_process_dies(),
            Crash::Power => self.disk_power_fails(),
        }
        self.disks_come_and_go();
        self.boot += 1;
        self.crash_before = None;
        self.last_crash = Some(crash);
    }

    /// Counts an effect on the disk that is about to happen. Says whether the broker lives to make it.
    pub(crate) fn lives_to_next_effect(&mut self) -> bool {
        self.disk_effects += 1;
        match self.crash_before {
            Some((effect, crash)) if effect == self.disk_effects => {
                self.crash(crash);
                false
            }
            _ => true,
        }
    }

    pub(crate) fn fault(&mut self, site: Site, entity: u64) -> Option<Draw> {
        let fired = self.chance.fault(site, entity);
        if fired.is_some() {
            tracing::trace!(?site, entity, "fault");
            self.note(TraceKind::Fault, entity, u64::from(site.number()));
        }
        fired
    }

    pub(crate) fn fate(&mut self, site: Site, entity: u64) -> Option<Draw> {
        let struck = self.chance.fate(site, entity);
        if struck.is_some() {
            tracing::trace!(?site, entity, "fault");
            self.note(TraceKind::Fault, entity, u64::from(site.number()));
        }
        struck
    }

    pub(crate) fn value(&mut self, site: Site, entity: u64) -> Draw {
        self.chance.value(site, entity)
    }

    pub(crate) fn note(&mut self, kind: TraceKind, entity: u64, value: u64) {
        self.trace.note(kind, entity, value);
    }
}
