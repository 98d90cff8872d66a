//! One role of the broker under the scheduler: when it may be stepped, and what a step does.
//!
//! Sleep is modelled, not guessed: a sleeping role is stepped on an edge, a wake or its deadline, and at no other time. It must not know
//! who is stepped when.

use std::sync::Arc;

use klamm::env::{Role, Step};
use klamm::network::{Acceptor, Processor};
use klamm::server::RequestHandler;
use klamm::types::{Instant, Now};

use crate::keyed::Site;
use crate::sim_disk::{DeferredSync, SimDisk};
use crate::sim_parker::SimParker;
use crate::sim_selector::{SelectorId, SimSelector};
use crate::world::{Moment, World};

/// A role and the state of its sleep.
pub(crate) struct Actor {
    role: ActorRole,
    /// What it is called in a report.
    name: String,
    /// All that it does is upkeep by the clock, which nobody waits for.
    is_upkeep: bool,
    /// It has said that the broker cannot go on.
    has_stopped: bool,
    /// It is not stepped any more, since the broker stops in order.
    has_ended: bool,
    /// Its last step had work, so that there may be more.
    is_awake: bool,
    deadline: Option<Instant>,
}

enum ActorRole {
    Acceptor(Box<Acceptor<SimSelector>>, SelectorId),
    /// The handler shares the Processor's driver and is stepped after it.
    Processor(Box<Processor<SimSelector>>, SelectorId, Option<RequestHandler>),
    Handler(RequestHandler, Arc<SimParker>),
    Background(Box<dyn Role>, Arc<SimParker>, Option<DeferredSync>),
}

impl Actor {
    pub(crate) fn acceptor(acceptor: Acceptor<SimSelector>) -> Actor {
        let selector = acceptor.selector().id();
        Actor::new("acceptor".to_string(), ActorRole::Acceptor(Box::new(acceptor), selector))
    }

    pub(crate) fn processor(processor: Processor<SimSelector>, handler: Option<RequestHandler>) -> Actor {
        let selector = processor.selector().id();
        let name = format!("processor {}", processor.id().0);
        Actor::new(name, ActorRole::Processor(Box::new(processor), selector, handler))
    }

    pub(crate) fn handler(handler: RequestHandler, parker: Arc<SimParker>) -> Actor {
        Actor::new("handler".to_string(), ActorRole::Handler(handler, parker))
    }

    pub(crate) fn background(role: Box<dyn Role>, parker: Arc<SimParker>) -> Actor {
        Actor::new(role.name(), ActorRole::Background(role, parker, None))
    }

    fn new(name: String, role: ActorRole) -> Actor {
        let is_upkeep = match &role {
            ActorRole::Background(..) => name == "log-keeper",
            // What a Processor waits for by time alone is that a connection was idle for too long.
            ActorRole::Processor(..) => true,
            ActorRole::Acceptor(..) | ActorRole::Handler(..) => false,
        };
        Actor { role, name, is_upkeep, has_stopped: false, has_ended: false, is_awake: true, deadline: None }
    }

    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has said that the broker cannot go on.
    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// The broker stops in order: nothing new is accepted or read.
    pub(crate) fn begin_drain(&mut self) {
        match &mut self.role {
            ActorRole::Acceptor(..) => self.has_ended = true,
            ActorRole::Processor(processor, ..) => processor.begin_drain(),
            ActorRole::Handler(..) | ActorRole::Background(..) => {}
        }
    }

    /// Whether it holds no request that is not answered.
    pub(crate) fn is_drained(&self) -> bool {
        match &self.role {
            ActorRole::Processor(processor, ..) => processor.is_drained(),
            ActorRole::Acceptor(..) | ActorRole::Handler(..) | ActorRole::Background(..) => true,
        }
    }

    /// Whether all that it does is upkeep by the clock, which nobody waits for.
    pub(crate) fn is_upkeep(&self) -> bool {
        self.is_upkeep
    }

    /// Why it does nothing, for a report.
    pub(crate) fn waits_for(&self, now: Instant) -> String {
        let until = |at: Instant| format!("{} ms", at.0.saturating_sub(now.0) / 1_000_000);
        match (&self.role, self.deadline) {
            (ActorRole::Background(_, _, Some(sync)), _) => format!("{} syncs for {}", self.name, until(sync.due)),
            (_, Some(deadline)) => format!("{} sleeps for {}", self.name, until(deadline)),
            (_, None) => format!("{} sleeps", self.name),
        }
    }

    /// Whether it may be stepped at this moment.
    pub(crate) fn is_runnable(&self, moment: &Moment<'_>) -> bool {
        if self.has_stopped || self.has_ended {
            return false;
        }
        let now = moment.now();
        let is_due = self.deadline.is_some_and(|deadline| deadline <= now);
        match &self.role {
            ActorRole::Acceptor(_, selector) | ActorRole::Processor(_, selector, _) => {
                self.is_awake || is_due || moment.is_selector_ready(*selector)
            }
            ActorRole::Handler(_, parker) => self.is_awake || is_due || parker.is_woken(),
            ActorRole::Background(_, _, Some(sync)) => sync.due <= now,
            ActorRole::Background(_, parker, None) => self.is_awake || is_due || parker.is_woken(),
        }
    }

    /// When it becomes runnable by time alone.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        match &self.role {
            ActorRole::Background(_, _, Some(sync)) => Some(sync.due),
            _ => self.deadline.filter(|_| !self.has_ended),
        }
    }

    /// A sleep may last longer than asked for, or end for no reason. `entity` is the role's number.
    pub(crate) fn sleep_badly(&mut self, world: &World, entity: u64) {
        if self.is_awake || self.has_stopped {
            return;
        }
        if let Some(deadline) = &mut self.deadline
            && let Some(draw) = world.fault(Site::TimerLate, entity)
        {
            *deadline = Instant(deadline.0.saturating_add(draw.exponential(20_000_000)));
        }
        if let Some(draw) = world.fault(Site::WokenForNothing, entity) {
            let at = Instant(world.now().instant.0 + draw.exponential(5_000_000));
            self.deadline = Some(self.deadline.map_or(at, |deadline| deadline.min(at)));
        }
    }

    /// Does one quantum. An error is one of the machine itself, such as a poll that failed; the role goes on.
    pub(crate) fn step(&mut self, disk: &SimDisk, now: Now) {
        let step = match &mut self.role {
            ActorRole::Acceptor(acceptor, _) => {
                // A failed poll has shown nothing; the role is stepped all the same, as by the real driver.
                let _ = acceptor.poll(None);
                acceptor.step(now)
            }
            ActorRole::Processor(processor, _, handler) => {
                let _ = processor.poll(None);
                let step = processor.step(now);
                let handled = handler.as_mut().is_some_and(|handler| matches!(handler.step(now), Step::Worked));
                if handled { Step::Worked } else { step }
            }
            ActorRole::Handler(handler, parker) => {
                parker.take_wake();
                handler.step(now)
            }
            ActorRole::Background(role, _, sync @ Some(_)) => {
                let result = sync.take().map_or(Ok(()), |sync| disk.finish_sync(sync));
                role.job_done(now, result);
                Step::Worked
            }
            ActorRole::Background(role, parker, sync) => {
                parker.take_wake();
                match role.step(now) {
                    Step::Job(job) => {
                        match disk.begin_sync(&job) {
                            Ok(deferred) => *sync = Some(deferred),
                            Err(error) => role.job_done(now, Err(error)),
                        }
                        Step::Worked
                    }
                    step => step,
                }
            }
        };
        self.has_stopped |= matches!(step, Step::Stopped);
        (self.is_awake, self.deadline) = match step {
            Step::Worked | Step::Job(_) => (true, None),
            Step::Idle { until } => (false, until),
            Step::Stopped => (false, None),
        };
    }
}
