//! Every way to go down: a short work is repeated, and each time the broker goes down before another of its effects on the disk; then again before
//! each effect of the recovery from that, and before each effect of a first start on what another broker has left.
//!
//! It must not know what an effect is. No other fault is about, so that what is found has one cause.

use crate::checker::Violation;
use crate::client::Habits;
use crate::heritage::Heritage;
use crate::plan::{Ending, Plan};
use crate::reduction::Reduction;
use crate::run::run_to_points;
use crate::scenario::Profile;
use crate::world::{Crash, WorldOptions};

/// How long the work goes on, at most.
const WORK_NS: u64 = 150_000_000;
/// So many effects of a first start are gone through.
const START_EFFECTS: u64 = 24;
const BATCHES_MAX: u32 = 4;
const ROUNDS_MAX: u32 = 3;

/// What came of all runs.
#[derive(Debug, Default)]
pub struct CrashPoints {
    /// Effects of the work.
    pub effects: u64,
    /// Effects of all recoveries from a visited point.
    pub recovery_effects: u64,
    /// Runs made.
    pub runs: u64,
    /// Runs in which the broker did not go down where it should have.
    pub missed: u64,
    /// Broken promises: the effects before which the broker went down, and what was found.
    pub violations: Vec<(Vec<u64>, Violation)>,
}

/// Goes through the points of the work that `seed` draws: all of them, or each so many'th only if there is no time for `every` = 1. The power is
/// cut; if `both`, the process is killed too, at each point in turn.
pub fn crash_points(seed: u64, both: bool, every: u64) -> CrashPoints {
    let plan = short_plan(seed);
    let (work, _) = run_to_points(WorldOptions::calm(seed), plan.clone(), &[]);
    let mut found = CrashPoints { effects: work.disk_effects, ..CrashPoints::default() };
    let kinds: &[Crash] = if both { &[Crash::Power, Crash::Process] } else { &[Crash::Power] };
    let step = usize::try_from(every.max(1)).unwrap_or(usize::MAX);
    for crash in kinds {
        for effect in (1..=found.effects).step_by(step) {
            let recovery = found.visit(seed, &plan, &[effect], *crash);
            found.recovery_effects += recovery;
            for again in (1..=recovery).step_by(step) {
                found.visit(seed, &plan, &[effect, again], *crash);
            }
        }
        for heritage in Heritage::ALL {
            let plan = Plan { heritage: Some(heritage), ..plan.clone() };
            for effect in 1..=START_EFFECTS {
                found.visit(seed, &plan, &[effect], *crash);
            }
        }
    }
    found
}

impl CrashPoints {
    /// Goes down at these points; says how many effects the recovery from the first had.
    fn visit(&mut self, seed: u64, plan: &Plan, points: &[u64], crash: Crash) -> u64 {
        let armed: Vec<(u64, Crash)> = points.iter().map(|effect| (*effect, crash)).collect();
        let (report, recovery) = run_to_points(WorldOptions::calm(seed), plan.clone(), &armed);
        self.runs += 1;
        // The power is cut once more before everything is read.
        self.missed += u64::from((report.crashes as usize) < points.len() + 1 && report.violations.is_empty());
        self.violations.extend(report.violations.into_iter().map(|violation| (points.to_vec(), violation)));
        recovery
    }
}

/// A work of some hundred effects: what the seed draws, cut short, with clients that behave.
fn short_plan(seed: u64) -> Plan {
    let mut plan = Plan::from_seed(seed, Profile::Swarm, &Reduction::default(), false);
    plan.producers.truncate(1);
    for producer in &mut plan.producers {
        (producer.batches, producer.habits) = (producer.batches.min(BATCHES_MAX), Habits::none());
    }
    plan.consumers.truncate(1);
    plan.consumers.iter_mut().for_each(|consumer| consumer.habits = Habits::none());
    plan.members.truncate(1);
    for member in &mut plan.members {
        (member.rounds, member.habits) = (member.rounds.min(ROUNDS_MAX), Habits::none());
    }
    (plan.admin, plan.garbage, plan.contrarian, plan.hoarder) = (None, None, None, None);
    plan.ages_offsets = false;
    plan.crashes.clear();
    plan.descriptors_max = None;
    plan.chaos_ns = WORK_NS;
    (plan.end_of_chaos, plan.before_final_reading) = (Ending::Nothing, Ending::Crash(Crash::Power));
    plan
}
