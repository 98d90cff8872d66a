//! The simulated clock: time stands still until the scheduler moves it.
//!
//! It must not know who asks.

use klamm::env::Clock;
use klamm::types::{Instant, Now, WallTime};

use crate::flaw::Flaw;
use crate::kernel::Shared;

/// Reads the machine's time.
#[derive(Clone, Debug)]
pub struct SimClock {
    shared: Shared,
}

impl SimClock {
    pub(crate) fn new(shared: Shared) -> SimClock {
        SimClock { shared }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Now {
        let kernel = self.shared.lock();
        let mut now = kernel.clocks();
        if kernel.flawed(Flaw::ClockGoesBack) {
            now.instant = Instant(u64::MAX - now.instant.0);
        }
        if kernel.flawed(Flaw::ClockRunsSlow) {
            now.instant = Instant(now.instant.0 / 2);
        }
        if kernel.flawed(Flaw::WallStandsStill) {
            now.wall = WallTime(0);
        }
        now
    }

    fn stopwatch(&self) -> Instant {
        let kernel = self.shared.lock();
        if kernel.flawed(Flaw::StopwatchOfItsOwn) {
            return Instant(kernel.now.0 + 1);
        }
        kernel.now
    }
}
