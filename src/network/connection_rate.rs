//! The rate of new connections over sliding windows, and how long one must wait for the rate to be right (Kafka's `Rate` sensor).
//!
//! Integers only, so that the simulator repeats it everywhere. It must not know whose connections it counts.

use std::collections::VecDeque;
use std::time::Duration;

use crate::types::Instant;

/// Counts per window.
#[derive(Debug)]
pub(crate) struct ConnectionRate {
    windows_max: usize,
    window: Duration,
    samples: VecDeque<(Instant, u64)>,
}

impl ConnectionRate {
    pub(crate) fn new(windows_max: usize, window: Duration) -> ConnectionRate {
        ConnectionRate { windows_max: windows_max.max(1), window, samples: VecDeque::new() }
    }

    /// Counts one.
    pub(crate) fn record(&mut self, now: Instant) {
        self.forget_old(now);
        match self.samples.back_mut() {
            Some((start, count)) if now < start.after(self.window) => *count += 1,
            _ => self.samples.push_back((now, 1)),
        }
    }

    /// The time after which the rate is back at `limit` per second if nothing more comes, at most one window.
    pub(crate) fn throttle(&mut self, now: Instant, limit: u32) -> Duration {
        self.forget_old(now);
        let Some((oldest, _)) = self.samples.front() else { return Duration::ZERO };
        if limit == u32::MAX {
            return Duration::ZERO;
        }
        let elapsed = now.since(*oldest).max(self.window * (u32::try_from(self.windows_max).unwrap_or(u32::MAX) - 1));
        let count: u64 = self.samples.iter().map(|(_, count)| count).sum();
        let needed = match u64::from(limit) {
            0 => return self.window,
            limit => Duration::from_nanos(count.saturating_mul(1_000_000_000) / limit),
        };
        needed.saturating_sub(elapsed).min(self.window)
    }

    fn forget_old(&mut self, now: Instant) {
        let kept = self.window * u32::try_from(self.windows_max).unwrap_or(u32::MAX);
        while self.samples.front().is_some_and(|(start, _)| start.after(kept) <= now) {
            self.samples.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectionRate;
    use crate::types::Instant;
    use std::time::Duration;

    #[test]
    fn a_rate_below_the_limit_never_throttles_and_one_above_does() {
        let mut slow = ConnectionRate::new(11, Duration::from_secs(1));
        let mut fast = ConnectionRate::new(11, Duration::from_secs(1));
        let mut throttled = 0;
        for tick in 0..1_000u64 {
            let now = Instant(tick * 100_000_000);
            slow.record(now);
            assert_eq!(slow.throttle(now, 11), Duration::ZERO);
            fast.record(now);
            throttled += u32::from(fast.throttle(now, 5) > Duration::ZERO);
        }
        assert!(throttled > 800, "{throttled}");
    }

    #[test]
    fn a_limit_of_zero_always_waits_a_window() {
        let mut rate = ConnectionRate::new(11, Duration::from_secs(1));
        rate.record(Instant(0));
        assert_eq!(rate.throttle(Instant(0), 0), Duration::from_secs(1));
    }
}
