//! The real clock.
//!
//! It must not know who asks; the monotonic part counts from the clock's own making.

use std::time::{Instant as SystemInstant, SystemTime, UNIX_EPOCH};

use crate::env::Clock;
use crate::types::{Instant, Now, WallTime};

/// Reads the system's monotonic and wall clocks.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: SystemInstant,
}

impl SystemClock {
    /// A clock whose monotonic part is zero now.
    pub fn new() -> SystemClock {
        SystemClock { start: SystemInstant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Now {
        Now { instant: self.stopwatch(), wall: wall_time(SystemTime::now()) }
    }

    fn stopwatch(&self) -> Instant {
        Instant(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A system time as milliseconds since 1970, negative before.
pub(super) fn wall_time(time: SystemTime) -> WallTime {
    let milliseconds = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |distance| -distance),
    };
    WallTime(milliseconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn monotonic_time_does_not_go_back() {
        let clock = SystemClock::new();
        let first = clock.now();
        let second = clock.now();
        assert!(second.instant >= first.instant);
        assert!(clock.stopwatch() >= second.instant);
    }

    #[test]
    fn wall_time_counts_milliseconds_on_both_sides_of_1970() {
        assert_eq!(wall_time(UNIX_EPOCH + Duration::from_millis(1_500)), WallTime(1_500));
        assert_eq!(wall_time(UNIX_EPOCH - Duration::from_millis(1_500)), WallTime(-1_500));
    }
}
