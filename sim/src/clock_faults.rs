//! What happens to the machine's clocks while faults are about: the wall clock is set, stepped and bent, timers fire late, and sometimes the
//! whole machine stands still.
//!
//! It must not know who reads a clock. Monotonic time only goes on; wall time stays within some days of it.

use klamm::types::Instant;

use crate::keyed::{Draw, Site};
use crate::world::World;

const MILLISECOND: u64 = 1_000_000;
/// How far the wall clock is ever off. Twice that is less than what the broker keeps records and offsets for.
const OFF_MS_MAX: i64 = 3 * 86_400_000;
/// How far a jump goes: minutes, hours, days.
const JUMPS_MS: [i64; 3] = [600_000, 4 * 3_600_000, OFF_MS_MAX];
/// One second in a day, in parts of a million.
const SMEAR_PPM: i64 = -12;
const DRIFT_PPM_MAX: u64 = 500;

/// The state of the clocks' faults.
#[derive(Debug, Default)]
pub(crate) struct ClockFaults {
    /// How far the wall clock has been moved.
    wall_off_ms: i64,
    /// Until when nothing of the broker runs.
    paused_until: Option<Instant>,
}

impl ClockFaults {
    /// Strikes just before time goes on by itself.
    pub(crate) fn strike(&mut self, world: &World) {
        let now = world.now().instant;
        let moment = now.0 / MILLISECOND;
        if let Some(draw) = world.fault(Site::WallJump, moment) {
            let most = JUMPS_MS[usize::try_from(draw.part(0).below(3)).unwrap_or(0)];
            self.set_wall(world, around_zero(draw, most));
        }
        if let Some(draw) = world.fault(Site::WallStep, moment) {
            self.set_wall(world, self.wall_off_ms + around_zero(draw, 50));
        }
        if let Some(draw) = world.fault(Site::WallStepsBack, moment) {
            self.set_wall(world, self.wall_off_ms - 1 - around_zero(draw, 500).abs());
        }
        if let Some(draw) = world.fault(Site::ClockDrift, moment) {
            world.bend_wall(around_zero(draw, i64::try_from(DRIFT_PPM_MAX).unwrap_or(0)));
        }
        if world.fault(Site::LeapSmear, moment).is_some() {
            world.bend_wall(SMEAR_PPM);
        }
        if let Some(draw) = world.fault(Site::NodePause, moment) {
            self.paused_until = Some(Instant(now.0 + draw.exponential(800 * MILLISECOND)));
        }
    }

    /// When a timer fires that is set for this time.
    pub(crate) fn fires_at(&self, world: &World, due: Instant) -> Instant {
        let slack =
            world.fault(Site::MachineLate, due.0 / MILLISECOND).map_or(0, |draw| draw.exponential(10 * MILLISECOND));
        Instant(due.0.saturating_add(slack))
    }

    /// Until when the machine stands still, if it does.
    pub(crate) fn paused_until(&self, now: Instant) -> Option<Instant> {
        self.paused_until.filter(|until| now < *until)
    }

    /// The machine goes on.
    pub(crate) fn resume(&mut self) {
        self.paused_until = None;
    }

    fn set_wall(&mut self, world: &World, off_ms: i64) {
        let off_ms = off_ms.clamp(-OFF_MS_MAX, OFF_MS_MAX);
        world.jump_wall(off_ms - self.wall_off_ms);
        self.wall_off_ms = off_ms;
    }
}

/// A number from `-most` to `most`.
fn around_zero(draw: Draw, most: i64) -> i64 {
    let span = u64::try_from(most).unwrap_or(0) * 2 + 1;
    i64::try_from(draw.below(span)).unwrap_or(0) - most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::{Mode, Overrides, Swarm};
    use crate::world::WorldOptions;

    fn world(site: Site) -> World {
        let mut swarm = Swarm::with_mode(1, Mode::Calm);
        swarm.set_rate(site, 1_000_000);
        World::new(WorldOptions { seed: 1, swarm, overrides: Overrides::default(), flaw: None })
    }

    #[test]
    fn a_jump_moves_the_wall_clock_and_not_the_monotonic_one() {
        let world = world(Site::WallJump);
        let (before, mut clocks) = (world.now(), ClockFaults::default());
        let walls = (0..20).map(|_| {
            clocks.strike(&world);
            world.now().wall.0 - before.wall.0
        });
        let walls: Vec<i64> = walls.collect();
        assert!(walls.iter().any(|off| *off < -60_000) && walls.iter().any(|off| *off > 60_000), "{walls:?}");
        assert!(walls.iter().all(|off| off.abs() <= OFF_MS_MAX), "{walls:?}");
        assert_eq!(world.now().instant, before.instant);
    }

    #[test]
    fn drift_bends_the_wall_clock_by_parts_of_a_million() {
        let world = world(Site::WallStep);
        let start = world.now().wall.0;
        world.bend_wall(500);
        world.advance_to(Instant(1_000_000 * MILLISECOND));
        assert_eq!(world.now().wall.0 - start, 1_000_500);
        world.bend_wall(-500);
        world.advance_to(Instant(2_000_000 * MILLISECOND));
        assert_eq!(world.now().wall.0 - start, 2_000_000);
    }

    #[test]
    fn a_paused_machine_stands_still_until_its_time() {
        let world = world(Site::NodePause);
        let mut clocks = ClockFaults::default();
        clocks.strike(&world);
        let until = clocks.paused_until(world.now().instant).expect("it stands still");
        assert_eq!(clocks.paused_until(until), None);
        clocks.resume();
        assert_eq!(clocks.paused_until(world.now().instant), None);
    }
}
