//! Who can go on in a run, what a step of it is, and how time jumps when nobody can.
//!
//! It must not know how the broker comes and goes.

use klamm::types::Instant;

use super::{ANSWER_NS_MAX, Run};
use crate::broker_machine::BrokerMachine;
use crate::checker::Violation;
use crate::client::ClientContext;
use crate::keyed::Site;
use crate::panics::Panic;
use crate::scheduler::Party;
use crate::world::Crash;

/// Turns in which only upkeep by the clock was done before the run counts as asleep.
const UPKEEP_TURNS_MAX: u32 = 3;
/// Steps that such a turn takes at most.
const UPKEEP_STEPS_MAX: u64 = 6;

impl Run {
    /// Nobody can go on before something comes to its time: time jumps there, unless it is plain that somebody waits in vain.
    pub(super) fn sleep(&mut self, limit: Instant) {
        let now = self.world.now().instant;
        let broker = self.broker.as_ref();
        let clients = self.clients.iter().filter_map(|seat| seat.deadline).min();
        let crash = self.plan.crashes.first().map(|crash| crash.at).filter(|_| !self.is_calm && !self.is_draining);
        let outside = [self.world.next_due(), clients, crash].into_iter().flatten().min();
        let work = [outside, broker.and_then(BrokerMachine::next_work_due)].into_iter().flatten().min();
        let next = [outside, broker.and_then(BrokerMachine::next_due)].into_iter().flatten().min();
        // Others wait for what one who fell silent holds, until its connections have been idle for too long.
        let work = if self.plan.layout.closes_idle && self.plan.vanisher.is_some() { next } else { work };
        let somebody_waits = self.clients.iter().any(|seat| !seat.client.is_done());
        if self.is_calm && !self.is_draining && somebody_waits {
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
        self.faults.take(&self.world, self.boot);
        // Where memory is scarce a request may have been read and wait for it all the same.
        let may_wait = self.plan.has_little_memory || self.faults.may_delay(now);
        if self.clocks.paused_until(now).is_none() && !may_wait {
            self.world.rest();
        }
        self.clocks.strike(&self.world);
        let next = match self.clocks.paused_until(now) {
            Some(until) => outside.into_iter().chain([until]).min(),
            None => next.map(|next| self.clocks.fires_at(&self.world, next)),
        };
        self.world.advance_to(next.map_or(limit, |next| next.min(limit)));
    }

    pub(super) fn runnable(&self, parties: &mut Vec<Party>) {
        parties.clear();
        let moment = self.world.moment();
        let now = moment.now();
        if self.clocks.paused_until(now).is_none() {
            parties.extend(self.broker.iter().flat_map(|broker| broker.runnable(&moment).map(Party::Role)));
        }
        for (index, seat) in self.clients.iter().enumerate() {
            if seat.is_awake || seat.deadline.is_some_and(|deadline| deadline <= now) {
                parties.push(Party::Client { seat: index, number: seat.number });
            }
        }
    }

    /// Wakes the clients whose sockets have news.
    pub(super) fn hear_news(&mut self) {
        while let Some(identity) = self.world.next_touched_client() {
            let number = u32::try_from(identity >> 32).unwrap_or(0);
            for seat in self.clients.iter_mut().filter(|seat| seat.number == number) {
                seat.is_awake = true;
            }
        }
    }

    pub(super) fn step_role(&mut self, number: usize) {
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
        if let Err(panic) = stepped {
            return self.panicked(panic);
        }
        if self.broker.as_ref().is_some_and(BrokerMachine::must_stop) {
            let power = self.world.value(Site::StopStyle, 0).happens(500_000);
            self.restart(if power { Crash::Power } else { Crash::Process });
        }
    }

    pub(super) fn panicked(&mut self, Panic { message, place }: Panic) {
        self.history.violate(Violation::Panicked { message, place });
        // Its locks are poisoned: dropping it would panic again.
        std::mem::forget(self.broker.take());
        self.is_over = true;
    }

    pub(super) fn step_client(&mut self, index: usize) {
        // Without a broker nobody listens; clients learn it like anyone else, when the next one has started.
        let Some(broker) = self.broker.as_ref().map(BrokerMachine::address) else { return };
        self.faults.take(&self.world, self.boot);
        let (is_calm, is_draining, boot) = (self.is_calm, self.is_draining, self.boot);
        let is_sound_so_far = (is_calm || self.is_network_sound()) && !self.plan.layout.closes_idle;
        let is_network_sound = is_sound_so_far && self.plan.operator.is_none();
        let is_disk_sound = self.is_fresh || self.is_disk_sound();
        let are_others_sound =
            !self.faults.of_parts && self.faults.struck_in != self.boot && self.plan.descriptors_max.is_none();
        let is_machine_sound = !self.faults.of_machine && self.plan.descriptors_max.is_none();
        let network_faults = self.faults.of_network;
        let history = &mut self.history;
        let Some(seat) = self.clients.get_mut(index) else { return };
        let mut context = ClientContext {
            world: &self.world,
            broker,
            history,
            is_calm,
            is_draining,
            boot,
            is_network_sound,
            network_faults,
            is_disk_sound,
            are_others_sound,
            is_time_sound: !self.faults.of_time,
            is_machine_sound,
        };
        seat.is_awake = false;
        seat.deadline = seat.client.step(&mut context);
    }

    /// Whether nothing has struck so far that ends a connection.
    pub(super) fn is_network_sound(&self) -> bool {
        self.faults.of_network == 0 && self.plan.descriptors_max.is_none()
    }

    /// Whether nothing has struck so far that is wrong with the disk.
    pub(super) fn is_disk_sound(&self) -> bool {
        !self.faults.of_disk && self.plan.descriptors_max.is_none()
    }

    /// Whether nothing at all has struck so far, but for what a power cut leaves.
    pub(super) fn has_had_no_fault(&self) -> bool {
        self.world.fired_count() == 0 && self.plan.descriptors_max.is_none()
    }

    pub(super) fn wake_all(&mut self) {
        self.clients.iter_mut().for_each(|seat| seat.is_awake = true);
    }
}
