//! Who steps next: one of several policies, drawn per seed, since each finds bugs that the others hide.
//!
//! It must not know what a step does.

use crate::keyed::{Site, draw_config};
use crate::world::World;

/// Who may be stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    /// A role of the broker, by number.
    Role(usize),
    /// A client, by seat.
    Client(usize),
}

impl Party {
    /// A number that means the same party in every run of the seed.
    fn number(self) -> u64 {
        match self {
            Party::Role(number) => number as u64,
            Party::Client(seat) => 1_000 + seat as u64,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Policy {
    /// Each runnable party with the same chance.
    Uniform,
    /// The one with the highest priority; priorities are drawn again now and then.
    Priorities { steps_between: u64 },
    /// The same as before as long as it can.
    ToIdle,
    /// One after the other.
    RoundRobin,
    /// Some parties only when nobody else can.
    Starve { remainder: u64 },
}

/// Chooses.
#[derive(Debug)]
pub(crate) struct Scheduler {
    seed: u64,
    policy: Policy,
    last: Option<Party>,
    steps: u64,
}

impl Scheduler {
    /// The policy that `seed` draws.
    pub(crate) fn new(seed: u64) -> Scheduler {
        let draw = draw_config(seed, Site::SchedulerPolicy, 0);
        let policy = match draw.below(8) {
            0..3 => Policy::Uniform,
            3 | 4 => Policy::Priorities { steps_between: draw.part(0).between(5, 200) },
            5 => Policy::ToIdle,
            6 => Policy::RoundRobin,
            _ => Policy::Starve { remainder: draw.part(0).below(4) },
        };
        Scheduler { seed, policy, last: None, steps: 0 }
    }

    /// Steps taken so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// One of `parties`, which are some.
    pub(crate) fn pick(&mut self, world: &World, parties: &[Party]) -> Party {
        self.steps += 1;
        let picked = match self.policy {
            Policy::Uniform => uniform(world, parties),
            Policy::Priorities { steps_between } => {
                let era = self.steps / steps_between;
                let priority = |party: &&Party| {
                    draw_config(self.seed, Site::SchedulerPolicy, (party.number() + 1) << 32 | era).below(1 << 40)
                };
                parties.iter().max_by_key(priority).copied()
            }
            Policy::ToIdle => {
                let same = self.last.filter(|last| parties.contains(last));
                same.or_else(|| uniform(world, parties))
            }
            Policy::RoundRobin => {
                let last = self.last.map_or(u64::MAX, Party::number);
                let next = parties.iter().filter(|party| party.number() > last).min_by_key(|party| party.number());
                next.or_else(|| parties.iter().min_by_key(|party| party.number())).copied()
            }
            Policy::Starve { remainder } => {
                let others: Vec<Party> =
                    parties.iter().filter(|party| party.number() % 4 != remainder).copied().collect();
                uniform(world, if others.is_empty() { parties } else { &others })
            }
        };
        let picked = picked.expect("somebody is runnable");
        self.last = Some(picked);
        picked
    }
}

fn uniform(world: &World, parties: &[Party]) -> Option<Party> {
    let draw = world.value(Site::SchedulerPick, 0);
    parties.get(usize::try_from(draw.below(parties.len() as u64)).unwrap_or(0)).copied()
}
