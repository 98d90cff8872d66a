//! The broker's lives within a run: it starts, goes down by a plan or in the middle of a step, stops in order, and starts again.
//!
//! It must not know who steps when.

use std::path::Path;

use klamm::types::Instant;

use super::faults_so_far::loses_unsynced;
use super::{Run, SECOND, TOPIC};
use crate::broker_machine::BrokerMachine;
use crate::checker::{Excuse, Violation};
use crate::keyed::Site;
use crate::panics::unless_panicked;
use crate::plan::{Ending, METADATA_DIRECTORY};
use crate::world::Crash;

/// The most starts that faults may spoil; then the faults end.
const FAILED_STARTS_MAX: u32 = 8;
/// An orderly stop has answered everything within so much simulated time.
const DRAIN_NS_MAX: u64 = 10 * SECOND;
/// The same in a run without any fault, in which only requests that wait for something could take longer.
const SOUND_DRAIN_NS_MAX: u64 = SECOND / 8;
/// A broker that goes down in the middle of something does so before one of so many effects on the disk.
const EFFECTS_MAX: u64 = 40;

impl Run {
    pub(super) fn crash_if_due(&mut self) {
        let is_due = |run: &Run| {
            let now = || run.world.now().instant;
            run.plan.crashes.first().is_some_and(|crash| crash.at <= now())
        };
        // Who stops already is not told again.
        if !self.is_calm && !self.is_draining && is_due(self) {
            let planned = self.plan.crashes.remove(0);
            match planned.ending {
                Ending::Crash(crash) if planned.is_before_effect => {
                    let effects = self.world.value(Site::CrashEffect, 0).between(1, EFFECTS_MAX);
                    self.arm(crash, effects);
                }
                ending => self.go_through(ending),
            }
        }
    }

    /// Lets the broker go down just before one of its next effects on the disk, in the middle of whatever has it.
    pub(super) fn arm(&mut self, crash: Crash, effects: u64) {
        self.world.crash_before_effect(self.world.disk_effects() + effects, crash);
        self.armed = Some(crash);
    }

    /// Whether the broker has gone down in the middle of what it did, which is noted.
    pub(super) fn has_died(&mut self) -> bool {
        if self.world.crashes() == self.deaths {
            return false;
        }
        self.armed = None;
        let crash = self.world.last_crash().unwrap_or(Crash::Process);
        tracing::info!(at = self.world.now().instant.0, ?crash, "the broker went down in the middle of a step");
        self.note_death(crash);
        true
    }

    pub(super) fn note_death(&mut self, crash: Crash) {
        self.deaths = self.world.crashes();
        self.history.readable().forget();
        self.history.deleted().forget(false);
        // What a failed sync should have written may be gone, even if only the process ends.
        let fired = self.world.fired_since(self.faults_before);
        let loses = crash == Crash::Power || fired.iter().any(|fault| loses_unsynced(fault.site));
        if self.scenario.oracle.grants(Excuse::UnsyncedLost, loses) {
            self.history.unsynced_lost();
        }
        self.note_destroyed();
    }

    /// Takes the disk's ledger into the history.
    pub(super) fn note_destroyed(&mut self) {
        let destroyed = self.world.destroyed_since(self.destroyed);
        self.destroyed += destroyed.len();
        self.history.lost_on_disk(TOPIC, &destroyed);
    }

    pub(super) fn go_through(&mut self, ending: Ending) {
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
    pub(super) fn stop_in_order(&mut self) {
        let boot = self.boot;
        if let Some(Err(panic)) = self.broker.as_mut().map(BrokerMachine::begin_drain) {
            return self.panicked(panic);
        }
        let began = self.world.now().instant;
        let limit = Instant(began.0 + DRAIN_NS_MAX);
        let is_drained = |run: &Run| run.boot != boot || run.broker.as_ref().is_none_or(BrokerMachine::is_drained);
        self.is_draining = true;
        let is_drained = self.until(limit, is_drained);
        self.is_draining = false;
        if self.is_over || self.boot != boot {
            // It went down before it came to its end.
            return;
        }
        self.faults.take(&self.world, self.boot);
        let may_be_slow = self.scenario.oracle.grants(Excuse::SlowStop, !self.has_had_no_fault());
        let is_slow = self.world.now().instant.0 - began.0 > SOUND_DRAIN_NS_MAX && !may_be_slow;
        let is_too_slow = is_slow || !is_drained && self.is_network_sound() && self.is_disk_sound();
        if is_too_slow && self.clients.iter().all(|seat| seat.client.takes_answers()) {
            let waiting = self.broker.iter().map(BrokerMachine::waits_for).collect();
            self.history.violate(Violation::StopsInTheMiddle { waiting });
        }
        let stopped = self.broker.as_ref().map(|broker| unless_panicked(|| broker.shut_down()));
        self.faults.take(&self.world, self.boot);
        if self.has_died() {
            self.broker = None;
            return self.start();
        }
        match stopped {
            Some(Err(panic)) => return self.panicked(panic),
            Some(Ok(Err(reason))) => {
                if self.is_calm || self.is_disk_sound() {
                    self.history.violate(Violation::DoesNotStop { reason });
                }
                self.go_down(Crash::Power);
            }
            // What lies in a directory that was offline then is not synced.
            Some(Ok(Ok(()))) if self.may_lack_directory() => self.go_down(Crash::Power),
            Some(Ok(Ok(()))) | None => {
                // What was synced in order survives the power cut that follows, also what no sync was asked for.
                self.world.crash(Crash::Power);
                self.broker = None;
                self.deaths = self.world.crashes();
                self.armed = None;
                self.was_stopped_in_order = true;
                self.history.readable().forget();
                self.history.deleted().forget(true);
                self.note_destroyed();
            }
        }
        self.start();
    }

    pub(super) fn restart(&mut self, crash: Crash) {
        self.go_down(crash);
        self.start();
    }

    pub(super) fn go_down(&mut self, crash: Crash) {
        tracing::info!(at = self.world.now().instant.0, ?crash, "the broker goes down");
        match self.broker.take() {
            Some(broker) => broker.crash(crash),
            None => self.world.crash(crash),
        }
        self.armed = None;
        self.note_death(crash);
    }

    /// Starts the broker. A start that a fault has spoilt, or in the middle of which it went down, is tried again.
    pub(super) fn start(&mut self) {
        for attempt in 0.. {
            if self.is_over {
                return;
            }
            self.boot += 1;
            // What struck while another broker left its data, the first start finds.
            self.faults_before = if self.boot == 1 { 0 } else { self.world.fired_count() };
            self.arm_start(attempt);
            self.plan.layout.name_directories(self.world.log_directories());
            let has_metadata = !self.world.is_disk_in_trouble(Path::new(METADATA_DIRECTORY));
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
                    if !has_metadata {
                        self.history.violate(Violation::StartsWithoutMetadata);
                    }
                    self.is_established = true;
                    self.world.let_disks_go_missing();
                    if self.deaths > 0 {
                        self.restart_effects.get_or_insert(self.world.disk_effects() - effects_before);
                    }
                    self.role_names = broker.names();
                    self.broker = Some(broker);
                    if !self.was_stopped_in_order {
                        self.history.destroyed().recovered();
                    }
                    self.was_stopped_in_order = false;
                    break;
                }
                Ok(Err(error)) if has_metadata && !self.is_start_excused() => {
                    self.history.violate(Violation::DoesNotStart { reason: error.to_string() });
                    self.is_over = true;
                }
                Ok(Err(error)) => {
                    tracing::info!(at = self.world.now().instant.0, %error, "a fault has spoilt the start");
                    self.fail_start(attempt);
                }
                Err(panic) => self.panicked(panic),
            }
        }
        self.is_fresh = self.is_calm;
        if self.is_calm {
            self.world.let_live();
            self.armed = None;
        }
        self.wake_all();
    }

    /// Whether a start may fail on metadata that are there: a fault struck in it, or nothing can be written, or a sector is bad, which the operator replaces.
    /// No cluster begins while a log directory cannot be used.
    pub(super) fn is_start_excused(&self) -> bool {
        let has_fired = self.world.fired_count() > self.faults_before;
        let mut directories = self.plan.layout.directories.paths.iter();
        let is_closed = if self.is_established {
            self.world.is_disk_closed(Path::new(METADATA_DIRECTORY))
        } else {
            directories.any(|directory| self.world.is_disk_closed(directory)) || self.world.has_disk_trouble()
        };
        let is_due = self.world.replace_bad_sectors() || is_closed || has_fired;
        // Without an end, whoever excuses all would try for ever.
        self.scenario.oracle.grants(Excuse::SpoiltStart, is_due) && (is_due || !self.is_calm)
    }

    /// Some starts come to an early end, also those that mend what an earlier end has left.
    pub(super) fn arm_start(&mut self, attempt: u32) {
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

    pub(super) fn fail_start(&mut self, attempt: u32) {
        if attempt >= FAILED_STARTS_MAX {
            self.calm_down();
        }
        if !self.is_established || self.world.is_disk_in_trouble(Path::new(METADATA_DIRECTORY)) {
            // Without the operator no start would ever succeed.
            self.world.mend_disks();
        }
        let power = self.world.value(Site::StopStyle, 1).happens(500_000);
        self.go_down(if power { Crash::Power } else { Crash::Process });
        self.wait_to_start();
    }

    pub(super) fn wait_to_start(&mut self) {
        let delay = self.world.value(Site::RestartDelay, 0).between(1_000, 20_000_000);
        self.world.advance_to(Instant(self.world.now().instant.0 + delay));
    }
}
