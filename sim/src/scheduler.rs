//! Who steps next: one of several policies, drawn per seed, since each finds bugs that the others hide.
//!
//! It must not know what a step does.

use crate::keyed::{Key, Site, draw_config};
use crate::world::World;

/// What is added to a client's number to tell it from a role.
pub(crate) const CLIENT_STEPS: u64 = 1_000;

/// Who may be stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    /// A role of the broker, by number.
    Role(usize),
    /// A client: where it sits, and its number, which stays its own when others are taken away.
    Client { seat: usize, number: u32 },
}

impl Party {
    /// A number that means the same party in every run of the seed.
    pub(crate) fn number(self) -> u64 {
        match self {
            Party::Role(number) => number as u64,
            Party::Client { number, .. } => CLIENT_STEPS + u64::from(number),
        }
    }

    /// Its place in a list of all parties: roles and clients take turns in it.
    fn place(self) -> usize {
        match self {
            Party::Role(number) => 2 * number,
            Party::Client { seat, .. } => 2 * seat + 1,
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

/// A party's place in the race of those who may step, and how often it has stepped.
#[derive(Clone, Copy, Debug, Default)]
struct Runner {
    steps: u64,
    /// Its next step comes so long after the moment at which it began to wait for it.
    began: u64,
    /// How long that is, once it is drawn.
    wait: Option<u64>,
}

/// Chooses. What it draws belongs to one step of one party, so that a change to one party's steps leaves the others' where they were.
#[derive(Debug)]
pub(crate) struct Scheduler {
    seed: u64,
    policy: Policy,
    last: Option<Party>,
    steps: u64,
    /// By place.
    runners: Vec<Runner>,
    /// When in the race the last picked one stepped.
    race_time: u64,
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
        Scheduler::with_policy(seed, policy)
    }

    /// Each in its turn, without a draw.
    pub(crate) fn in_turn(seed: u64) -> Scheduler {
        Scheduler::with_policy(seed, Policy::RoundRobin)
    }

    fn with_policy(seed: u64, policy: Policy) -> Scheduler {
        Scheduler { seed, policy, last: None, steps: 0, runners: Vec::new(), race_time: 0 }
    }

    /// Steps taken so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// One of `parties`, which are some.
    pub(crate) fn pick(&mut self, world: &World, parties: &[Party]) -> Party {
        self.steps += 1;
        let picked = match self.policy {
            Policy::Uniform => self.race(world, parties),
            Policy::Priorities { steps_between } => {
                let era = self.steps / steps_between;
                let priority = |party: &&Party| {
                    draw_config(self.seed, Site::SchedulerPolicy, (party.number() + 1) << 32 | era).below(1 << 40)
                };
                parties.iter().max_by_key(priority).copied()
            }
            Policy::ToIdle => {
                let same = self.last.filter(|last| parties.contains(last));
                same.or_else(|| self.race(world, parties))
            }
            Policy::RoundRobin => {
                let last = self.last.map_or(u64::MAX, Party::number);
                let next = parties.iter().filter(|party| party.number() > last).min_by_key(|party| party.number());
                next.or_else(|| parties.iter().min_by_key(|party| party.number())).copied()
            }
            Policy::Starve { remainder } => {
                let others: Vec<Party> =
                    parties.iter().filter(|party| party.number() % 4 != remainder).copied().collect();
                self.race(world, if others.is_empty() { parties } else { &others })
            }
        };
        let picked = picked.expect("somebody is runnable");
        self.last = Some(picked);
        picked
    }

    /// Who comes first if each waits for a time of its own, drawn anew for each of its steps: as good as a die for all, since such times
    /// have no memory, but nobody's step moves another one's.
    fn race(&mut self, world: &World, parties: &[Party]) -> Option<Party> {
        let mut first: Option<(u64, Party)> = None;
        for party in parties {
            let (number, place) = (party.number(), party.place());
            if self.runners.len() <= place {
                self.runners.resize(place + 1, Runner::default());
            }
            let runner = &mut self.runners[place];
            let wait = *runner.wait.get_or_insert_with(|| {
                let draw = world.value_at(Key { site: Site::SchedulerPick, entity: number, ordinal: runner.steps });
                draw.exponential(1 << 20).saturating_add(draw.part(0).below(1 << 14))
            });
            if runner.began.saturating_add(wait) < self.race_time {
                // Its time passed while it had nothing to do.
                runner.began = self.race_time;
            }
            let at = runner.began.saturating_add(wait);
            if first.is_none_or(|(earliest, _)| at < earliest) {
                first = Some((at, *party));
            }
        }
        let (at, party) = first?;
        self.race_time = at;
        let runner = &mut self.runners[party.place()];
        *runner = Runner { steps: runner.steps + 1, began: at, wait: None };
        Some(party)
    }
}
