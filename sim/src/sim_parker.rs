//! The sleep of a role that waits on a queue instead of on a selector: a flag that the scheduler looks at.
//!
//! It must not know the queue.

use std::sync::atomic::{AtomicBool, Ordering};

use klamm::env::Wake;

/// Remembers a wake until the scheduler takes it. Many wakes are one.
#[derive(Debug, Default)]
pub struct SimParker {
    woken: AtomicBool,
}

impl SimParker {
    /// Whether the sleeper is to be stepped.
    pub fn is_woken(&self) -> bool {
        self.woken.load(Ordering::Acquire)
    }

    /// Takes the wake: the sleeper is stepped now.
    pub fn take_wake(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }
}

impl Wake for SimParker {
    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
    }
}
