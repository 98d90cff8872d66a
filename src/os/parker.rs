//! Sleep and wake for a thread that waits on a queue instead of on a selector.
//!
//! It must not know the queue. A wake that comes before the sleep is kept, as with a selector's waker.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::env::Wake;

const RUNNING: u8 = 0;
const ASLEEP: u8 = 1;
const WOKEN: u8 = 2;

/// Lets one thread sleep until a wake or a timeout.
#[derive(Debug, Default)]
pub struct Parker {
    state: AtomicU8,
    gate: Mutex<()>,
    bell: Condvar,
}

impl Parker {
    /// A parker that nobody has woken yet.
    pub fn new() -> Parker {
        Parker::default()
    }

    /// Sleeps until a wake, at most `timeout` (for ever if `None`). A wake since the last sleep ends it at once. One thread only.
    pub fn sleep(&self, timeout: Option<Duration>) {
        if self.take_wake() {
            return;
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.compare_exchange(RUNNING, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_err() {
            self.state.store(RUNNING, Ordering::Release);
            return;
        }
        loop {
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => gate = self.bell.wait(gate).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => {
                    self.state.swap(RUNNING, Ordering::AcqRel);
                    return;
                }
                Some(left) => {
                    gate = self.bell.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
            if self.take_wake() {
                return;
            }
        }
    }

    fn take_wake(&self) -> bool {
        self.state.compare_exchange(WOKEN, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl Wake for Parker {
    fn wake(&self) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == ASLEEP {
            // The sleeper holds the gate from before it says ASLEEP until it waits; passing the gate puts the bell after that.
            drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
            self.bell.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    #[test]
    fn a_wake_before_the_sleep_ends_it_at_once() {
        let parker = Parker::new();
        parker.wake();
        parker.wake();
        parker.sleep(None);
    }

    #[test]
    fn many_wakes_before_the_sleep_are_one() {
        let parker = Parker::new();
        parker.wake();
        parker.wake();
        parker.sleep(None);
        let start = Instant::now();
        parker.sleep(Some(Duration::from_millis(5)));
        assert!(start.elapsed() >= Duration::from_millis(5));
    }

    #[test]
    fn no_wake_is_lost_between_two_threads() {
        const ROUNDS: u64 = 20_000;
        let sides = [Arc::new(Parker::new()), Arc::new(Parker::new())];
        let turn = Arc::new(AtomicU64::new(0));
        let other = {
            let (sides, turn) = (sides.clone(), Arc::clone(&turn));
            thread::spawn(move || play(&sides[1], &sides[0], &turn, 1))
        };
        play(&sides[0], &sides[1], &turn, 0);
        other.join().unwrap();
        assert_eq!(turn.load(Ordering::Acquire), ROUNDS);

        fn play(mine: &Parker, others: &Parker, turn: &AtomicU64, side: u64) {
            loop {
                let now = turn.load(Ordering::Acquire);
                if now >= ROUNDS {
                    return others.wake();
                }
                if now % 2 == side {
                    turn.store(now + 1, Ordering::Release);
                    others.wake();
                } else {
                    mine.sleep(None);
                }
            }
        }
    }
}
