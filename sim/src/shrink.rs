//! Makes a scenario that breaks a promise small, while it breaks the same promise: faults, clients, operations, the plan, values.
//!
//! Keyed decisions leave everything else in place when one is taken away. It must not know how a run works, nor the time: whoever asks
//! says how long it may go on.

use std::collections::BTreeSet;

use crate::keyed::{Fired, Select, Site, SiteKind};
use crate::minimise::minimise;
use crate::reduction::Simple;
use crate::run::{RunReport, run, run_within};
use crate::scenario::Scenario;

/// The most rounds over all parts of a scenario.
const ROUNDS_MAX: u32 = 4;
/// A run that takes more steps than this, and than twice those of the smallest that is known, is no smaller one: time is better spent on others.
const STEPS_SPARE: u64 = 5_000;

/// A scenario that cannot be made smaller, or not in the time there was.
#[derive(Debug)]
pub struct Shrunk {
    /// What is left.
    pub scenario: Scenario,
    /// How it runs.
    pub report: RunReport,
    /// Runs that were made.
    pub runs: u32,
    /// What else was found on the way, with the scenario that shows it: one each.
    pub others: Vec<(String, Scenario)>,
}

/// Why there is nothing to shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotShrunk {
    /// The run breaks no promise.
    #[error("the run breaks no promise: there is nothing to shrink")]
    Sound,
    /// A fault does something that its name does not tell: a mistake of the simulator.
    #[error("the run is another one when its faults are set to fire by their names: the simulator is wrong")]
    NotByName,
}

/// Shrinks a scenario that breaks a promise. Asks `may_go_on` before each run.
pub fn shrink(mut scenario: Scenario, may_go_on: impl FnMut() -> bool) -> Result<Shrunk, NotShrunk> {
    let drawn = run(scenario.clone());
    let identity = drawn.violations.first().ok_or(NotShrunk::Sound)?.identity();
    // From now on the faults that fired are set to fire, each by its name, and no other does: the same run.
    scenario.world.fire_only(&drawn.fired);
    let report = run(scenario.clone());
    if report.hash != drawn.hash {
        return Err(NotShrunk::NotByName);
    }
    let mut shrinker = Shrinker { identity, scenario, report, runs: 2, others: Vec::new(), may_go_on };
    for _ in 0..ROUNDS_MAX {
        let runs = shrinker.runs;
        // What takes away most comes first, and makes all later runs shorter.
        let changed = shrinker.kinds_of_faults()
            | shrinker.clients()
            | shrinker.plan()
            | shrinker.chaos()
            | shrinker.faults()
            | shrinker.values();
        if !changed || shrinker.runs == runs {
            break;
        }
    }
    let Shrinker { scenario, report, runs, others, .. } = shrinker;
    Ok(Shrunk { scenario, report, runs, others })
}

struct Shrinker<Ask> {
    identity: String,
    scenario: Scenario,
    report: RunReport,
    runs: u32,
    others: Vec<(String, Scenario)>,
    may_go_on: Ask,
}

impl<Ask: FnMut() -> bool> Shrinker<Ask> {
    /// Whether a changed scenario still breaks the promise; if so, it takes the old one's place.
    fn still_fails(&mut self, change: impl FnOnce(&mut Scenario)) -> bool {
        if !(self.may_go_on)() {
            return false;
        }
        let mut scenario = self.scenario.clone();
        change(&mut scenario);
        let report = run_within(scenario.clone(), 2 * self.report.steps + STEPS_SPARE);
        self.runs += 1;
        let Some(identity) = report.violations.first().map(|violation| violation.identity()) else { return false };
        if identity != self.identity {
            if self.others.iter().all(|(known, _)| *known != identity) {
                self.others.push((identity, scenario));
            }
            return false;
        }
        (self.scenario, self.report) = (scenario, report);
        true
    }

    fn fired(&self) -> Vec<Fired> {
        self.report.fired.clone()
    }

    fn kinds_of_faults(&mut self) -> bool {
        let before = self.report.fired.len();
        self.groups_of_faults(|fault| fault.site);
        self.report.fired.len() < before
    }

    /// First all faults of one connection or file, then single ones.
    fn faults(&mut self) -> bool {
        let before = self.report.fired.len();
        self.groups_of_faults(|fault| (fault.site, fault.entity));
        let fired = self.fired();
        minimise(&fired, |left| self.fire(left));
        self.report.fired.len() < before
    }

    fn groups_of_faults<Group: Ord + Copy>(&mut self, group: impl Fn(&Fired) -> Group) {
        let fired = self.fired();
        let groups: Vec<Group> = fired.iter().map(&group).collect::<BTreeSet<_>>().into_iter().collect();
        minimise(&groups, |left| {
            let kept: Vec<Fired> = fired.iter().filter(|fault| left.contains(&group(fault))).copied().collect();
            self.fire(&kept)
        });
    }

    fn fire(&mut self, faults: &[Fired]) -> bool {
        self.still_fails(|scenario| scenario.world.fire_only(faults))
    }

    /// Whole clients go first, those with the most work first; then the operations of those who are left.
    fn clients(&mut self) -> bool {
        let mut changed = false;
        let mut clients: Vec<(u32, u32)> =
            self.report.operations.iter().map(|(client, count)| (*count, *client)).collect();
        clients.sort_unstable_by(|left, right| right.cmp(left));
        for (_, client) in clients {
            changed |= self.operations_max(client, 0);
        }
        for (client, count) in self.report.operations.clone() {
            changed |= self.fewest(count, |shrinker, most| shrinker.operations_max(client, most));
        }
        changed
    }

    fn operations_max(&mut self, client: u32, most: u32) -> bool {
        self.still_fails(|scenario| {
            scenario.reduction.operations.insert(client, most);
        })
    }

    /// Takes away from a number, in ever smaller steps, what can go.
    fn fewest(&mut self, mut count: u32, mut try_with: impl FnMut(&mut Self, u32) -> bool) -> bool {
        let before = count;
        let mut step = count / 2;
        while step > 0 {
            if count > step && try_with(self, count - step) {
                count -= step;
            } else {
                step /= 2;
            }
        }
        count < before
    }

    fn plan(&mut self) -> bool {
        let mut changed = false;
        while !self.scenario.world.overrides.turns.is_empty()
            && self.still_fails(|scenario| {
                scenario.world.overrides.turns.pop();
            })
        {
            changed = true;
        }
        for simple in Simple::ALL {
            if !self.scenario.reduction.has(*simple) {
                changed |= self.still_fails(|scenario| {
                    scenario.reduction.simple.insert(*simple);
                });
            }
        }
        changed
    }

    /// A shorter time of faults.
    fn chaos(&mut self) -> bool {
        let mut changed = false;
        while self.report.chaos_ns > 1_000_000 {
            let half = self.report.chaos_ns / 2;
            if !self.still_fails(|scenario| scenario.reduction.chaos_ns_max = Some(half)) {
                break;
            }
            changed = true;
        }
        changed
    }

    /// Every number of a kind as small as it can be.
    fn values(&mut self) -> bool {
        let mut changed = false;
        for site in Site::ALL.iter().filter(|site| site.kind() == SiteKind::Value) {
            let select = Select::Site(*site);
            if !self.scenario.world.overrides.values.contains_key(&select) {
                changed |= self.still_fails(|scenario| {
                    scenario.world.overrides.values.insert(select, 0);
                });
            }
        }
        changed
    }
}
