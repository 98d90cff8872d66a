//! The simulated clock: time stands still until the scheduler moves it.
//!
//! It must not know who asks.

use klamm::env::Clock;
use klamm::types::{Instant, Now};

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
        self.shared.lock().clocks()
    }

    fn stopwatch(&self) -> Instant {
        self.shared.lock().now
    }
}
